// Compiled once for every instruction set. SX_ISA is the name of that set.
#include "objective/loss_kernels.hpp"

namespace sx {
inline namespace SX_ISA {

extern const LossKernels loss_kernels;
const LossKernels loss_kernels = {.f32 = loss_block<float>, .f64 = loss_block<double>};

}  // namespace SX_ISA
}  // namespace sx
