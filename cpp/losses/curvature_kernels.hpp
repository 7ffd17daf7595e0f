// What the kernel of second derivatives is given, the same for every instruction set.
#pragma once

#include "objective/loss_block.hpp"

namespace sx {

// How many T the kernel needs as scratch: scores and directions.
template <class T>
constexpr std::int64_t curvature_scratch(std::int64_t outputs) {
    return 2 * loss_scratch<T>(outputs);
}

// Replaces the directions V (rows, models, outputs) by s scale d2loss(Z) V. Of the block, value,
// hit and gradient are not used, Z is only read, and the scratch is as above.
struct CurvatureKernels {
    void (*f32)(Loss loss, const LossBlock<float>& block, float* V);
    void (*f64)(Loss loss, const LossBlock<double>& block, double* V);

    void times(Loss loss, const LossBlock<float>& block, float* V) const { f32(loss, block, V); }
    void times(Loss loss, const LossBlock<double>& block, double* V) const { f64(loss, block, V); }
};

}  // namespace sx
