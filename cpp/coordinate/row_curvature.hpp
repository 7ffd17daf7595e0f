// The second derivatives of the losses, row by row, as the coordinate solver takes them.
//
// Of outputs that are apart they are given, by the kernels of `objective/loss_kernels.hpp`. Those
// of coupled outputs are not written out, but held by numbers c that the gradients U of the losses
// show: the probabilities of cross-entropies, and which terms of a squared hinge slope at all.
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

// Values (rows, models, outputs): second derivatives, weighed, of outputs that are apart, otherwise
// the gradients of the losses, unweighed; and whose they are. Rows that are as right, or as wrong,
// as can be have no curvature. Those of coupled outputs are given `least` (models), or a model that
// starts from there would step to infinity.
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

    // Whether each output is a subproblem of its own.
    bool apart() const { return outputs == 1 || form.one_vs_rest || how.separable; }
    double weight(index_t i, index_t m) const { return labels.scale[m] * labels.weight(i, m); }
    // The output of the true class, -1 for the class without one.
    std::int32_t own(index_t i, index_t m) const {
        const std::int32_t y = labels.y[i * labels.y_row + m * labels.y_model];
        return y - how.first_class;
    }
    double at(index_t i, index_t m, index_t k) const {
        return values[(i * models + m) * outputs + k];
    }
};

// What RowCurvature says of row i: c (outputs) of a model whose outputs are coupled.
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
        else  // between the probabilities and the same one for every output
            c[k] = (1 - least) * std::clamp(u + (k == own), 0.0, 1.0) + least / double(K);
    }
}

// The rows' curvature of one subproblem, and its memory.
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
