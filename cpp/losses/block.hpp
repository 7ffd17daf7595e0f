// What the kernels of the losses are given, the same for every instruction set.
#pragma once

#include <cstdint>

#include "losses/loss.hpp"

namespace sx {

// Lanes, that is (row, model) pairs, that the kernel works on at a time.
constexpr std::int64_t loss_tile = 64;

// How many T the kernel needs as scratch.
template <class T>
constexpr std::int64_t loss_scratch(std::int64_t outputs) {
    return outputs * loss_tile;
}

// The scores of some rows, Z (rows, models, outputs), C-contiguous, with their labels and weights.
// The kernel reads Z and, when `gradient`, leaves s_i * scale_b * dloss/dz in its place.
template <class T>
struct LossBlock {
    std::int64_t rows, models, outputs;
    const std::int32_t* y;
    std::int64_t y_row, y_model;  // strides in elements; y_model = 0 when all models share y
    const double* s;              // nullptr: all ones
    std::int64_t s_row, s_model;
    const std::int32_t*
        weight_column;    // (models) the column of s; nullptr: s_model times the model
    const double* scale;  // (models)
    double margin;
    T* Z;
    double* value;  // (rows, models): s * loss; 0 where s == 0, even when the loss is inf
    double* hit;    // (rows, models): s where the predicted class is y, else 0
    bool gradient;
    bool one_vs_rest;  // several outputs: each tells its class from the rest
    T* scratch;        // loss_scratch<T>(outputs) elements, not shared between threads
};

// Losses, gradients and hits of a block.
struct LossKernels {
    void (*f32)(Loss loss, const LossBlock<float>& block);
    void (*f64)(Loss loss, const LossBlock<double>& block);

    void evaluate(Loss loss, const LossBlock<float>& block) const { f32(loss, block); }
    void evaluate(Loss loss, const LossBlock<double>& block) const { f64(loss, block); }
};

// How many T the kernel needs as scratch: scores and directions.
template <class T>
constexpr std::int64_t hessian_scratch(std::int64_t outputs) {
    return 2 * loss_scratch<T>(outputs);
}

// Replaces the directions V (rows, models, outputs) by s scale d2loss(Z) V. Of the block, value,
// hit and gradient are not used, Z is only read, and the scratch is as above.
struct HessianKernels {
    void (*f32)(Loss loss, const LossBlock<float>& block, float* V);
    void (*f64)(Loss loss, const LossBlock<double>& block, double* V);

    void times(Loss loss, const LossBlock<float>& block, float* V) const { f32(loss, block, V); }
    void times(Loss loss, const LossBlock<double>& block, double* V) const { f64(loss, block, V); }
};

}  // namespace sx
