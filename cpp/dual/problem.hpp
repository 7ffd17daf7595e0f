// The problem, the options and the arrays of a step of the dual solver, and the properties of the
// loss.
#pragma once

#include <optional>

#include "losses/dispatch.hpp"
#include "objective/labels.hpp"

namespace sx {

// The problem that the models of a batch solve, with N = models * outputs columns. A unit can be
// solved separately: a column, or a model with coupled outputs.
struct DualProblem {
    LossForm loss;
    index_t models, outputs;
    Labels labels;              // with scale 1 / (S l2)
    const double* bias_square;  // (models): Q; 0 for a fixed bias, infinity for a free one

    index_t N() const { return models * outputs; }
    bool coupled() const { return outputs > 1 && !loss.one_vs_rest; }
    index_t unit_outputs() const { return coupled() ? outputs : 1; }
    index_t units() const { return N() / unit_outputs(); }
};

// Options of a step, and when it ends.
struct DualOptions {
    std::uint64_t seed;   // for the order of the rows
    index_t max_epochs;   // limits the number of row visits to this many per row
    bool first_step;      // whether the rows have not been visited before
    bool from_zero;       // whether W and U are all 0
    const double* limit;  // (units): stop if the estimate of the gap is at most this
    double loss_share;    // and at most this fraction of the loss, if the duals determine it
};

// The arrays of a step, read and written.
template <class T>
struct DualArrays {
    const T* inverse_squares;  // (features, N): 1 / f^2 with penalty factors f; null if all 1
    T* W;                      // (features, N); not written in float32; null if all 0
    double* b;                 // (N)
    double* U;                 // (rows, N)
    double* estimate;          // (units): estimate of the gap in the last epoch, divided by l2
};

template <class T>
struct DualStep {
    DualProblem problem;
    DualOptions options;
    DualArrays<T> arrays;
};

// Properties of the loss that the solver needs outside the kernels; see losses/dual_row.hpp.
template <class T>
struct DualForm {
    bool coupled, entropy, keeps_logit, shift_invariant;
    index_t first_class;  // the class of output 0
    double bias_move;
    void (*encode)(index_t own, index_t outputs, const double* U, T* kept);
    void (*decode)(index_t own, index_t outputs, const T* kept, double* U);
};

// Returns nothing if the dual solver cannot solve the loss.
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
