// The arguments of the loss kernels, the same for every instruction set.
#pragma once

#include <cstdint>

#include "losses/loss.hpp"

namespace sx {

// Number of lanes, that is (row, model) pairs, that a kernel processes together.
constexpr std::int64_t loss_tile = 64;

// Numbers of type T that the kernel needs as scratch.
template <class T>
constexpr std::int64_t loss_scratch(std::int64_t outputs) {
    return outputs * loss_tile;
}

// The scores of some rows, Z (rows, models, outputs), C-contiguous, with their labels and weights.
// The kernel reads Z and, if `gradient`, replaces it by s_i * scale_b * dloss/dz.
template <class T>
struct LossBlock {
    std::int64_t rows, models, outputs;
    const std::int32_t* y;
    std::int64_t y_row, y_model;  // strides in elements; y_model = 0 if all models share y
    const double* s;              // nullptr: all ones
    std::int64_t s_row, s_model;
    const std::int32_t*
        weight_column;    // (models) the column of s; nullptr: s_model times the model
    const double* scale;  // (models)
    double margin;
    T* Z;
    double* value;  // (rows, models): s * loss; 0 where s == 0, even if the loss is inf; or null
    double* hit;    // (rows, models): s if the predicted class is y, otherwise 0; null like value
    bool gradient;
    bool one_vs_rest;  // several outputs: each separates its class from the rest
    T* scratch;        // loss_scratch<T>(outputs) elements, not shared between threads
};

// Losses, gradients and hits of a block.
struct LossKernels {
    void (*f32)(Loss loss, const LossBlock<float>& block);
    void (*f64)(Loss loss, const LossBlock<double>& block);

    void evaluate(Loss loss, const LossBlock<float>& block) const { f32(loss, block); }
    void evaluate(Loss loss, const LossBlock<double>& block) const { f64(loss, block); }
};

// Numbers of type T that the kernel needs as scratch: scores and directions.
template <class T>
constexpr std::int64_t hessian_scratch(std::int64_t outputs) {
    return 2 * loss_scratch<T>(outputs);
}

// Replaces the directions V (rows, models, outputs) by s scale d2loss(Z) V. Only reads Z, and
// ignores value, hit and gradient of the block.
struct HessianKernels {
    void (*f32)(Loss loss, const LossBlock<float>& block, float* V);
    void (*f64)(Loss loss, const LossBlock<double>& block, double* V);

    void times(Loss loss, const LossBlock<float>& block, float* V) const { f32(loss, block, V); }
    void times(Loss loss, const LossBlock<double>& block, double* V) const { f64(loss, block, V); }
};

}  // namespace sx
