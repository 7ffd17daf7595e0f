// Compiled once for every instruction set. SX_ISA is the name of that set.
#include "gram/cholesky.hpp"

namespace sx {
inline namespace SX_ISA {

extern const CholeskyKernels cholesky_kernels;
const CholeskyKernels cholesky_kernels = {
    .space = cholesky_space,
    .scratch = multiply_scratch_bytes<double>,
    .factor = cholesky_factor,
    .solve = cholesky_solve,
};

}  // namespace SX_ISA
}  // namespace sx
