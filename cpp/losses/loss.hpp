// The losses by number, as Python names them, and the defaults of a loss descriptor.
#pragma once

#include <cstdint>

namespace sx {

enum class Loss : int {
    hinge = 0,  // the loss of the perceptron if the margin is 0
    squared_hinge = 1,
    crammer_singer = 2,
    logistic = 3,
    softmax = 4,
    softmax_reference = 5,
    squared = 6,
    sigmoid_mse = 7,
    modified_huber = 8
};

// Added to the number of a loss to request its one-vs-rest form.
constexpr int one_vs_rest_flag = 16;

// A loss with its margin, in multiclass or one-vs-rest form.
struct LossForm {
    Loss loss;
    double margin;
    bool one_vs_rest;

    LossForm(int number, double margin)
        : loss(Loss(number % one_vs_rest_flag)),
          margin(margin),
          one_vs_rest(number >= one_vs_rest_flag) {}
};

// How a row's second derivative couples its outputs:
//   softmax   diag(c) - c c^T, with c the probabilities
//   star      twice the Laplacian of a star that joins the true output to the outputs with c = 1
enum class HessianCoupling : int { softmax, star };

// Which alphas are bounded by most_alpha in the domain of a conjugate: none, each of them, or their
// sum.
enum class AlphaBound : int { none, each, sum };

// Defaults of a loss descriptor. See dispatch.hpp.
struct LossDescriptor {
    static constexpr bool separable_outputs = false;  // each output is a separate problem
    static constexpr HessianCoupling coupling = HessianCoupling::softmax;
    static constexpr bool shift_invariant = true;  // of coupled outputs: only differences count
    static constexpr int first_class = 0;          // the class of output 0
    static constexpr bool has_conjugate = false, entropy = false;
    static constexpr AlphaBound alpha_bound = AlphaBound::sum;
    static constexpr double most_alpha = 1.0;
    static double conjugate_term(double, double) { return 0.0; }
    static double conjugate_sum(double terms, double /*total*/, double) { return terms; }
    using ColumnDual = void;   // the dual problem of a row with one output
    using CoupledDual = void;  // the dual problem of a row with several outputs
};

}  // namespace sx
