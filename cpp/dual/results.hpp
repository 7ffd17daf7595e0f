// Writes the weights, biases and duals of a task back to the arrays of the batch.
#pragma once

#include <cmath>
#include <vector>

#include "dual/proximal_centres.hpp"

namespace sx {

// A sum with compensation of rounding errors (Kahan).
struct CompensatedSum {
    double sum = 0, lost = 0;

    void add(double x) {
        const double due = x - lost, next = sum + due;
        lost = (next - sum) - due;
        sum = next;
    }
};

// Writes the results of logistic columns, whose duals are computed from logits.
template <class T>
class LogisticResults {
    static constexpr index_t rows_at_once = 64;    // rows whose alphas fit the cache
    static constexpr index_t enough_rows = 4096;   // with as many, a part of them is enough
    static constexpr index_t every_of_enough = 8;  // uses every 8th row then

  public:
    LogisticResults(TaskState<T>& s, const ProximalCentres<T>& centres)
        : s_(s), p_(s.task), centres_(centres) {}

    // In float32 the duals of free biases are balanced by shrinking the alphas of one of the two
    // classes. The lower bound needs balanced duals, so the sums must be precise.
    void write() {
        std::vector<CompensatedSum> sums(2 * p_.units);
        std::vector<double> by(2 * p_.units, 1.0);
        for_alphas([&](index_t i, index_t u, double a) {
            sums[2 * u + s_.is_positive(i, u)].add(s_.near_weight(i, u) * a);
        });
        for (index_t c = 0; c < 2 * p_.units; ++c) {
            const double own = sums[c].sum, other = sums[c ^ 1].sum;
            if (sizeof(T) == 4 && s_.has_free_bias(c / 2) && own > other) by[c] = other / own;
        }
        for_alphas([&](index_t i, index_t u, double a) {
            const bool own = s_.is_positive(i, u);
            s_.U_of(i)[u] = (own ? -a : a) * by[2 * u + own];
        });
        std::vector<double> dual_sum(p_.units);  // sum_i s_i U_i
        for (index_t u = 0; u < p_.units; ++u)
            dual_sum[u] = sums[2 * u].sum * by[2 * u] - sums[2 * u + 1].sum * by[2 * u + 1];
        correct_biases(dual_sum);
    }

  private:
    // Calls take(i, u, alpha) for the rows and units with weight; all of them are in the working
    // set.
    template <class Take>
    void for_alphas(const Take& take) const {
        std::vector<double> alpha(rows_at_once * p_.width);
        for (index_t first = 0; first < s_.n; first += rows_at_once) {
            const index_t last = std::min(s_.n, first + rows_at_once);
            s_.k.alphas_f64(p_.duals + first * p_.width, (last - first) * p_.width, alpha.data());
            for (index_t i = first; i < last; ++i)
                for (index_t u = 0; u < p_.units; ++u)
                    if (p_.active[i] >> u & 1) take(i, u, alpha[(i - first) * p_.width + u]);
        }
    }

    // Moves each free bias by one Newton step on the bias alone, which is less precise than the
    // duals. The slope of the objective is the sum of the duals, over all rows, plus the difference
    // between the duals and the slopes at the scores, estimated from a part of the rows.
    void correct_biases(const std::vector<double>& dual_sum) {
        const index_t every = s_.n >= enough_rows ? every_of_enough : 1;
        std::vector<T> z(s_.padded_width());
        std::vector<double> alpha(p_.width), off(p_.units), curvature(p_.units), seen(p_.units);
        for (index_t i = 0; i < s_.n; i += every) {
            if (!p_.active[i]) continue;
            s_.k.scores(p_, i, z.data());
            for (index_t u = 0; u < p_.units; ++u)
                z[u] = T((s_.is_positive(i, u) ? 1.0 : -1.0) * (double(z[u]) + centres_.bias(u)));
            s_.k.alphas_f64(z.data(), p_.width, alpha.data());
            const double* U = s_.U_of(i);
            for (index_t u = 0; u < p_.units; ++u) {
                if (!(p_.active[i] >> u & 1)) continue;
                const double s = s_.near_weight(i, u), a = alpha[u];
                off[u] += s * ((s_.is_positive(i, u) ? -a : a) - U[u]);
                curvature[u] += s * a * (1.0 - a);
                seen[u] += s;
            }
        }
        for (index_t u = 0; u < p_.units; ++u) {
            const double move =
                (off[u] + dual_sum[u] * (seen[u] / s_.weight_sum[u])) / curvature[u];
            if (s_.has_free_bias(u) && curvature[u] > 0.0 && std::isfinite(move))
                s_.step.arrays.b[s_.first_column + u] -= move;
        }
    }

    TaskState<T>& s_;
    const DualTask<T>& p_;
    const ProximalCentres<T>& centres_;
};

template <class T>
void write_results(TaskState<T>& s, const ProximalCentres<T>& centres) {
    const DualTask<T>& p = s.task;
    const DualArrays<T>& to = s.step.arrays;
    // In float32 the weights only serve to find the duals; Python recomputes them in float64.
    for (index_t j = 0; sizeof(T) == 8 && j < s.rows.features; ++j)
        for (index_t c = 0; c < p.columns; ++c)
            to.W[j * s.step.problem.N() + s.first_column + c] = p.W[s.place(j, c)];
    for (index_t c = 0; c < p.columns; ++c) to.b[s.first_column + c] = centres.bias(c);
    if (s.form.keeps_logit) return LogisticResults<T>(s, centres).write();
    for (index_t i = 0; i < s.n; ++i)
        for (index_t u = 0; u < p.units; ++u) {
            if (!(s.weight(i, u) > 0.0)) continue;
            const index_t c = u * p.outputs;
            s.form.decode(s.own_output(i, u), p.outputs, p.duals + i * p.width + c, s.U_of(i) + c);
        }
}

}  // namespace sx
