// The arguments of the coordinate solver's kernels, the same for every instruction set.
#pragma once

#include "losses/loss.hpp"
#include "matrix/views.hpp"

namespace sx {

// The columns of X: compressed by features, or dense and contiguous.
struct ColumnsView {
    bool sparse;
    CompressedView by_feature;
    DenseView dense;  // row_stride 1, values f32 or f64
};

// The second derivative of the loss for every row. With one output it is c, already multiplied by
// the weight. With several it is the weight times the matrix that `coupling` defines.
struct RowCurvature {
    HessianCoupling coupling;
    bool shift_invariant;  // whether adding a constant to all outputs changes nothing
    index_t rows, outputs;
    const double* weight;     // (rows)
    const double* c;          // (rows, outputs)
    const std::int32_t* own;  // (rows): the true output, or -1
};

// The threads a kernel may use: run(engine, tasks, multiply_adds, body, of) calls body(of, task)
// for every task in [0, tasks), in any order.
struct Workers {
    using Task = void (*)(const void* of, index_t task);
    void (*run)(const void* engine, index_t tasks, double multiply_adds, Task body, const void* of);
    const void* engine;
};

// Problem    minimise g.(x - w) + (x - w)^T H (x - w) / 2 + sum threshold |x|, for one model.
// Given      arrays over the (features + 1) * outputs coordinates, with the bias as the last
//            feature. They are ordered by feature if H is applied by the columns of X, and by
//            output if H is a matrix. `value` is the objective at w.
// On return  x, no worse than w; `decrease` = g.(x - w) + the change of sum threshold |x|, negative
//            unless x = w.
struct Subproblem {
    index_t features, outputs;
    bool free_bias;
    double value;
    const double *w, *g, *threshold;
    double* x;
    double decrease;
    Workers workers;
};

// by_columns applies H = sum_i [x_i; 1] H_i [x_i; 1]^T + diag(ridge), with `origin` subtracted from
// x_i. by_hessian gets H as a matrix: it reads the lower triangle and overwrites the upper one.
struct CoordinateKernels {
    void (*by_columns)(const ColumnsView& X, const double* origin, const RowCurvature& rows,
                       const double* ridge, Subproblem& p);
    void (*by_hessian)(double* H, Subproblem& p);
};

}  // namespace sx
