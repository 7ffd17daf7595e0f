// What the loss kernel is given, the same for every instruction set.
#pragma once

#include <cstdint>

namespace sx {

// `margin` is the perceptron's loss when the margin is 0, the hinge when it is 1.
enum class Loss : int {
    margin = 0,
    squared_hinge = 1,
    crammer_singer = 2,
    logistic = 3,
    softmax = 4,
    softmax_reference = 5,
    squared = 6,
    sigmoid_mse = 7
};

// Added to a loss's number by a caller that wants its one-vs-rest form.
constexpr int one_vs_rest = 16;

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
    const std::int32_t* whose;  // (models) the column of s; nullptr: s_model times the model
    const double* scale;        // (models)
    double margin;
    T* Z;
    double* value;  // (rows, models): s * loss; 0 where s == 0, even when the loss is inf
    double* hit;    // (rows, models): s where the predicted class is y, else 0
    bool gradient;
    bool one_vs_rest;  // several outputs: each tells its class from the rest
    T* scratch;        // loss_scratch<T>(outputs) elements, not shared between threads
};

}  // namespace sx
