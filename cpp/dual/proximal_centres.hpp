// The bias and the weights of strong features, drawn to centres that follow them.
//
// Problem    a bias that is penalised is one more feature of constant value, its square Q (of a
// free
//            one, infinity). Rows that share a strong feature disturb each other: where Q is larger
//            than the square q that `calm_square` chooses, the bias is treated as a feature of
//            square q whose weight is drawn to a centre, b = centre - q sum_i C_i U_i. Features
//            that dominate the rows are treated in the same way, see strong_features.hpp.
// Given      the arrays of a task, with the sums of its duals.
// On return  after each epoch the centre has followed the bias, (1 - q / Q) of the way: the
// proximal
//            point method; of a free bias, the method of multipliers.
// See        R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J.
//            Control Optim. 1976.
#pragma once

#include <utility>

#include "dual/task_state.hpp"

namespace sx {

template <class T>
class ProximalCentres {
    // Of few rows, so many may move the bias together as far as the loss allows.
    static constexpr double rows_of_a_move = 5.0;
    // Of the typical square of a row, what a bias may have in any case without disturbing the rows.
    static constexpr double harmless_share = 0.01;

  public:
    // `strength` is that of the features without factors.
    ProximalCentres(TaskState<T>& s, const Strength& strength)
        : s_(s), centre_(s.padded_width(), 0.0), square_(s.padded_width(), 0.0) {
        for (index_t u = 0; u < s.task.units; ++u) {
            const Strength own =
                s.step.arrays.inverse_squares
                    ? find_strong(s.rows, [&](index_t at) { return s.own_step(at, u); })
                    : strength;
            const double calm = calm_square(u, own.rest);
            for (const StrongFeature& f : own.features)
                if (f.square > calm)
                    strong_.push_back({f.at, u, s.own_step(f.at, u) * (calm / f.square),
                                       s.own_step(f.at, u), f.largest,
                                       std::vector<double>(s.task.outputs, 0.0)});
            const double square = std::min(s.bias_square(u), calm);
            for (index_t c = u * s.task.outputs; c < (u + 1) * s.task.outputs; ++c) {
                square_[c] = square;
                s.set_bias_square(c, square);
            }
        }
    }

    const std::vector<StrongWeight>& strong() const { return strong_; }

    double bias(index_t c) const { return centre_[c] - square_[c] * s_.dual_sums[c]; }

    // Puts the centres where the duals and weights that were read say they are.
    void locate() {
        for (index_t c = 0; c < s_.task.columns; ++c) {
            const double Q = s_.bias_square(c / s_.task.outputs);
            if (square_[c] < Q || Q == 0.0)
                centre_[c] = s_.step.arrays.b[s_.first_column + c] + square_[c] * s_.dual_sums[c];
            s_.task.bias[c] = T(bias(c));
        }
        locate_strong();
    }

    // Puts the centre of a single output where its bias is this.
    void set_bias(index_t u, double bias_of_unit) {
        if (square_[u] < s_.bias_square(u))
            centre_[u] = bias_of_unit + square_[u] * s_.dual_sums[u];
        s_.task.bias[u] = T(bias(u));
    }

    // What the gap owes to the bias and to strong features.
    double imbalance(index_t u) const {
        double sum = 0;
        for (index_t c = u * s_.task.outputs; c < (u + 1) * s_.task.outputs; ++c)
            sum += bias_imbalance(u, c);
        for (const StrongWeight& w : strong_)
            if (w.unit == u) sum += strong_imbalance(w);
        return sum;
    }

    // Brings the biases of a unit up to date and, where they `follow`, moves the centres; returns
    // by how much a score may change.
    double update(index_t u, bool follow) {
        double jump = 0;
        const bool moves = square_[u * s_.task.outputs] < s_.bias_square(u) && follow;
        for (index_t c = u * s_.task.outputs; c < (u + 1) * s_.task.outputs; ++c) {
            if (moves) {
                const double next = (1.0 - square_[c] / s_.bias_square(u)) * bias(c);
                jump = std::max(jump, std::abs(next - std::exchange(centre_[c], next)));
            }
            s_.task.bias[c] = T(bias(c));
        }
        for (StrongWeight& w : strong_)
            if (w.unit == u && follow) jump += move(w);
        return jump;
    }

  private:
    // The squared value q of the feature that the bias stands for, at most. With C the mean C_i, a
    // change of one dual by 1 moves the bias by C times this. Larger values make the duals balance
    // sooner but the rows disturb each other more, the more so the more curved the loss is.
    // Measured on text and images: a third of it and three times as much cost an epoch or two. The
    // `rest` is the typical square of a row.
    double calm_square(index_t unit, double rest) const {
        const double total = s_.weight_sum[unit];
        if (!(total > 0.0)) return 1.0;
        const double C = total * s_.strength(unit) / s_.rows_of[unit];
        return std::max(s_.form.bias_move, rows_of_a_move / s_.rows_of[unit]) / C +
               harmless_share * rest;
    }

    T& weight_at(const StrongWeight& w, index_t k) const {
        return s_.task.W[s_.spot(w.at, w.unit * s_.task.outputs + k)];
    }

    // The centres of strong features, c = w - r g.
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

    // b^2 / (2 Q) + Q sum^2 / 2 + b sum, with the sum of the duals. Of a free bias, whose duals
    // must be balanced, an estimate.
    double bias_imbalance(index_t u, index_t c) const {
        const double Q = s_.bias_square(u), sum = s_.dual_sums[c];
        if (Q == 0.0) return 0.0;
        if (std::isinf(Q)) return 0.5 * square_[c] * sum * sum;
        const double off = bias(c) + Q * sum;
        return off * off / (2.0 * Q);
    }

    // The same of a strong feature, (w - Q g)^2 / (2 Q).
    double strong_imbalance(const StrongWeight& s) const {
        double sum = 0;
        for (index_t k = 0; k < s_.task.outputs; ++k) {
            const double w = weight_at(s, k);
            const double off = w - s.own_step / s.step * (w - s.centre[k]);
            sum += off * off / (2.0 * s.own_step);
        }
        return sum;
    }

    // Moves the centre of a strong feature; returns by how much a score may change.
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
