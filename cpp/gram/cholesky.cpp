// Built once for every instruction set, with SX_ISA naming it.
#include "gram/cholesky.hpp"

namespace sx {
inline namespace SX_ISA {

extern const CholeskyKernels cholesky_kernels;
const CholeskyKernels cholesky_kernels = {
    .numbers = factor_numbers,
    .scratch = multiply_scratch_bytes<double>,
    .factor = factor,
    .solve = solve,
};

}  // namespace SX_ISA
}  // namespace sx
