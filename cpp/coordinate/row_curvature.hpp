// Second derivatives of the losses, row by row, in the form that the coordinate solver uses.
//
// For independent outputs, the kernels in `objective/loss_kernels.hpp` compute them. For coupled
// outputs they are matrices, and only numbers c are stored, which follow from the gradients U of
// the losses: the probabilities of a cross-entropy, or which terms of a squared hinge are active.
#pragma once

#include <algorithm>
#include <vector>

#include "coordinate/kernels.hpp"
#include "losses/dispatch.hpp"
#include "objective/labels.hpp"

namespace sx {

// How the outputs of a loss depend on each other.
struct OutputCoupling {
    HessianCoupling coupling;
    bool separable, shift_invariant;
    std::int32_t first_class;
};

inline OutputCoupling coupling_of(Loss loss) {
    OutputCoupling out{};
    with_loss(loss, [&]<class L>(L) {
        out = {L::coupling, L::separable_outputs, L::shift_invariant, L::first_class};
    });
    return out;
}

// The values (rows, models, outputs) from which curvatures are computed, with the labels and
// weights of the rows. For independent outputs they are weighted second derivatives, for coupled
// ones unweighted gradients of the losses. Rows that are almost certainly right or wrong have
// almost no curvature. With coupled outputs their curvature is bounded below using `least`
// (models): otherwise a model could take an infinite step.
struct RowValues {
    const double *values, *least;
    index_t rows, models, outputs;
    Labels labels;
    LossForm form;
    OutputCoupling how;

    RowValues(const double* values, const double* least, index_t rows, index_t models,
              index_t outputs, const Labels& labels, const LossForm& form)
        : values(values),
          least(least),
          rows(rows),
          models(models),
          outputs(outputs),
          labels(labels),
          form(form),
          how(coupling_of(form.loss)) {}

    // Whether each output is a separate subproblem.
    bool apart() const { return outputs == 1 || form.one_vs_rest || how.separable; }
    double weight(index_t i, index_t m) const { return labels.scale[m] * labels.weight(i, m); }
    // The output of the true class; -1 if that class has no output.
    std::int32_t own(index_t i, index_t m) const {
        const std::int32_t y = labels.y[i * labels.y_row + m * labels.y_model];
        return y - how.first_class;
    }
    double at(index_t i, index_t m, index_t k) const {
        return values[(i * models + m) * outputs + k];
    }
};

// Computes c (outputs) of RowCurvature for row i of a model with coupled outputs.
inline void coupled_curvature(const RowValues& from, index_t i, index_t m, double* c) {
    const index_t K = from.outputs;
    const std::int32_t own = from.own(i, m);
    const double least = from.least[m];
    for (index_t k = 0; k < K; ++k) {
        const double u = from.at(i, m, k);
        if (from.weight(i, m) == 0)
            c[k] = 0;
        else if (from.how.coupling == HessianCoupling::star)
            c[k] = k == own ? 0.0 : (u > 0 ? 1.0 : least);
        else  // between the probabilities and equal probabilities
            c[k] = (1 - least) * std::clamp(u + (k == own), 0.0, 1.0) + least / double(K);
    }
}

// The curvature of the rows in one subproblem, with its memory.
struct OwnedRowCurvature {
    RowCurvature view{};
    std::vector<double> weight, c;
    std::vector<std::int32_t> own;

    OwnedRowCurvature(const RowValues& from, index_t m, index_t k) {
        const index_t n = from.rows, K = from.apart() ? 1 : from.outputs;
        c.resize(n * K);
        if (!from.apart()) {
            weight.resize(n);
            own.resize(n);
        }
        for (index_t i = 0; i < n; ++i) {
            if (from.apart()) {
                c[i] = from.at(i, m, k);
            } else {
                coupled_curvature(from, i, m, c.data() + i * K);
                weight[i] = from.weight(i, m);
                own[i] = from.own(i, m);
            }
        }
        const bool shifts = K > 1 && from.how.shift_invariant;
        view = {from.how.coupling, shifts, n, K, weight.data(), c.data(), own.data()};
    }
};

}  // namespace sx
