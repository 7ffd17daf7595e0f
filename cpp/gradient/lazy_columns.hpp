// The memory behind LazyColumns: parameters, tables and sums of the models of one group.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/engine.hpp"
#include "gradient/lazy_batch.hpp"
#include "gradient/rule_state.hpp"

namespace sx {

// How the weights of model m pass through the steps that a feature misses.
template <class T>
Missed missed_steps(const RuleState<T>& p, index_t m) {
    if (p.rule == Rule::lazy_adam) return Missed::still;
    const bool l1 = p.l1[m] > 0.0, l2 = p.l2[m] > 0.0, averages = p.averages(m);
    if (p.rule == Rule::plain || p.momentum[m] == 0.0)
        return averages && l1 ? Missed::replayed : Missed::scaled;
    if (averages || l1) return Missed::replayed;
    return l2 && p.rate_changes(m) ? Missed::products : Missed::powers;
}

// The columns of models [first, last), which all have the same kind of missed steps. Steps are
// counted from the beginning of a window, at whose end all features are up to date.
template <class T>
class LazyGroup {
  public:
    LazyGroup(const Engine& engine, const RuleState<T>& p, index_t features, index_t models,
              index_t outputs, index_t first, index_t last)
        : k_(engine.kernels<T>()),
          p_(p),
          features_(features),
          outputs_(outputs),
          first_(first),
          wide_(k_.padded((last - first) * outputs)) {
        const index_t N = models * outputs, begin = first * outputs;
        g.missed = missed_steps(p, first);
        g.rule = p.rule;
        g.columns = (last - first) * outputs;
        g.padded = g.columns == 1 ? 1 : wide_;
        g.stride = N;
        g.W = p.W + begin;
        const bool stateless = g.missed == Missed::scaled;  // without momentum, v is never read
        g.V = p.VW && !stateless ? p.VW + begin : nullptr;
        g.M = p.MW ? p.MW + begin : nullptr;
        g.factors = p.factors ? p.factors + (p.factors_per_column ? begin : 0) : nullptr;
        g.factor_row = p.factors_per_column ? N : 1;
        g.factor_column = p.factors_per_column ? 1 : 0;
        g.momentum = keep(momentum_, p.momentum);
        g.l1 = keep(l1_, p.l1);
        g.l2 = keep(l2_, p.l2);
        g.scale = fill(scale_, 1);
        g.average_from = fill(average_from_, 0);
        bool l1 = false, averages = false;
        for (index_t m = first; m < last; ++m) {
            l1 |= p.l1[m] > 0.0;
            averages |= p.averages(m);
            const double range = sizeof(T) == 8 ? 0x1p-300 : 0x1p-30;
            least_scale_.insert(least_scale_.end(), outputs, p.averages(m) ? 0x1p-6 : range);
            rates_change_ |= p.rate_changes(m);
        }
        if (averages) sums_.resize(features * g.columns);
        g.sums = averages ? sums_.data() : nullptr;
        if (stateless) {
            if (l1) paid_.resize(features * g.columns);
            g.paid = l1 ? paid_.data() : nullptr;
            g.threshold = fill(threshold_, 0);
            g.scale_sum = fill(scale_sum_, 0);
            g.settled = fill(settled_, 0);
            g.next_scale = fill(next_scale_, 1);
            g.move = fill(move_, 0);
        } else {
            made_.resize(features);
            g.made = made_.data();
        }
    }

    // Begins a window of `steps` steps after step `done` of the run.
    void begin(std::int64_t done, index_t steps) {
        std::fill(sums_.begin(), sums_.end(), T(0));
        std::fill(made_.begin(), made_.end(), 0);
        set_rates(done, steps);
        for (index_t c = 0; c < g.columns; ++c) {
            const std::int64_t never = steps + 1;
            const bool averages = p_.averages(model(c));
            average_from_[c] =
                T(averages ? std::clamp<std::int64_t>(p_.average_from[model(c)] - done, 0, never)
                           : never);
        }
        scale_now_.assign(g.columns, 1.0);
        threshold_now_.assign(g.columns, 0.0);
        if (g.missed == Missed::powers) set_powers(steps);
        if (g.missed == Missed::products) set_products(steps);
    }

    // Makes room for the features of a batch.
    void reserve(index_t slots) {
        if (slots * g.padded <= index_t(batch_W_.size())) return;
        const index_t size = 2 * slots * g.padded;
        for (auto* part : {&batch_W_, &batch_V_, &batch_M_, &batch_G_}) part->resize(size);
        batch_factors_.assign(size, T(1));
        g.batch_W = batch_W_.data();
        g.batch_V = batch_V_.data();
        g.batch_M = batch_M_.data();
        g.batch_G = batch_G_.data();
        g.batch_factors = batch_factors_.data();
    }

    // The rates of step t of the window.
    const T* rates(index_t t) const { return g.rates + t * g.rate_row; }

    // Shrinks the scale as in step t. Returns whether some columns must be settled first, because
    // their scale would leave the range in which nothing underflows, overflows or cancels.
    bool shrink_scale(index_t t) {
        bool settle = false;
        const T* rate = rates(t);
        for (index_t c = 0; c < g.columns; ++c) {
            const double low = least_scale_[c];
            const double next = scale_now_[c] * (1.0 - double(rate[c]) * double(l2_[c]));
            const bool inside = std::fabs(next) >= low && std::fabs(next) * low <= 1.0;
            settled_[c] = inside ? T(0) : T(1);
            next_scale_[c] = inside ? T(1) : T(next);
            settle |= !inside;
            scale_now_[c] = next;
        }
        return settle;
    }

    // Forgets what belongs to the columns that have been settled.
    void reset_settled() {
        for (index_t c = 0; c < g.columns; ++c)
            if (settled_[c] != T(0)) {
                scale_now_[c] = 1.0;
                threshold_now_[c] = 0.0;
                threshold_[c] = scale_sum_[c] = T(0);
            }
    }

    // Sets by how much step t moves the weights; 0 moves nothing.
    void set_move(index_t t) {
        for (index_t c = 0; c < g.columns; ++c)
            move_[c] = t ? T(-double(rates(t)[c]) / scale_now_[c]) : T(0);
    }

    // Adds step t to the threshold and to the sum of the scales.
    void count_step(index_t t) {
        for (index_t c = 0; c < g.columns; ++c) {
            scale_[c] = T(scale_now_[c]);
            threshold_now_[c] += double(rates(t)[c]) * double(l1_[c]) / std::fabs(scale_now_[c]);
            threshold_[c] = T(threshold_now_[c]);
            if (T(t) >= average_from_[c]) scale_sum_[c] += scale_[c];
        }
    }

    // Brings all features up to date with step `step`, the last one of the window.
    void finish(index_t step) {
        if (g.missed == Missed::scaled) return settle_all();
        if (g.missed == Missed::still && !g.sums) return;
        constexpr index_t block = 64;
        reserve(block);
        index_t feature[block];
        const index_t start = 0;
        for (index_t j = 0; j < features_; j += block) {
            const index_t here = std::min(block, features_ - j);
            for (index_t p = 0; p < here; ++p) feature[p] = j + p;
            const LazyBatch<T> batch = {0, here, &start, nullptr, nullptr, feature};
            k_.lazy_enter(g, batch, step, nullptr, nullptr);
            // Their weights after this step are part of the sums already.
            std::fill_n(made_.data() + j, here, std::int32_t(step));
            k_.lazy_leave(g, batch, step);
        }
    }

    // Combines the averages after step `done` of the run with the sums of the window.
    void average(std::int64_t done, index_t steps) {
        if (!p_.AW) return;
        std::vector<double> before(g.columns), after(g.columns);
        for (index_t c = 0; c < g.columns; ++c) {
            before[c] = averaged(c, done);
            after[c] = averaged(c, done + steps);
        }
        T* mean = p_.AW + first_ * outputs_;
        for (index_t j = 0; j < features_; ++j)
            for (index_t c = 0; c < g.columns; ++c) {
                const double old = before[c] > 0 ? before[c] * double(mean[j * g.stride + c]) : 0.0;
                mean[j * g.stride + c] =
                    after[c] > 0 ? T((old + double(sums_[j * g.columns + c])) / after[c])
                                 : g.W[j * g.stride + c];
            }
    }

    index_t model(index_t c) const { return first_ + c / outputs_; }
    index_t wide() const { return wide_; }

    LazyColumns<T> g{};

  private:
    using Row = std::vector<T>;

    T* fill(Row& row, double value) {
        row.assign(wide_, T(0));
        std::fill_n(row.begin(), g.columns, T(value));
        return row.data();
    }

    T* keep(Row& row, const double* per_model) {
        fill(row, 0);
        for (index_t c = 0; c < g.columns; ++c) row[c] = T(per_model[model(c)]);
        return row.data();
    }

    // Models of a batch often differ only in their first rate.
    void set_rates(std::int64_t done, index_t steps) {
        g.rate_row = rates_change_ ? wide_ : 0;
        rates_.assign(rates_change_ ? (steps + 1) * wide_ : wide_, T(0));
        g.rates = rates_.data();
        if (!rates_change_) {
            for (index_t c = 0; c < g.columns; ++c) rates_[c] = T(p_.rate[model(c)]);
            return;
        }
        for (index_t t = 1; t <= steps; ++t) {
            double shift = 0, power = 0, divisor = 1;
            for (index_t c = 0; c < g.columns; ++c) {
                const index_t m = model(c);
                if (p_.shift[m] != shift || p_.power[m] != power) {
                    shift = p_.shift[m];
                    power = p_.power[m];
                    divisor = power == 0.0 ? 1.0 : p_.rate_divisor(m, done + t);
                }
                rates_[t * wide_ + c] = T(p_.rate[m] / divisor);
            }
        }
    }

    struct Matrix {
        double ww, wv, vw, vv;
    };

    static Matrix times(const Matrix& A, const Matrix& B) {
        return {A.ww * B.ww + A.wv * B.vw, A.ww * B.wv + A.wv * B.vv, A.vw * B.ww + A.vv * B.vw,
                A.vw * B.wv + A.vv * B.vv};
    }

    // The matrix of step t without a gradient in column c, (w, v) = M (w, v).
    Matrix matrix_of_step(index_t t, index_t c) const {
        const double mu = momentum_[c];
        const double decay = l2_[c] == T(0) ? 0.0 : double(rates(t)[c]) * double(l2_[c]);
        if (p_.rule == Rule::momentum) return {1 - decay, mu, -decay, mu};
        return {(1 + mu) * (1 - decay), -mu, 1 - decay, 0};
    }

    void put(const Matrix& M, T* table, index_t k, index_t c) const {
        T* to = table + k * 4 * g.padded + c;
        to[0] = T(M.ww);
        to[g.padded] = T(M.wv);
        to[2 * g.padded] = T(M.vw);
        to[3 * g.padded] = T(M.vv);
    }

    Matrix get(const T* table, index_t k, index_t c) const {
        const T* at = table + k * 4 * g.padded + c;
        return {at[0], at[g.padded], at[2 * g.padded], at[3 * g.padded]};
    }

    void set_powers(index_t steps) {
        const index_t row = 4 * g.padded, few = std::min(steps, low_powers);
        low_.assign((few + 1) * row, T(0));
        high_.assign((steps / low_powers + 1) * row, T(0));
        for (index_t c = 0; c < g.columns; ++c) {
            const Matrix M = matrix_of_step(1, c), one = {1, 0, 0, 1};
            Matrix P = one;
            for (index_t k = 0; k <= few; ++k) {
                if (k > 0) P = times(M, P);
                put(P, low_.data(), k, c);
            }
            Matrix Q = one;
            for (index_t k = 0; k <= steps / low_powers; ++k) {
                if (k > 0) Q = times(P, Q);
                put(Q, high_.data(), k, c);
            }
        }
        g.low = low_.data();
        g.high = high_.data();
    }

    void set_products(index_t steps) {
        levels_.assign(2 * steps * 4 * g.padded, T(0));
        T* before = nullptr;
        T* level = levels_.data();
        for (int b = 0; (steps >> b) > 0; ++b) {
            const index_t count = steps >> b;
            for (index_t k = 0; k < count; ++k)
                for (index_t c = 0; c < g.columns; ++c)
                    put(before ? times(get(before, 2 * k + 1, c), get(before, 2 * k, c))
                               : matrix_of_step(k + 1, c),
                        level, k, c);
            g.levels[b] = before = level;
            level += count * 4 * g.padded;
        }
    }

    void settle_all() {
        bool needed = g.paid || g.sums;
        for (index_t c = 0; c < g.columns; ++c) {
            settled_[c] = T(1);
            next_scale_[c] = T(scale_now_[c]);
            needed |= next_scale_[c] != T(1);
        }
        if (needed) k_.lazy_settle(g, features_);
        reset_settled();
        fill(scale_, 1);
        if (g.rule != Rule::nesterov) return;
        T* V = p_.VW + first_ * outputs_;  // with momentum 0 it is the last point
        for (index_t j = 0; j < features_; ++j)
            for (index_t c = 0; c < g.columns; ++c) {
                const T f = g.factors ? g.factors[j * g.factor_row + c * g.factor_column] : T(1);
                V[j * g.stride + c] = f * g.W[j * g.stride + c];
            }
    }

    // The number of averaged weights after step `count` of the run.
    double averaged(index_t c, std::int64_t count) const {
        const index_t m = model(c);
        return p_.averages(m) ? double(std::max<std::int64_t>(0, count - p_.average_from[m] + 1))
                              : 0.0;
    }

    const Kernels<T>& k_;
    const RuleState<T>& p_;
    const index_t features_, outputs_, first_, wide_;
    bool rates_change_ = false;
    Row momentum_, l1_, l2_, scale_, threshold_, scale_sum_, settled_, next_scale_, move_;
    Row average_from_, rates_, low_, high_, levels_, paid_, sums_;
    Row batch_W_, batch_V_, batch_M_, batch_G_, batch_factors_;
    std::vector<double> scale_now_, threshold_now_, least_scale_;
    std::vector<std::int32_t> made_;
};

}  // namespace sx
