// Proximal centres for the bias and for the weights of strong features.
//
// Problem    a penalised bias is one more feature of constant value with square Q; for a free bias
//            Q is infinite. Rows that share a strong feature disturb each other. If Q is larger
//            than the square q that `stable_square` chooses, the bias is treated as a feature of
//            square q whose weight is penalised by its distance from a centre: b = centre - q sum_i
//            C_i U_i. Features that dominate the rows are treated in the same way, see
//            strong_features.hpp.
// Given      the arrays of a task, with the sums of its duals.
// On return  after each epoch, centre = (1 - q / Q) b: the proximal point method. For a free bias
//            this is the method of multipliers.
// See        R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J.
//            Control Optim. 1976.
#pragma once

#include <utility>

#include "dual/task_state.hpp"

namespace sx {

template <class T>
class ProximalCentres {
    // With fewer rows than this, together they may move the bias as far as the loss allows.
    static constexpr double rows_of_a_move = 5.0;
    // A bias with this fraction of the typical square of a row never disturbs the rows.
    static constexpr double harmless_share = 0.01;

  public:
    // `strength` describes the features without penalty factors.
    ProximalCentres(TaskState<T>& s, const Strength& strength)
        : s_(s), centre_(s.padded_width(), 0.0), square_(s.padded_width(), 0.0) {
        for (index_t u = 0; u < s.task.units; ++u) {
            const Strength own =
                s.step.arrays.inverse_squares
                    ? find_strong(s.rows, [&](index_t at) { return s.own_step(at, u); })
                    : strength;
            const double stable = stable_square(u, own.rest);
            for (const StrongFeature& f : own.features)
                if (f.square > stable)
                    strong_.push_back({f.at, u, s.own_step(f.at, u) * (stable / f.square),
                                       s.own_step(f.at, u), f.largest,
                                       std::vector<double>(s.task.outputs, 0.0)});
            const double square = std::min(s.bias_square(u), stable);
            for (index_t c = u * s.task.outputs; c < (u + 1) * s.task.outputs; ++c) {
                square_[c] = square;
                s.set_bias_square(c, square);
            }
        }
    }

    const std::vector<StrongWeight>& strong() const { return strong_; }

    double bias(index_t c) const { return centre_[c] - square_[c] * s_.dual_sums[c]; }

    // Computes the centres from the duals and weights that were read.
    void locate() {
        for (index_t c = 0; c < s_.task.columns; ++c) {
            const double Q = s_.bias_square(c / s_.task.outputs);
            if (square_[c] < Q || Q == 0.0)
                centre_[c] = s_.step.arrays.b[s_.first_column + c] + square_[c] * s_.dual_sums[c];
            s_.task.bias[c] = T(bias(c));
        }
        locate_strong();
    }

    // Sets the bias of a unit with a single output by moving its centre.
    void set_bias(index_t u, double bias_of_unit) {
        if (square_[u] < s_.bias_square(u))
            centre_[u] = bias_of_unit + square_[u] * s_.dual_sums[u];
        s_.task.bias[u] = T(bias(u));
    }

    // The part of the gap that is due to the bias and to strong features.
    double imbalance(index_t u) const {
        double sum = 0;
        for (index_t c = u * s_.task.outputs; c < (u + 1) * s_.task.outputs; ++c)
            sum += bias_imbalance(u, c);
        for (const StrongWeight& w : strong_)
            if (w.unit == u) sum += strong_imbalance(w);
        return sum;
    }

    // Updates the biases of a unit and, with `follow`, moves its centres. Returns a bound on the
    // change of the scores.
    double update(index_t u, bool follow) {
        double score_change = 0;
        const bool moves = square_[u * s_.task.outputs] < s_.bias_square(u) && follow;
        for (index_t c = u * s_.task.outputs; c < (u + 1) * s_.task.outputs; ++c) {
            if (moves) {
                const double next = (1.0 - square_[c] / s_.bias_square(u)) * bias(c);
                score_change =
                    std::max(score_change, std::abs(next - std::exchange(centre_[c], next)));
            }
            s_.task.bias[c] = T(bias(c));
        }
        for (StrongWeight& w : strong_)
            if (w.unit == u && follow) score_change += move(w);
        return score_change;
    }

  private:
    // The largest square q of the feature that stands for the bias. With C the mean C_i, a change
    // of one dual by 1 moves the bias by C q. With larger values the duals balance sooner, but the
    // rows disturb each other more, in particular if the loss has a large curvature. Measured on
    // text and images: values three times smaller or larger cost one or two epochs. `rest` is the
    // typical square of a row.
    double stable_square(index_t unit, double rest) const {
        const double total = s_.weight_sum[unit];
        if (!(total > 0.0)) return 1.0;
        const double C = total * s_.strength(unit) / s_.rows_of[unit];
        return std::max(s_.form.bias_move, rows_of_a_move / s_.rows_of[unit]) / C +
               harmless_share * rest;
    }

    T& weight_at(const StrongWeight& w, index_t k) const {
        return s_.task.W[s_.spot(w.at, w.unit * s_.task.outputs + k)];
    }

    // Computes the centres of strong features, c = w - r g.
    void locate_strong() {
        if (strong_.empty() || s_.step.options.from_zero) return;
        std::vector<std::vector<index_t>> at(s_.rows.features);
        for (index_t number = 0; number < index_t(strong_.size()); ++number)
            at[strong_[number].at].push_back(number);
        for (index_t i = 0; i < s_.n; ++i)
            for_entries(s_.rows, i, [&](index_t j, double x) {
                for (const index_t number : at[j]) {
                    StrongWeight& w = strong_[number];
                    const double C = s_.weight(i, w.unit) * s_.strength(w.unit);
                    const double* U = s_.U_of(i) + w.unit * s_.task.outputs;
                    for (index_t k = 0; C > 0.0 && k < s_.task.outputs; ++k)
                        w.centre[k] += w.step * C * x * U[k];
                }
            });
        for (StrongWeight& w : strong_)
            for (index_t k = 0; k < s_.task.outputs; ++k) w.centre[k] += double(weight_at(w, k));
    }

    // b^2 / (2 Q) + Q sum^2 / 2 + b sum, with the sum of the duals. An estimate for a free bias,
    // whose duals must balance.
    double bias_imbalance(index_t u, index_t c) const {
        const double Q = s_.bias_square(u), sum = s_.dual_sums[c];
        if (Q == 0.0) return 0.0;
        if (std::isinf(Q)) return 0.5 * square_[c] * sum * sum;
        const double off = bias(c) + Q * sum;
        return off * off / (2.0 * Q);
    }

    // The same for a strong feature: (w - Q g)^2 / (2 Q).
    double strong_imbalance(const StrongWeight& s) const {
        double sum = 0;
        for (index_t k = 0; k < s_.task.outputs; ++k) {
            const double w = weight_at(s, k);
            const double off = w - s.own_step / s.step * (w - s.centre[k]);
            sum += off * off / (2.0 * s.own_step);
        }
        return sum;
    }

    // Moves the centre of a strong feature. Returns a bound on the change of the scores.
    double move(StrongWeight& s) {
        double most = 0;
        for (index_t k = 0; k < s_.task.outputs; ++k) {
            T& w = weight_at(s, k);
            const double next = (1.0 - s.step / s.own_step) * double(w);
            const double by = next - std::exchange(s.centre[k], next);
            w = T(double(w) + by);
            most = std::max(most, std::abs(by) * s.largest);
        }
        return most;
    }

    TaskState<T>& s_;
    std::vector<double> centre_, square_;  // (width): of the bias, and q
    std::vector<StrongWeight> strong_;
};

}  // namespace sx
