// What a step of the dual solver is asked for, and what the loss makes of it.
#pragma once

#include <optional>

#include "losses/dispatch.hpp"
#include "objective/labels.hpp"

namespace sx {

// What the models of a batch minimise; N = models * outputs columns. A unit is what is solved on
// its own: a column, or a model whose outputs are coupled.
struct DualProblem {
    LossForm loss;
    index_t models, outputs;
    Labels labels;              // the scale is 1 / (S l2)
    const double* bias_square;  // (models): Q; 0 for a bias that stays, infinity for a free one

    index_t N() const { return models * outputs; }
    bool coupled() const { return outputs > 1 && !loss.one_vs_rest; }
    index_t unit_outputs() const { return coupled() ? outputs : 1; }
    index_t units() const { return N() / unit_outputs(); }
};

// How a step goes about it, and when it ends.
struct DualOptions {
    std::uint64_t seed;   // of the order of the rows
    index_t max_epochs;   // as many visits of all rows, at most
    bool first_step;      // whether the rows have never been visited
    bool from_zero;       // whether W and U are all 0
    const double* limit;  // (units): stop where the estimate of the gap has fallen to this
    double loss_share;    // and to this share of the loss, where the duals tell it
};

// The arrays of a step, read and written.
template <class T>
struct DualArrays {
    const T* inverse_squares;  // (features, N): 1 / f^2, f the penalty factors; null for 1
    T* W;                      // (features, N); left as it is in float32, null if all 0
    double* b;                 // (N)
    double* U;                 // (rows, N)
    double* estimate;          // (units): of the gap in the last epoch, over l2
};

template <class T>
struct DualStep {
    DualProblem problem;
    DualOptions options;
    DualArrays<T> arrays;
};

// What the solver asks of a loss besides the kernels; see losses/dual_row.hpp.
template <class T>
struct DualForm {
    bool coupled, entropy, keeps_logit, shift_invariant;
    index_t first_class;  // the class that output 0 stands for
    double bias_move;
    void (*encode)(index_t own, index_t outputs, const double* U, T* kept);
    void (*decode)(index_t own, index_t outputs, const T* kept, double* U);
};

// None where the dual solver does not take the loss.
template <class T>
std::optional<DualForm<T>> dual_form(const LossForm& loss, index_t outputs) {
    std::optional<DualForm<T>> form;
    const bool coupled = outputs > 1 && !loss.one_vs_rest;
    with_dual(loss.loss, coupled, [&]<class L, class Dual>(L, Dual) {
        form = {coupled,
                Dual::entropy,
                Dual::keeps_logit,
                coupled && L::shift_invariant,
                L::first_class,
                Dual::bias_move,
                Dual::template encode<T>,
                Dual::template decode<T>};
    });
    return form;
}

}  // namespace sx
