// The arguments of the dual solver's kernels, the same for every instruction set.
#pragma once

#include <cstdint>

#include "losses/loss.hpp"
#include "matrix/views.hpp"

namespace sx {

constexpr index_t block_size = 8;       // rows visited one after another; one byte of a mask
constexpr index_t most_units = 32;      // units of a task; one word of a mask
constexpr index_t look_ahead_pad = 64;  // entries that may be read after the last one

// A working copy of X: rows in random order; if sparse, features by decreasing frequency.
template <class T>
struct WorkingRows {
    index_t rows, features;
    const index_t* start;       // (rows + 1); null if the copy is dense
    const std::int32_t* index;  // padded by look_ahead_pad entries
    const T* value;             // of the entries, or (rows, stride) padded to whole vectors
    index_t stride;
};

// A number per row, or one per row and unit.
template <class T>
struct PerRow {
    const T* at;
    index_t row;  // stride between rows
    bool each;    // whether every unit has its own numbers
};

// Some columns of W with all their data. A unit can be solved separately: a column, or a model with
// coupled outputs.
template <class T>
struct DualTask {
    WorkingRows<T> X;
    Loss loss;
    bool coupled;  // whether the outputs of a unit are solved together
    T margin;
    index_t columns, width;    // columns, and padded to whole vectors (not if single)
    index_t units, outputs;    // outputs of a unit: 1, or the outputs of a model
    T* W;                      // sparse: (features, width); dense: (columns, X.stride)
    index_t stride;            // between features of a sparse W: the width, or more
    const T* inverse_squares;  // 1 / f^2 with penalty factors f, laid out like W; null if 1
    T* duals;                  // (rows, width), as the loss stores them, plus one vector
    T* alphas;                 // the same for logistic columns: sigma(-dual)
    PerRow<T> y, s, square;    // labels, weights, squared norms of the rows
    const T* strength;         // (width): 1 / (S l2)
    const T* bias_square;      // (width): what the bias adds to the squared norm of a row
    const T* positive_class;   // (width): the class that is +1 in this column
    T* bias;                   // (width)
    std::uint32_t* active;     // (rows): the units whose working set contains the row
    std::uint8_t* blocks;      // the rows of each block with an active and live unit
    std::uint32_t live;        // the units that are not finished
    const T* high;             // (units, padded): a row beyond these slopes leaves the working set
    const T* low;
    T* scratch;
};

// Results of an epoch, each (width) long.
template <class T>
struct EpochResult {
    double* gap;     // an estimate of the duality gap, divided by l2
    double* change;  // of sum_i C_i U_i
    T* high;         // the largest and smallest projected slope
    T* low;
    index_t* shrunk;  // number of rows that left the working set
};

// A Newton step for some units of a task, whose columns are units; (width) each.
template <class T>
struct NewtonStep {
    std::uint32_t units;
    const double* bias_residual;  // sum_i C_i t_i alpha_i - b / Q
    const double* bias_ridge;     // 1 / Q: infinity for a fixed bias
    double* bias;                 // updated
    double* change;               // sum_i C_i U_i, updated
    double* length;               // written: length of the step; 0 if it was not made
    T* scratch;                   // newton_scratch(...) numbers
};

constexpr index_t newton_scratch(index_t rows, index_t features, index_t width) {
    return (5 * features + 2 * rows) * width;
}

template <class T>
struct DualKernels {
    index_t lanes;
    index_t (*scratch)(index_t width, index_t outputs);
    void (*epoch)(const DualTask<T>& task, const std::int32_t* order, index_t blocks,
                  const EpochResult<T>& found);
    void (*newton_step)(const DualTask<T>& task, const NewtonStep<T>& step);
    void (*scores)(const DualTask<T>& task, index_t i, T* z);  // z (width) = x_i W
    // sigma(-logit) as computed in visits, and in float64; log(1 + exp(-logit)).
    void (*alphas)(const T* logits, index_t count, T* alpha);
    void (*alphas_f64)(const T* logits, index_t count, double* alpha);
    void (*losses)(const T* logits, index_t count, T* loss);
};

}  // namespace sx
