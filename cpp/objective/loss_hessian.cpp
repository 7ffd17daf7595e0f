// Compiled once for every instruction set. SX_ISA is the name of that set.
#include "objective/loss_kernels.hpp"

namespace sx {
inline namespace SX_ISA {

extern const HessianKernels hessian_kernels;
const HessianKernels hessian_kernels = {.f32 = hessian_block<float>, .f64 = hessian_block<double>};

}  // namespace SX_ISA
}  // namespace sx
