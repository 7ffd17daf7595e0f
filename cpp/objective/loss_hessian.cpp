// Built once for every instruction set, with SX_ISA naming it.
#include "losses/curvature.hpp"

namespace sx {
inline namespace SX_ISA {

extern const CurvatureKernels curvature_kernels;
const CurvatureKernels curvature_kernels = {.f32 = curve_block<float>, .f64 = curve_block<double>};

}  // namespace SX_ISA
}  // namespace sx
