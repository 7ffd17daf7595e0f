// Compiled once for every instruction set. SX_ISA is the name of that set.
#include "coordinate/search.hpp"

namespace sx {
inline namespace SX_ISA {

extern const CoordinateKernels coordinate_kernels;
const CoordinateKernels coordinate_kernels = {
    .by_columns = minimise_by_columns,
    .by_hessian = minimise_by_hessian,
};

}  // namespace SX_ISA
}  // namespace sx
