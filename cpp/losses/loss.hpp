// The losses by number, as Python names them, and what all parts of the library ask of one.
#pragma once

#include <cstdint>

namespace sx {

enum class Loss : int {
    hinge = 0,  // the perceptron's loss when the margin is 0
    squared_hinge = 1,
    crammer_singer = 2,
    logistic = 3,
    softmax = 4,
    softmax_reference = 5,
    squared = 6,
    sigmoid_mse = 7
};

// Added to a loss's number by a caller that wants its one-vs-rest form.
constexpr int one_vs_rest_flag = 16;

// A loss as it is asked for: which, its margin, and whether one class against the rest.
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

// Which alphas the domain of a conjugate bounds by 1: none, each of them, or their sum.
enum class AlphaBound : int { none, each, sum };

// What a descriptor of a loss says unless it says otherwise. See dispatch.hpp.
struct LossDescriptor {
    static constexpr bool separable_outputs = false;  // several outputs are problems of their own
    static constexpr HessianCoupling coupling = HessianCoupling::softmax;
    static constexpr bool shift_invariant = true;  // of coupled outputs: only differences count
    static constexpr int first_class = 0;          // the class that output 0 stands for
    static constexpr bool has_conjugate = false, entropy = false;
    static constexpr AlphaBound alpha_bound = AlphaBound::sum;
    static double conjugate_term(double, double) { return 0.0; }
    static double conjugate_sum(double terms, double /*total*/, double) { return terms; }
    using ColumnDual = void;   // one row's dual problem with one output
    using CoupledDual = void;  // and with several
};

}  // namespace sx
