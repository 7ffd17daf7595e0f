// What the kernels of the coordinate solver are given, the same for every instruction set.
#pragma once

#include "loss_block.hpp"
#include "matrix.hpp"

namespace sx {

// The columns of X: compressed by features, or dense with neighbouring rows side by side.
struct ColumnsView {
    bool sparse;
    CompressedView by_feature;
    DenseView dense;  // row_stride 1, values f32 or f64
};

// How a row's second derivative couples its outputs:
//   apart    diag(c), each output on its own
//   shares   diag(c) - c c^T, with c the probabilities
//   star     twice the Laplacian of a star: the true output with the outputs c_k = 1 that violate
//            the margin
enum class Coupling : int { apart, shares, star };

// The second derivative of the loss of one subproblem, row by row. With one output it is c itself,
// weighed; with more, weight times what `coupling` says.
struct RowCurvature {
    Coupling coupling;
    index_t rows, outputs;
    const double* weight;     // (rows)
    const double* c;          // (rows, outputs)
    const std::int32_t* own;  // (rows): the true output, or -1
};

// Gram matrices of the pairs of outputs: H_kl (order, order) is at[k * outputs + l], null for 0.
// Their last row and column belong to the bias.
struct GramCurvature {
    index_t order, outputs;
    const double* const* at;
};

// Problem    minimise g.(x - w) + (x - w)^T H (x - w) / 2 + sum ridge x^2 / 2 + threshold |x|.
// Given      arrays over the coordinates, of which `order` = features + 1 belong to each output;
//            coordinate (j, k) stands where the form of H wants it (`by_output`: k order + j, else
//            j outputs + k), the bias at j = features. `value`: the objective at w.
// On return  x, no worse than w; `fall` = g.(x - w) + change of the penalty, below 0 unless x is w.
struct Subproblem {
    index_t features, outputs;
    bool free_bias;
    double value;
    const double *w, *g, *ridge, *threshold;
    double* x;
    double fall;
};

struct CoordinateKernels {
    void (*by_columns)(const ColumnsView& X, const RowCurvature& H, Subproblem& p);
    void (*by_gram)(const GramCurvature& H, Subproblem& p);
};

}  // namespace sx
