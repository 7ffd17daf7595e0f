// Dual coordinate ascent for many models: columns are shared out to tasks, each of which goes
// through the rows until its own units have come as far as they were asked to.
//
// A bias that is penalised is one more feature of constant value, its square Q (of a free one,
// infinity). Rows that share a strong feature disturb each other: where Q is larger than the square
// q that `calm_share` chooses, the bias is treated as a feature of square q whose weight is drawn
// to a centre, and after each epoch the centre follows it, (1 - q / Q) of the way (the proximal
// point method; of a free bias, the method of multipliers). Features that dominate the rows are
// treated in the same way, see dual_strong.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dual/shuffle.hpp"
#include "dual/strong_features.hpp"
#include "objective/labels.hpp"
#include "dual/working_copy.hpp"

namespace sx {

// What a step is asked for, over all models; N = models * outputs columns.
template <class T>
struct DualStep {
    DualForm form;
    double margin;
    index_t models, outputs;
    Labels labels;              // the scale is 1 / (S l2)
    const double* bias_square;  // (models): Q; 0 for a bias that stays, infinity for a free one
    const T* steps;             // (features, N): 1 / f^2; null for 1
    std::uint64_t key;          // of the order of the rows
    index_t epochs;             // at most
    bool fresh;                 // whether the rows have never been visited
    bool blank;                 // whether W and U are all 0
    const double* limit;        // (units): stop where the estimate of the gap has fallen to this
    double share;               // and to this share of the loss, where the duals tell it
    T* W;                       // (features, N); left as it is in float32, null if all 0
    double* b;                  // (N)
    double* U;                  // (rows, N)
    double* estimate;           // (units): of the gap in the last epoch, over l2

    index_t N() const { return models * outputs; }
    index_t unit_outputs() const { return by_column(form) ? 1 : outputs; }
    index_t units() const { return N() / unit_outputs(); }
};

// A sum that takes up again what rounding has taken from it.
struct WholeSum {
    double sum = 0, lost = 0;

    void add(double x) {
        const double due = x - lost, next = sum + due;
        lost = (next - sum) - due;
        sum = next;
    }
};

// Some units of a step, with arrays of their own.
template <class T>
class DualWork {
    static constexpr double nothing = 1e-18;
    // Epochs without progress after which a centre waits for the rows, and after which the step of
    // a cross-entropy ends: hinges come out of longer ones.
    static constexpr index_t patience = 50, resignation = 200;
    static constexpr double quick = 0.3;  // what an epoch leaves of the gap, at most
    // A leap pays where so many epochs would be needed at the pace of the last ones, after the
    // first ones, and if the last one has led to less than this share of the gap.
    static constexpr double epochs_of_leap = 8.0, gain_of_leap = 0.5;
    static constexpr index_t leap_after = 5, leap_every = 4;

  public:
    // `strength` is that of the features without factors.
    DualWork(const DualKernels<T>& kernels, const DualCopy<T>& X, const DualStep<T>& step,
             const Strength& strength, index_t first, index_t units)
        : k_(kernels),
          X_(X),
          step_(step),
          first_(first * step.unit_outputs()),
          n_(X.order().size()),
          rows_(X.rows()) {
        p_.X = rows_;
        p_.form = step.form;
        p_.margin = T(step.margin);
        p_.units = units;
        p_.outputs = step.unit_outputs();
        p_.columns = units * p_.outputs;
        p_.width = p_.columns == 1 ? 1 : (p_.columns + k_.lanes - 1) / k_.lanes * k_.lanes;
        p_.stride = p_.width;
        first_unit_ = first;
        for (index_t u = 0; u < units; ++u)
            model_.push_back((first_ + u * p_.outputs) / step.outputs);
        read_rows();
        read_columns(strength);
        read_squares();
        read_weights();
        read_duals();
    }

    void run() {
        const index_t blocks = blocks_.size();
        std::vector<std::int32_t> order(blocks);
        std::vector<double> visits(p_.units, 0.0);
        for (index_t epoch = 0; p_.live; ++epoch) {
            shuffle(step_.key + std::uint64_t(epoch), order);
            mark_blocks();
            std::fill(gap_.begin(), gap_.end(), 0.0);
            std::fill(found_high_.begin(), found_high_.end(), -infinity);
            std::fill(found_low_.begin(), found_low_.end(), infinity);
            for (index_t u = 0; u < p_.units; ++u) visits[u] += std::max(active_of_[u], n_ / 64.0);
            k_.epoch(p_, order.data(), blocks,
                     {gap_.data(), change_.data(), found_high_.data(), found_low_.data(),
                      resting_.data()});
            const bool first = step_.fresh && epoch == 0;
            std::uint32_t leaping = 0;
            losses_now_.clear();
            for (index_t u = 0; u < p_.units; ++u) {
                if (!(p_.live >> u & 1)) continue;
                close_epoch(u, first);
                const double estimate = step_.estimate[first_unit_ + u];
                const double pace =
                    std::max(slowest_[u], last_[u] > 0.0 ? estimate / last_[u] : 0.0);
                const double limit = step_.limit[first_unit_ + u] / caution(pace);
                const bool near = !first && estimate <= limit &&
                                  is_share_of_loss(u, estimate, step_.share / caution(pace));
                const bool stands = is_entropy(p_.form) && stalled_[u] >= resignation;
                if (near || stands || visits[u] >= double(step_.epochs) * rows_of_[u])
                    p_.live &= ~(1u << u);
                else if (leaps(u, epoch + 1))
                    leaping |= 1u << u;
                before_[u] = std::exchange(last_[u], first ? 0.0 : estimate);
            }
            if (leaping) leap(leaping);
        }
        write();
    }

  private:
    static constexpr T infinity = std::numeric_limits<T>::infinity();

    // A strong feature of a unit: the step that is made of it, its own, and where it is drawn to.
    struct Drawn {
        index_t at, unit;
        double share, whole, largest;
        std::vector<double> centre;  // (outputs)
    };

    index_t model(index_t unit) const { return model_[unit]; }
    double bias_square(index_t unit) const { return step_.bias_square[model(unit)]; }

    double weight(index_t i, index_t unit) const {
        return step_.labels.weight(X_.order()[i], model(unit));
    }
    // The same from the task's own arrays, where these have all its digits: they lie in order.
    double near_weight(index_t i, index_t unit) const {
        return exact_ ? double(p_.s.at[i * p_.s.row + (p_.s.each ? unit : 0)]) : weight(i, unit);
    }
    std::int32_t label(index_t i, index_t unit) const {
        const Labels& l = step_.labels;
        return l.y[X_.order()[i] * l.y_row + model(unit) * l.y_model];
    }

    // Numbers of the rows, one each or one for every unit.
    template <class Number>
    PerRow<T> spread(bool each, std::vector<T>& to, const Number& number) {
        const index_t stride = each ? (by_column(p_.form) ? p_.width : p_.units) : 1;
        to.assign(n_ * stride + (each ? k_.lanes : 0), T(0));
        for (index_t i = 0; i < n_; ++i)
            for (index_t u = 0; u < (each ? p_.units : 1); ++u)
                to[i * stride + u] = T(number(i, u));
        return {to.data(), stride, each};
    }

    void read_rows() {
        const Labels& l = step_.labels;
        p_.y = spread(l.y_model != 0, y_, [this](index_t i, index_t u) { return label(i, u); });
        active_.assign(n_, 0);
        for (std::vector<double>* a : {&active_of_, &total_}) a->assign(p_.units, 0.0);
        const auto count = [&](index_t i, index_t u, double s) {
            if (!(s > 0.0)) return;
            active_[i] |= 1u << u;
            active_of_[u] += 1.0;
            total_[u] += s;
        };
        p_.s = spread(!l.same_weights(), s_, [&](index_t i, index_t u) {
            const double s = weight(i, u);
            exact_ &= double(T(s)) == s;
            if (l.same_weights())
                for (index_t each = 0; each < p_.units; ++each) count(i, each, s);
            else
                count(i, u, s);
            return s;
        });
        rows_of_ = active_of_;
        blocks_.assign((n_ + dual_block - 1) / dual_block, 0);
        p_.active = active_.data();
        p_.blocks = blocks_.data();
        p_.live = p_.units == 32 ? ~0u : (1u << p_.units) - 1u;
    }

    // 1 / f^2 of the feature at a place of the copy.
    double own_step(index_t at, index_t unit) const {
        if (!step_.steps) return 1.0;
        return double(step_.steps[feature(at) * step_.N() + first_ + unit * p_.outputs]);
    }

    // The squared norms of the rows, with the steps of the unit.
    void read_squares() {
        if (!step_.steps && drawn_.empty()) {
            p_.square =
                spread(false, square_, [this](index_t i, index_t) { return X_.squares()[i]; });
            return;
        }
        std::vector<double> steps(p_.units * rows_.features);
        for (index_t u = 0; u < p_.units; ++u)
            for (index_t j = 0; j < rows_.features; ++j)
                steps[u * rows_.features + j] = own_step(j, u);
        for (const Drawn& d : drawn_) steps[d.unit * rows_.features + d.at] = d.share;
        p_.square = spread(true, square_, [&](index_t i, index_t u) {
            double sum = 0;
            for_entries(rows_, i,
                        [&](index_t j, double x) { sum += x * x * steps[u * rows_.features + j]; });
            return sum;
        });
    }

    void read_columns(const Strength& strength) {
        const index_t w = p_.width + k_.lanes;
        for (std::vector<T>* a :
             {&strength_, &bias_square_, &number_, &bias_, &found_high_, &found_low_})
            a->assign(w, T(0));
        high_.assign(w, infinity);
        low_.assign(w, -infinity);
        for (std::vector<double>* a : {&gap_, &change_, &centre_, &share_, &drift_})
            a->assign(w, 0.0);
        resting_.assign(w, 0);
        stalled_.assign(w, 0);
        best_.assign(w, std::numeric_limits<double>::infinity());
        leapt_from_.assign(w, std::numeric_limits<double>::infinity());
        loss_.assign(w, std::numeric_limits<double>::infinity());
        slowest_.assign(w, 0.0);
        last_.assign(w, 0.0);
        before_.assign(w, 0.0);
        for (index_t u = 0; u < p_.units; ++u) {
            const Strength own =
                step_.steps ? find_strong(rows_, [&](index_t at) { return own_step(at, u); })
                            : strength;
            const double calm = calm_share(u, own.rest);
            for (const StrongFeature& f : own.features)
                if (f.square > calm)
                    drawn_.push_back({f.at, u, own_step(f.at, u) * (calm / f.square),
                                      own_step(f.at, u), f.largest,
                                      std::vector<double>(p_.outputs, 0.0)});
            const double share = std::min(bias_square(u), calm);
            for (index_t c = u * p_.outputs; c < (u + 1) * p_.outputs; ++c) {
                strength_[c] = T(step_.labels.scale[model(u)]);
                share_[c] = share;
                bias_square_[c] = T(share);
                number_[c] = T(step_.outputs == 1 ? 1 : (first_ + c) % step_.outputs);
            }
        }
        p_.strength = strength_.data();
        p_.bias_square = bias_square_.data();
        p_.number = number_.data();
        p_.bias = bias_.data();
        p_.high = high_.data();
        p_.low = low_.data();
        scratch_ = Pages<T>(k_.scratch(p_.width, p_.outputs));
        p_.scratch = scratch_.data();
    }

    // The squared value q of the feature that the bias stands for, at most. With C the mean C_i, a
    // change of one dual by 1 moves the bias by C times this. Larger values make the duals balance
    // sooner but the rows disturb each other more, the more so the more curved the loss is.
    // Measured on text and images: a third of it and three times as much cost an epoch or two. The
    // `rest` is the typical square of a row.
    double calm_share(index_t unit, double rest) const {
        const double total = total_[unit];
        if (!(total > 0.0)) return 1.0;
        const double C = total * step_.labels.scale[model(unit)] / rows_of_[unit];
        const double move = p_.form == DualForm::logistic  ? 0.15
                            : p_.form >= DualForm::softmax ? 0.1
                                                           : 0.015;
        return std::max(move, 5.0 / rows_of_[unit]) / C + 0.01 * rest;
    }

    // Where the weight at a place of the copy and of a column of the task lies.
    index_t spot(index_t at, index_t c) const {
        return rows_.start ? at * p_.width + c : c * rows_.stride + at;
    }
    index_t place(index_t j, index_t c) const {
        return spot(rows_.start ? index_t(X_.place()[j]) : j, c);
    }

    void read_weights() {
        const index_t d = rows_.features, N = step_.N();
        const index_t size = rows_.start ? d * p_.width : p_.columns * rows_.stride;
        const auto take = [&](const T* from, Pages<T>& pages) {
            pages = Pages<T>(size + k_.lanes);
            T* to = pages.data();
            std::fill_n(to, size + k_.lanes, T(0));
            for (index_t j = 0; from && j < d; ++j)
                for (index_t c = 0; c < p_.columns; ++c) to[place(j, c)] = from[j * N + first_ + c];
            return to;
        };
        p_.W = take(step_.blank ? nullptr : step_.W, W_);
        if (!step_.steps && drawn_.empty()) return;
        T* steps = take(step_.steps, steps_);
        if (!step_.steps) std::fill_n(steps, size, T(1));
        for (const Drawn& d : drawn_)
            for (index_t k = 0; k < p_.outputs; ++k)
                steps[spot(d.at, d.unit * p_.outputs + k)] = T(d.share);
        p_.steps = steps;
    }

    void read_duals() {
        const index_t N = step_.N();
        duals_ = Pages<T>(n_ * p_.width + 2 * k_.lanes);
        p_.duals = duals_.data();
        std::fill_n(p_.duals, n_ * p_.width + 2 * k_.lanes, T(0));
        T unmoved = 0;  // what is kept of a column's 0, whatever the label
        const double zero = 0.0;
        if (by_column(p_.form)) keep(0, 0, &zero, &unmoved);
        const auto is_unmoved = [&](const double* row) {
            return std::all_of(row, row + p_.columns, [](double a) { return a == 0.0; });
        };
        for (index_t i = 0; i < n_; ++i) {
            const double* row = step_.U + X_.order()[i] * N + first_;
            if (by_column(p_.form) && (step_.blank || is_unmoved(row))) {
                std::fill_n(p_.duals + i * p_.width, p_.columns, unmoved);
                continue;
            }
            for (index_t u = 0; u < p_.units; ++u) {
                const index_t c = u * p_.outputs;
                const double* U = row + c;
                keep(label(i, u), c, U, p_.duals + i * p_.width + c);
                const double C = weight(i, u) * step_.labels.scale[model(u)];
                if (C > 0.0)
                    for (index_t k = 0; k < p_.outputs; ++k) change_[c + k] += C * U[k];
            }
        }
        for (index_t c = 0; c < p_.columns; ++c) {
            const double Q = bias_square(c / p_.outputs);
            if (share_[c] < Q || Q == 0.0)
                centre_[c] = step_.b[first_ + c] + share_[c] * change_[c];
            bias_[c] = T(bias(c));
        }
        find_centres();
        if (p_.form != DualForm::logistic) return;
        flows_ = Pages<T>(n_ * p_.width + 2 * k_.lanes);
        p_.flows = flows_.data();
        std::fill_n(p_.flows + n_ * p_.width, 2 * k_.lanes, T(0));
        k_.find_flows(p_.duals, n_ * p_.width, p_.flows);
    }

    // The centres of strong features, c = w - r g.
    void find_centres() {
        if (drawn_.empty() || step_.blank) return;
        std::vector<std::vector<index_t>> at(rows_.features);
        for (index_t number = 0; number < index_t(drawn_.size()); ++number)
            at[drawn_[number].at].push_back(number);
        for (index_t i = 0; i < n_; ++i)
            for_entries(rows_, i, [&](index_t j, double x) {
                for (const index_t number : at[j]) {
                    Drawn& d = drawn_[number];
                    const double C = weight(i, d.unit) * step_.labels.scale[model(d.unit)];
                    const double* U =
                        step_.U + X_.order()[i] * step_.N() + first_ + d.unit * p_.outputs;
                    for (index_t k = 0; C > 0.0 && k < p_.outputs; ++k)
                        d.centre[k] += d.share * C * x * U[k];
                }
            });
        for (Drawn& d : drawn_)
            for (index_t k = 0; k < p_.outputs; ++k)
                d.centre[k] += double(p_.W[spot(d.at, d.unit * p_.outputs + k)]);
    }

    // What the kernels keep of the duals U of a row.
    void keep(std::int32_t y, index_t c, const double* U, T* kept) const {
        // Of nothing, something is kept that is as good as nothing but has a logarithm.
        const auto logit = [](double right, double wrong) {
            return std::log(std::max(right, nothing)) - std::log(std::max(wrong, nothing));
        };
        const auto safe = [](double x) { return x > 0.0 ? x : 0.0; };
        const index_t K = p_.outputs;
        switch (p_.form) {
            case DualForm::hinge:
            case DualForm::squared_hinge:
            case DualForm::logistic: {
                const double a = safe(y == std::int32_t(number_[c]) ? -*U : *U);
                if (p_.form == DualForm::logistic)
                    *kept = T(logit(1.0 - a, a));
                else
                    *kept = T(p_.form == DualForm::hinge ? std::min(a, 1.0) : a);
                return;
            }
            case DualForm::sum_of_hinges:
            case DualForm::sum_of_squared_hinges:
            case DualForm::crammer_singer:
                for (index_t k = 0; k < K; ++k) {
                    const double a = k == y ? 0.0 : safe(U[k]);
                    kept[k] = T(p_.form == DualForm::sum_of_hinges ? std::min(a, 1.0) : a);
                }
                return;
            case DualForm::softmax:
            case DualForm::softmax_reference: {
                const index_t shift = p_.form == DualForm::softmax_reference;
                double rest = 1.0;
                if (shift) {
                    rest = y == 0;
                    for (index_t k = 0; k < K; ++k) rest -= U[k];
                }
                for (index_t k = 0; k < K; ++k)
                    kept[k] = T(logit(k + shift == y ? 1.0 + U[k] : U[k], rest));
                return;
            }
        }
    }

    // U of a row from what the kernels keep, inside the domain of the conjugate.
    void give(std::int32_t y, index_t c, const T* kept, double* U) const {
        const index_t K = p_.outputs;
        switch (p_.form) {
            case DualForm::hinge:
            case DualForm::squared_hinge:
            case DualForm::logistic: {
                double a = *kept;
                if (p_.form == DualForm::logistic) a = 1.0 / (1.0 + std::exp(a));
                *U = y == std::int32_t(number_[c]) ? -a : a;
                return;
            }
            case DualForm::sum_of_hinges:
            case DualForm::sum_of_squared_hinges:
            case DualForm::crammer_singer: {
                double sum = 0;
                for (index_t k = 0; k < K; ++k) sum += k == y ? 0.0 : double(kept[k]);
                const double share =
                    p_.form == DualForm::crammer_singer && sum > 1.0 ? 1.0 / sum : 1.0;
                for (index_t k = 0; k < K; ++k)
                    U[k] = k == y ? -sum * share : double(kept[k]) * share;
                return;
            }
            case DualForm::softmax:
            case DualForm::softmax_reference: {
                const index_t shift = p_.form == DualForm::softmax_reference;
                double top = shift ? 0.0 : -std::numeric_limits<double>::infinity();
                for (index_t k = 0; k < K; ++k) top = std::max(top, double(kept[k]));
                double total = shift ? std::exp(-top) : 0.0, wrong = 0;
                if (shift && y != 0) wrong = total;
                for (index_t k = 0; k < K; ++k) {
                    U[k] = std::exp(double(kept[k]) - top);
                    total += U[k];
                    if (k + shift != y) wrong += U[k];
                }
                for (index_t k = 0; k < K; ++k)
                    U[k] = k + shift == y ? -wrong / total : U[k] / total;
                return;
            }
        }
    }

    // The feature at a place of the copy.
    index_t feature(index_t at) const { return rows_.start ? X_.feature()[at] : at; }

    void mark_blocks() {
        for (index_t b = 0; b < index_t(blocks_.size()); ++b) {
            unsigned word = 0;
            for (index_t r = 0; r < dual_block && b * dual_block + r < n_; ++r)
                word |= unsigned((active_[b * dual_block + r] & p_.live) != 0) << r;
            blocks_[b] = std::uint8_t(word);
        }
    }

    double bias(index_t c) const { return centre_[c] - share_[c] * change_[c]; }

    // What the gap owes to the bias, b^2 / (2 Q) + Q change^2 / 2 + b change. Of a free one, whose
    // duals must be balanced, an estimate.
    double imbalance(index_t u, index_t c) const {
        const double Q = bias_square(u);
        if (Q == 0.0) return 0.0;
        if (std::isinf(Q)) return 0.5 * share_[c] * change_[c] * change_[c];
        const double off = bias(c) + Q * change_[c];
        return off * off / (2.0 * Q);
    }

    // The same of a strong feature, (w - Q g)^2 / (2 Q).
    double imbalance(const Drawn& d) const {
        double sum = 0;
        for (index_t k = 0; k < p_.outputs; ++k) {
            const double w = p_.W[spot(d.at, d.unit * p_.outputs + k)];
            const double off = w - d.whole / d.share * (w - d.centre[k]);
            sum += off * off / (2.0 * d.whole);
        }
        return sum;
    }

    // Moves the centre of a strong feature; returns by how much a score may change.
    double follow(Drawn& d) {
        double most = 0;
        for (index_t k = 0; k < p_.outputs; ++k) {
            T& w = p_.W[spot(d.at, d.unit * p_.outputs + k)];
            const double next = (1.0 - d.share / d.whole) * double(w);
            const double move = next - std::exchange(d.centre[k], next);
            w = T(double(w) + move);
            most = std::max(most, std::abs(move) * d.largest);
        }
        return most;
    }

    // The centre, the estimate of the gap and the bounds of the next epoch.
    void close_epoch(index_t u, bool first) {
        double unbalanced = 0, jump = 0;
        for (index_t c = u * p_.outputs; c < (u + 1) * p_.outputs; ++c)
            unbalanced += imbalance(u, c);
        for (const Drawn& d : drawn_)
            if (d.unit == u) unbalanced += imbalance(d);
        const double estimate = gap_[u] + unbalanced;
        const bool better = estimate < (1.0 - 1e-3) * best_[u];
        stalled_[u] = better || first ? 0 : stalled_[u] + 1;
        if (better && !first) best_[u] = estimate;
        // Where the centre and the rows chase each other round, it must wait for the rows.
        const bool settled = stalled_[u] < patience || gap_[u] <= unbalanced;
        const bool moves = share_[u * p_.outputs] < bias_square(u) && settled && !first;
        for (index_t c = u * p_.outputs; c < (u + 1) * p_.outputs; ++c) {
            if (moves) {
                const double next = (1.0 - share_[c] / bias_square(u)) * bias(c);
                jump = std::max(jump, std::abs(next - std::exchange(centre_[c], next)));
            }
            bias_[c] = T(bias(c));
        }
        for (Drawn& d : drawn_)
            if (d.unit == u && settled && !first) jump += follow(d);
        step_.estimate[first_unit_ + u] = estimate;
        active_of_[u] -= double(std::exchange(resting_[u], 0));
        high_[u] = found_high_[u] > T(0) ? found_high_[u] : infinity;
        low_[u] = found_low_[u] < T(0) ? found_low_[u] : -infinity;
        // Rows rest for as long as their slopes stay on their side.
        drift_[u] += jump;
        if (drift_[u] > double(std::min(high_[u], -low_[u]))) wake(u);
    }

    // The estimate was gathered over an epoch: the less that has gained, the less it tells of the
    // end.
    double caution(double pace) const {
        if (p_.form != DualForm::logistic) return 1.0;  // whose shares of the goal allow for that
        return std::max(1.0, pace * pace / (quick * quick));
    }

    // Whether a unit takes a step of Newton's method after so many epochs.
    bool leaps(index_t u, index_t epochs) {
        if (p_.form != DualForm::logistic || !rows_.start) return false;
        const double estimate = step_.estimate[first_unit_ + u];
        if (epochs < leap_after || (epochs - leap_after) % leap_every != 0) return false;
        const double pace = before_[u] > 0.0 ? std::sqrt(estimate / before_[u]) : 0.0;
        slowest_[u] = std::max(slowest_[u], std::min(pace, 1.0));
        if (estimate > gain_of_leap * leapt_from_[u]) return false;
        const double goal = std::min(step_.limit[first_unit_ + u], step_.share * loss(u));
        const double left =
            std::log(goal / caution(slowest_[u]) / estimate) / std::log(slowest_[u]);
        if (slowest_[u] < 1.0 && left < epochs_of_leap) return false;
        leapt_from_[u] = estimate;
        return true;
    }

    void leap(std::uint32_t units) {
        if (!leap_space_.data())
            leap_space_ = Pages<T>(leap_space(n_, rows_.features, p_.width) + k_.lanes);
        std::vector<double> due(p_.width, 0.0), pull(p_.width, 0.0), bias_of(p_.width, 0.0),
            share(p_.width, 0.0);
        for (index_t u = 0; u < p_.units; ++u) {
            bias_of[u] = bias(u);
            pull[u] = 1.0 / bias_square(u);
            due[u] = -change_[u] - (std::isinf(pull[u]) ? 0.0 : bias_of[u] * pull[u]);
        }
        k_.leap(p_, {units, due.data(), pull.data(), bias_of.data(), change_.data(), share.data(),
                     leap_space_.data()});
        for (index_t u = 0; u < p_.units; ++u) {
            if (!(units >> u & 1)) continue;
            if (share[u] == 0.0) leapt_from_[u] = 0.0;  // no further ones
            if (share_[u] < bias_square(u)) centre_[u] = bias_of[u] + share_[u] * change_[u];
            bias_[u] = T(bias(u));
        }
    }

    // The loss, over l2, of the scores whose slopes the duals are, by some of the rows: that of a
    // cross-entropy is -log(1 - a), a being what the other classes have of a row. A hinge's slopes
    // tell nothing. It is found for all units when it is first asked for after an epoch.
    double loss(index_t u) {
        if (!is_entropy(p_.form)) return std::numeric_limits<double>::infinity();
        if (losses_now_.empty()) find_losses();
        return loss_[u] = losses_now_[u];
    }

    // Whether an estimate is at most some share of the loss. That changes little at the end: while
    // the one it was when it was last asked for is far too small, it is not looked for again.
    bool is_share_of_loss(index_t u, double estimate, double share) {
        constexpr double far = 2.0;
        return estimate <= far * share * loss_[u] && estimate <= share * loss(u);
    }

    void find_losses() {
        constexpr index_t every = 8;
        std::vector<double> seen(p_.units, 0.0);
        std::vector<T> row(p_.width);
        std::vector<double>& sums = losses_now_;
        sums.assign(p_.units, 0.0);
        for (index_t i = 0; i < n_; i += every) {
            const T* kept = p_.duals + i * p_.width;
            if (p_.form == DualForm::logistic) k_.losses(kept, p_.width, row.data());
            for (index_t u = 0; u < p_.units; ++u) {
                const double s = double(p_.s.at[i * p_.s.row + (p_.s.each ? u : 0)]);
                if (!(s > 0.0)) continue;
                if (p_.form != DualForm::logistic) row[u] = T(loss_of_outputs(i, u, kept));
                sums[u] += s * double(row[u]);
                seen[u] += s;
            }
        }
        for (index_t u = 0; u < p_.units; ++u)
            sums[u] = seen[u] > 0.0 ? sums[u] / seen[u] * (total_[u] * step_.labels.scale[model(u)])
                                    : std::numeric_limits<double>::infinity();
    }

    double loss_of_outputs(index_t i, index_t u, const T* kept) {
        const index_t c = u * p_.outputs;
        outputs_.resize(p_.outputs);
        give(label(i, u), c, kept + c, outputs_.data());
        double others = 0;
        for (const double U : outputs_) others += std::max(U, 0.0);
        return -std::log1p(-std::min(others, 1.0 - 0x1p-53));
    }

    void wake(index_t u) {
        active_of_[u] = rows_of_[u];
        for (index_t i = 0; i < n_; ++i)
            if (weight(i, u) > 0.0) active_[i] |= 1u << u;
        high_[u] = infinity;
        low_[u] = -infinity;
        drift_[u] = 0.0;
    }

    void write() const {
        const index_t d = rows_.features, N = step_.N();
        // In float32 they are only good to find the duals with, of which better ones are made.
        for (index_t j = 0; sizeof(T) == 8 && j < d; ++j)
            for (index_t c = 0; c < p_.columns; ++c)
                step_.W[j * N + first_ + c] = p_.W[place(j, c)];
        for (index_t c = 0; c < p_.columns; ++c) step_.b[first_ + c] = bias(c);
        if (p_.form == DualForm::logistic) return write_flows();
        for (index_t i = 0; i < n_; ++i)
            for (index_t u = 0; u < p_.units; ++u) {
                if (!(weight(i, u) > 0.0)) continue;
                const index_t c = u * p_.outputs;
                give(label(i, u), c, p_.duals + i * p_.width + c,
                     step_.U + X_.order()[i] * N + first_ + c);
            }
    }

    bool is_own(index_t i, index_t u) const {
        return p_.y.at[i * p_.y.row + (p_.y.each ? u : 0)] == number_[u];
    }
    bool is_free(index_t u) const { return std::isinf(bias_square(u)); }

    // Calls take(i, u, flow) for the rows and logistic units with weight, of which none rests.
    template <class Take>
    void for_flows(const Take& take) const {
        constexpr index_t run = 64;
        std::vector<double> flow(run * p_.width);
        for (index_t first = 0; first < n_; first += run) {
            const index_t last = std::min(n_, first + run);
            k_.flows(p_.duals + first * p_.width, (last - first) * p_.width, flow.data());
            for (index_t i = first; i < last; ++i)
                for (index_t u = 0; u < p_.units; ++u)
                    if (active_[i] >> u & 1) take(i, u, flow[(i - first) * p_.width + u]);
        }
    }

    // As `give`, for all rows. In float32 the duals of free biases are balanced: the flows out of
    // one of the two classes shrink. A proof rests on that, so that no digit of the sums is lost.
    void write_flows() const {
        std::vector<WholeSum> sums(2 * p_.units);
        std::vector<double> by(2 * p_.units, 1.0);
        for_flows([&](index_t i, index_t u, double a) {
            sums[2 * u + is_own(i, u)].add(near_weight(i, u) * a);
        });
        for (index_t k = 0; k < 2 * p_.units; ++k) {
            const double own = sums[k].sum, other = sums[k ^ 1].sum;
            if (sizeof(T) == 4 && is_free(k / 2) && own > other) by[k] = other / own;
        }
        for_flows([&](index_t i, index_t u, double a) {
            const bool own = is_own(i, u);
            step_.U[X_.order()[i] * step_.N() + first_ + u] = (own ? -a : a) * by[2 * u + own];
        });
        std::vector<double> pull(p_.units);  // sum_i s_i U_i
        for (index_t u = 0; u < p_.units; ++u)
            pull[u] = sums[2 * u].sum * by[2 * u] - sums[2 * u + 1].sum * by[2 * u + 1];
        settle_biases(pull);
    }

    // Moves each free bias by a step of Newton's method on it alone: duals near their optimum leave
    // it farther from its own. Its slope is that of the duals, over all rows, and by how much the
    // slopes at the scores differ from them, which a part of the rows tells.
    void settle_biases(const std::vector<double>& pull) const {
        constexpr index_t enough = 4096;
        const index_t every = n_ >= enough ? 8 : 1;
        std::vector<T> z(p_.width + k_.lanes);
        std::vector<double> flow(p_.width), off(p_.units), bent(p_.units), seen(p_.units);
        for (index_t i = 0; i < n_; i += every) {
            if (!active_[i]) continue;
            k_.scores(p_, i, z.data());
            for (index_t u = 0; u < p_.units; ++u)
                z[u] = T((is_own(i, u) ? 1.0 : -1.0) * (double(z[u]) + bias(u)));
            k_.flows(z.data(), p_.width, flow.data());
            const double* U = step_.U + X_.order()[i] * step_.N() + first_;
            for (index_t u = 0; u < p_.units; ++u) {
                if (!(active_[i] >> u & 1)) continue;
                const double s = near_weight(i, u), a = flow[u];
                off[u] += s * ((is_own(i, u) ? -a : a) - U[u]);
                bent[u] += s * a * (1.0 - a);
                seen[u] += s;
            }
        }
        for (index_t u = 0; u < p_.units; ++u) {
            const double move = (off[u] + pull[u] * (seen[u] / total_[u])) / bent[u];
            if (is_free(u) && bent[u] > 0.0 && std::isfinite(move)) step_.b[first_ + u] -= move;
        }
    }

    const DualKernels<T>& k_;
    const DualCopy<T>& X_;
    const DualStep<T>& step_;
    index_t first_, first_unit_, n_;
    bool exact_ = true;  // whether the weights of the rows are T
    DualRows<T> rows_;
    DualTask<T> p_{};
    std::vector<T> y_, s_, square_, strength_, bias_square_, number_, bias_, high_, low_,
        found_high_, found_low_;
    std::vector<double> gap_, change_, centre_, share_, drift_, best_, active_of_, rows_of_, total_,
        loss_, losses_now_, outputs_, last_, before_, leapt_from_, slowest_;
    std::vector<index_t> model_, resting_, stalled_;
    std::vector<Drawn> drawn_;
    std::vector<std::uint32_t> active_;
    std::vector<std::uint8_t> blocks_;
    Pages<T> W_, steps_, duals_, flows_, scratch_, leap_space_;
};

// The shares of the tasks of a step: where each begins, and by which kernels it is done.
template <class T>
struct DualShare {
    index_t first, units;
    const DualKernels<T>* kernels;
};

// A task goes on until its hardest unit is done. Where columns are hard to different degrees, and
// where there are few for each thread, narrow tasks take less time in all. The last ones come
// first: where columns are ordered by their strength, it mostly rises.
template <class T>
std::vector<DualShare<T>> shares_of(const Engine& engine, const DualCopy<T>& X,
                                    const DualStep<T>& step) {
    constexpr double hard = 3.0, differ = 3.0;  // C |x|^2, and how many times that of another
    const DualKernels<T>* wide = &Engine::dual_of<T>(*engine.set);
    const DualKernels<T>* narrow = nullptr;
    if (engine.narrow && step.unit_outputs() == 1 && X.rows().start)
        narrow = &Engine::dual_of<T>(*engine.narrow);
    const index_t units = step.units(), outputs = step.unit_outputs();
    const index_t each = (units + engine.threads - 1) / engine.threads;
    const index_t lanes = outputs == 1 ? wide->lanes : 1;
    double squares = 0;
    for (const double square : X.squares()) squares += square;
    squares /= std::max<double>(1.0, double(X.squares().size()));
    const index_t most = std::clamp<index_t>(dual_units / outputs, 1, dual_units);
    const index_t full = std::min(most, (each + lanes - 1) / lanes * lanes);
    std::vector<DualShare<T>> out;
    for (index_t end = units; end > 0; end = out.back().first) {
        const DualKernels<T>* kernels = narrow && each <= narrow->lanes ? narrow : wide;
        index_t count = std::min(end, kernels == wide ? full : narrow->lanes);
        if (narrow && kernels == wide) {
            const double* scale = step.labels.scale;
            const auto model = [&](index_t unit) { return unit / step.outputs; };
            const auto [low, high] =
                std::minmax_element(scale + model(end - count), scale + model(end - 1) + 1);
            if (*high * squares > hard && *high > differ * *low) {
                kernels = narrow;
                count = std::min(end, narrow->lanes);
            }
        }
        out.push_back({end - count, count, kernels});
    }
    return out;
}

// Brings every unit closer to its optimum, as far as the step asks.
template <class T>
void dual_step(const Engine& engine, const DualCopy<T>& X, const DualStep<T>& step) {
    const std::vector<DualShare<T>> shares = shares_of(engine, X, step);
    const Strength strength =
        step.steps ? Strength{} : find_strong(X.rows(), [](index_t) { return 1.0; });
    const double work = 1e2 * double(X.order().size()) * step.N();
    engine.loop(index_t(shares.size()), work, [&](index_t task, int) {
        const DualShare<T>& share = shares[task];
        DualWork<T>(*share.kernels, X, step, strength, share.first, share.units).run();
    });
}

}  // namespace sx
