// What the kernels of the dual solver are given, the same for every instruction set.
#pragma once

#include <cstdint>

#include "matrix/views.hpp"

namespace sx {

// The forms of a loss's dual. Of the first three every column is a problem of its own; of the
// others the outputs of a model are solved together.
enum class DualForm : int {
    hinge,
    squared_hinge,
    logistic,
    sum_of_hinges,          // Weston and Watkins
    sum_of_squared_hinges,  // the same, squared
    crammer_singer,
    softmax,
    softmax_reference
};

constexpr bool is_entropy(DualForm form) {
    return form == DualForm::logistic || form == DualForm::softmax ||
           form == DualForm::softmax_reference;
}

constexpr bool by_column(DualForm form) {
    return form <= DualForm::logistic;
}

constexpr bool can_shrink(DualForm form) {
    return !is_entropy(form);
}

constexpr index_t dual_block = 8;        // rows that are visited in a row; one byte of a mask
constexpr index_t dual_units = 32;       // units of a task at most; one word of a mask
constexpr index_t dual_look_ahead = 64;  // entries that may be read beyond the last one

// A working copy of X: its rows in another order, its features by falling frequency where sparse.
template <class T>
struct DualRows {
    index_t rows, features;
    const index_t* start;       // (rows + 1); null if the copy is dense
    const std::int32_t* index;  // padded by dual_look_ahead entries
    const T* value;             // of the entries, or (rows, stride) padded to whole vectors
    index_t stride;
};

// A number for every row, or one for every row and unit.
template <class T>
struct PerRow {
    const T* at;
    index_t row;  // the stride from row to row
    bool each;    // whether the units have their own
};

// Some columns of W and all that belongs to them. A unit is what is solved on its own: a column, or
// a model whose outputs are coupled.
template <class T>
struct DualTask {
    DualRows<T> X;
    DualForm form;
    T margin;
    index_t columns, width;  // columns, and padded to whole vectors (a single column is not)
    index_t units, outputs;  // outputs of a unit: 1, or those of a model
    T* W;                    // sparse: (features, width); dense: (columns, X.stride)
    index_t stride;          // from feature to feature of a sparse W: the width, or more
    const T* steps;          // 1 / f^2, laid out like W; null for 1
    T* duals;                // (rows, width), and one vector more
    T* flows;                // the same, of logistic columns: sigma(-dual)
    PerRow<T> y, s, square;  // labels, weights, squared norms of the rows
    const T* strength;       // (width): 1 / (S l2)
    const T* bias_square;    // (width): what the bias adds to the squared norm of a row
    const T* number;         // (width): the class that is +1 in this column
    T* bias;                 // (width)
    std::uint32_t* active;   // (rows): the units that may still move
    std::uint8_t* blocks;    // the rows of each block with units that are active and live
    std::uint32_t live;      // the units that are still worked on
    const T* high;           // (units, padded): bounds of the last epoch, beyond which a row rests
    const T* low;
    T* scratch;
};

// What an epoch found, each (width) long.
template <class T>
struct DualFound {
    double* gap;     // an estimate of the gap, times S / l2 ... in units of P / l2
    double* change;  // of sum_i C_i U_i
    T* high;         // the largest and smallest projected slope
    T* low;
    index_t* resting;  // rows that were put to rest
};

// A step of Newton's method for some units of a task, whose columns are units; (width) each.
template <class T>
struct DualLeap {
    std::uint32_t units;
    const double* due;   // of the bias: sum_i C_i t_i a_i - b / Q
    const double* pull;  // 1 / Q: infinity for a bias that stays
    double* bias;        // moved on return
    double* change;      // sum_i C_i U_i, brought up to date
    double* share;       // on return, of the way that was gone; 0 where it was not worth going
    T* space;            // leap_space(...) numbers
};

constexpr index_t leap_space(index_t rows, index_t features, index_t width) {
    return (5 * features + 2 * rows) * width;
}

template <class T>
struct DualKernels {
    index_t lanes;
    index_t (*scratch)(index_t width, index_t outputs);
    void (*epoch)(const DualTask<T>& task, const std::int32_t* order, index_t blocks,
                  const DualFound<T>& found);
    void (*leap)(const DualTask<T>& task, const DualLeap<T>& leap);
    void (*scores)(const DualTask<T>& task, index_t i, T* z);  // z (width) = x_i W
    // a = sigma(-kept) of logistic columns, as they are visited and in float64.
    void (*find_flows)(const T* kept, index_t count, T* a);
    void (*flows)(const T* kept, index_t count, double* a);
    void (*losses)(const T* kept, index_t count, T* loss);  // -log(1 - a)
};

}  // namespace sx
