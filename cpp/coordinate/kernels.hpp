// What the kernels of the coordinate solver are given, the same for every instruction set.
#pragma once

#include "losses/loss.hpp"
#include "matrix/views.hpp"

namespace sx {

// The columns of X: compressed by features, or dense with neighbouring rows side by side.
struct ColumnsView {
    bool sparse;
    CompressedView by_feature;
    DenseView dense;  // row_stride 1, values f32 or f64
};

// The second derivative of the loss, row by row. With one output it is c itself, weighed; with
// more, weight times what `coupling` says.
struct RowCurvature {
    HessianCoupling coupling;
    bool shift_invariant;  // whether a common shift of all outputs changes nothing
    index_t rows, outputs;
    const double* weight;     // (rows)
    const double* c;          // (rows, outputs)
    const std::int32_t* own;  // (rows): the true output, or -1
};

// Threads that a kernel may use: run(engine, tasks, multiply_adds, body, of) calls body(of, task)
// for every task in [0, tasks), in any order.
struct Workers {
    using Task = void (*)(const void* of, index_t task);
    void (*run)(const void* engine, index_t tasks, double multiply_adds, Task body, const void* of);
    const void* engine;
};

// Problem    minimise g.(x - w) + (x - w)^T H (x - w) / 2 + sum threshold |x|, for one model.
// Given      arrays over the coordinates, (features + 1) * outputs of them: the weights and, as the
//            last feature, the bias. They lie by feature where H is applied by the columns of X,
//            by output where it is written out. `value`: the objective at w.
// On return  x, no worse than w; `decrease` = g.(x - w) + the change of the thresholds' part, below
// 0
//            unless x is w.
struct Subproblem {
    index_t features, outputs;
    bool free_bias;
    double value;
    const double *w, *g, *threshold;
    double* x;
    double decrease;
    Workers workers;
};

// H is sum_i [x_i; 1] H_i [x_i; 1]^T, x_i seen from `origin`, plus `ridge` on the diagonal, or a
// matrix of which the lower triangle counts; the upper one is written.
struct CoordinateKernels {
    void (*by_columns)(const ColumnsView& X, const double* origin, const RowCurvature& rows,
                       const double* ridge, Subproblem& p);
    void (*by_hessian)(double* H, Subproblem& p);
};

}  // namespace sx
