// A step of Newton's method on the duals of logistic columns, for those that advance slowly.
//
// Problem    with the duals u that are kept, a = sigma(-u), h_i = C_i a_i (1 - a_i) and the margins
//            m = t (x w + b), all duals are at their best where u = m. To first order that asks of
//            w + p and b + c, where Q is the square of the bias's feature,
//                (f^2 + X^T h X) p + X^T h c = X^T v,      v_i = -t_i h_i (m_i - u_i),
//                h^T X p + (sum h + 1 / Q) c = sum v + sum_i C_i t_i a_i - b / Q.
//            What is slow one row at a time is quick by conjugate gradients, preconditioned by the
//            diagonal, and the other way round.
// Given      a DualTask with a sparse copy. V is a vector of columns, or T for one that stands
//            alone; no column sees another.
// On return  u has moved towards m + t (x p + c), by no more than `farthest`, and W with it; not at
//            all where that would be next to nothing.
#pragma once

#include <cstring>

#include "dual/columns.hpp"

namespace sx {
inline namespace SX_ISA {

template <class T, class V>
class ColumnLeap {
    static constexpr index_t step = is_alone<T, V> ? 1 : lanes<T>;
    static constexpr index_t most = is_alone<T, V> ? 1 : dual_units / step;
    static constexpr index_t run = 64;         // terms that are summed before they are added up
    static constexpr index_t most_turns = 30;  // of the conjugate gradients
    static constexpr double exact = 0.05;      // share of the residual that may be left
    static constexpr double farthest = 2.0;    // that a dual moves
    static constexpr double worth = 0.05;      // share of the way that is worth going

    using Row = RowColumns<LogisticColumns, T, V>;
    using Sums = double[dual_units];

  public:
    ColumnLeap(const DualTask<T>& task, const DualLeap<T>& leap)
        : p_(task),
          leap_(leap),
          rows_(task.X.rows),
          features_(task.X.features),
          vectors_(task.width / step),
          stride_(is_alone<T, V> ? 1 : 2 * task.width),
          way_(leap.space),
          product_(way_ + (is_alone<T, V> ? features_ : task.width)),
          left_(way_ + 2 * features_ * task.width),
          solution_(left_ + features_ * task.width),
          inverse_(solution_ + features_ * task.width),
          bent_(inverse_ + features_ * task.width),
          off_(bent_ + rows_ * task.width) {}

    void run_all() {
        set_out();
        solve();
        move();
    }

  private:
    template <class Number>
    static void clear(Number* numbers, index_t count) {
        std::memset(numbers, 0, std::size_t(count) * sizeof(Number));
    }

    // Calls term(c, v) for the vectors of columns; c is where one begins.
    template <class Term>
    SX_INLINE void each(const Term& term) const {
        for (index_t v = 0; v < vectors_; ++v) term(v * step, v);
    }

    // sums[c] = the sum over the weights of what term(where, where of the pairs, c) returns.
    template <class Term>
    SX_INLINE void over_weights(double* sums, const Term& term) const {
        clear(sums, p_.width);
        for (index_t first = 0; first < features_; first += run) {
            const index_t last = first + run < features_ ? first + run : features_;
            V part[most] = {};
            for (index_t j = first; j < last; ++j)
                each([&](index_t c, index_t v) {
                    part[v] += term(j * p_.width + c, j * stride_ + c, c);
                });
            add_up(part, sums);
        }
    }

    // Calls term(i, z, c, one, other) for the rows, z being their products with the columns of
    // `from` (null: none). What it adds to its last two is summed; what it leaves in change_ is
    // added to the columns of `to` (null: none), along x_i, if nothing else is done `then`.
    template <class Term>
    SX_INLINE void over_rows(const DualTask<T>* from, const DualTask<T>* to, double* one,
                             double* other, const Term& term) {
        over_rows(from, to, one, other, term, [&](index_t i) { add_row(*to, i, change_); });
    }

    template <class Term, class Then>
    SX_INLINE void over_rows(const DualTask<T>* from, const DualTask<T>* to, double* one,
                             double* other, const Term& term, const Then& then) {
        clear(one, p_.width);
        clear(other, p_.width);
        alignas(64) T z[dual_units] = {};
        for (index_t first = 0; first < rows_; first += run) {
            const index_t last = first + run < rows_ ? first + run : rows_;
            V ones[most] = {}, others[most] = {};
            for (index_t i = first; i < last; ++i) {
                if (!(p_.active[i] & leap_.units)) continue;
                if (to) fetch_row(i, to->W, to->stride);
                if (from) row_scores(*from, i, z);
                each([&](index_t c, index_t v) {
                    term(i, load_as<T, V>(z + c), c, ones[v], others[v]);
                });
                if (to) then(i);
            }
            add_up(ones, one);
            add_up(others, other);
        }
    }

    // Brings the weights that rows to come will change closer, as those are that they read.
    SX_INLINE void fetch_row(index_t i, const T* W, index_t stride) const {
        for (index_t k = p_.X.start[i]; k < p_.X.start[i + 1]; ++k)
            each([&](index_t c, index_t) {
                fetch<1>(W + index_t(p_.X.index[k + fetch_ahead]) * stride + c);
            });
    }

    SX_INLINE void add_up(const V* part, double* sums) const {
        each([&](index_t c, index_t v) {
            alignas(64) T lane[step];
            store_as<T, V>(lane, part[v]);
            for (index_t l = 0; l < step; ++l) sums[c + l] += double(lane[l]);
        });
    }

    // The task with other weights in the place of W, in their own units.
    DualTask<T> with(T* W, index_t stride) const {
        DualTask<T> task = p_;
        task.W = W;
        task.stride = stride;
        task.steps = nullptr;
        return task;
    }

    SX_INLINE mask_of<V> here(index_t i, index_t c) const {
        return mask_from<T, V>((p_.active[i] & leap_.units) >> c);
    }

    // f^2 times a weight.
    SX_INLINE V stiff(index_t at, V w) const {
        return p_.steps ? w / load_as<T, V>(p_.steps + at) : w;
    }

    // The right-hand sides, the diagonals, and the first direction.
    void set_out() {
        clear(way_, 2 * features_ * p_.width);
        clear(bent_, 2 * rows_ * p_.width);
        Sums pulls, bends, start;
        const DualTask<T> residual = with(way_, stride_);
        const auto set_row = [&](index_t i, V z, index_t c, V& one, V& other) {
            const Row row(p_, i, c);
            const mask_of<V> mine = here(i, c);
            const V bent = select(mine, row.C * row.rule.curved, V{});
            const V margin = row.t * (z + load_as<T, V>(p_.bias + c));
            const V off = select(mine, margin - row.rule.dual, V{}), pull = -row.t * bent * off;
            store_as<T, V>(bent_ + i * p_.width + c, bent);
            store_as<T, V>(off_ + i * p_.width + c, off);
            store_as<T, V>(change_ + c, pull);
            one += pull;
            other += bent;
        };
        over_rows(&p_, &residual, pulls, bends, set_row, [&](index_t i) { add_both(i); });
        over_weights(start, [&](index_t at, index_t pair, index_t) {
            const V one = spread<T, V>(1), r = load_as<T, V>(way_ + pair);
            const V inverse = one / (stiff(at, one) + load_as<T, V>(product_ + pair));
            store_as<T, V>(left_ + at, r);
            store_as<T, V>(inverse_ + at, inverse);
            store_as<T, V>(solution_ + at, V{});
            store_as<T, V>(way_ + pair, V{});
            return r * (r * inverse);
        });
        for (index_t c = 0; c < p_.width; ++c) {
            const double stiff = bends[c] + leap_.pull[c];  // infinite for a bias that stays
            bias_inverse_[c] = stiff > 0.0 ? 1.0 / stiff : 0.0;
            bias_left_[c] = bias_inverse_[c] > 0.0 ? pulls[c] + leap_.due[c] : 0.0;
            bias_way_[c] = bias_solution_[c] = 0.0;
            share_[c] = T(0);
            size_[c] = start[c] + bias_left_[c] * bias_left_[c] * bias_inverse_[c];
            goal_[c] = exact * exact * size_[c];
            turns_[c] = size_[c] > 0.0;
        }
    }

    // way_ += x_i (change), of which the right-hand sides are made, and product_ += h x_i^2, of
    // which the diagonals are.
    SX_INLINE void add_both(index_t i) {
        const auto add = [](T* to, V x, V by) __attribute__((always_inline)) {
            store_as<T, V>(to, load_as<T, V>(to) + x * by);
        };
        for (index_t k = p_.X.start[i]; k < p_.X.start[i + 1]; ++k) {
            const index_t at = index_t(p_.X.index[k]) * stride_;
            const T x = p_.X.value[k];
            each([&](index_t c, index_t) {
                add(way_ + at + c, spread<T, V>(x), load_as<T, V>(change_ + c));
                add(product_ + at + c, spread<T, V>(x * x),
                    load_as<T, V>(bent_ + i * p_.width + c));
            });
        }
    }

    // The next direction, and f^2 times it; adds to `bend` how it bends the penalty.
    void turn(double* bend) {
        over_weights(bend, [&](index_t at, index_t pair, index_t c) {
            const V z = load_as<T, V>(left_ + at) * load_as<T, V>(inverse_ + at);
            const V q = z + load_as<T, V>(share_ + c) * load_as<T, V>(way_ + pair);
            const V stiff_q = stiff(at, q);
            store_as<T, V>(way_ + pair, q);
            store_as<T, V>(product_ + pair, stiff_q);
            return q * stiff_q;
        });
        for (index_t c = 0; c < p_.width; ++c) {
            const double z = bias_left_[c] * bias_inverse_[c];
            bias_way_[c] = z + double(share_[c]) * bias_way_[c];
            if (bias_inverse_[c] > 0.0) bend[c] += leap_.pull[c] * bias_way_[c] * bias_way_[c];
        }
    }

    void solve() {
        const DualTask<T> along = with(way_, stride_), result = with(product_, stride_);
        alignas(64) T bias[dual_units], ahead[dual_units];
        for (index_t number = 0; number < most_turns && goes_on(); ++number) {
            Sums bend, pulled, bent, next;
            turn(bend);
            for (index_t c = 0; c < p_.width; ++c) bias[c] = T(bias_way_[c]);
            over_rows(&along, &result, pulled, bent,
                      [&](index_t i, V z, index_t c, V& one, V& other) {
                          const V score = z + load_as<T, V>(bias + c);
                          const V pull = load_as<T, V>(bent_ + i * p_.width + c) * score;
                          store_as<T, V>(change_ + c, pull);
                          one += pull;
                          other += pull * score;
                      });
            for (index_t c = 0; c < p_.width; ++c) {
                bend[c] += bent[c];
                turns_[c] = turns_[c] && bend[c] > 0.0;
                ahead[c] = T(turns_[c] ? size_[c] / bend[c] : 0.0);
                bias_solution_[c] += double(ahead[c]) * bias_way_[c];
                if (bias_inverse_[c] > 0.0)
                    bias_left_[c] -= double(ahead[c]) * (pulled[c] + leap_.pull[c] * bias_way_[c]);
            }
            over_weights(next, [&](index_t at, index_t pair, index_t c) {
                const V a = load_as<T, V>(ahead + c);
                const V x = load_as<T, V>(solution_ + at) + a * load_as<T, V>(way_ + pair);
                const V r = load_as<T, V>(left_ + at) - a * load_as<T, V>(product_ + pair);
                store_as<T, V>(solution_ + at, x);
                store_as<T, V>(left_ + at, r);
                return r * (r * load_as<T, V>(inverse_ + at));
            });
            for (index_t c = 0; c < p_.width; ++c) {
                next[c] += bias_left_[c] * bias_left_[c] * bias_inverse_[c];
                share_[c] = T(turns_[c] ? next[c] / size_[c] : 0.0);
                size_[c] = next[c];
                turns_[c] = turns_[c] && next[c] > goal_[c];
            }
        }
    }

    bool goes_on() const {
        bool any = false;
        for (index_t c = 0; c < p_.width; ++c) any |= turns_[c];
        return any;
    }

    void move() {
        const DualTask<T> end = with(solution_, p_.width);
        alignas(64) T bias[dual_units], share[dual_units], far[dual_units] = {},
                                                           odd[dual_units] = {};
        for (index_t c = 0; c < p_.width; ++c) bias[c] = T(bias_solution_[c]);
        Sums changed, none;
        over_rows(&end, nullptr, none, none, [&](index_t i, V z, index_t c, V&, V&) {
            const Row row(p_, i, c);
            T* off = off_ + i * p_.width + c;
            const V to = load_as<T, V>(off) + row.t * (z + load_as<T, V>(bias + c));
            const V moves = select(here(i, c), to, V{});
            store_as<T, V>(off, moves);
            store_as<T, V>(far + c, max(load_as<T, V>(far + c), absolute<T, V>(moves)));
            store_as<T, V>(odd + c, load_as<T, V>(odd + c) + (moves - moves));  // NaN for good
        });
        for (index_t c = 0; c < p_.width; ++c) {
            leap_.share[c] = far[c] > farthest ? farthest / double(far[c]) : 1.0;
            if (!(odd[c] == T(0)) || leap_.share[c] < worth) leap_.share[c] = 0.0;
            share[c] = T(leap_.share[c]);
        }
        over_rows(nullptr, &p_, changed, none, [&](index_t i, V, index_t c, V& one, V&) {
            const Row row(p_, i, c);
            const V part = load_as<T, V>(share + c), off = load_as<T, V>(off_ + i * p_.width + c);
            const mask_of<V> mine = here(i, c) & (part > T(0));
            const V to = row.rule.dual + part * off;
            const V flow = LogisticColumns<T, V>::flow(to), rise = flow - row.rule.a;
            const V change = rounded(select(mine, row.C * row.t * rise, V{}));
            store_as<T, V>(p_.duals + i * p_.width + c, select(mine, to, row.rule.dual));
            store_as<T, V>(p_.flows + i * p_.width + c, select(mine, flow, row.rule.a));
            store_as<T, V>(change_ + c, change);
            one += change;
        });
        for (index_t c = 0; c < p_.width; ++c) {
            leap_.change[c] -= changed[c];
            if (share[c] > T(0)) leap_.bias[c] += double(share[c]) * bias_solution_[c];
        }
    }

    const DualTask<T>& p_;
    const DualLeap<T>& leap_;
    index_t rows_, features_, vectors_, stride_;
    T *way_, *product_;               // (features, width), side by side: rows need both at once
    T *left_, *solution_, *inverse_;  // (features, width)
    T *bent_, *off_;                  // (rows, width): h and m - u
    alignas(64) T change_[dual_units] = {};
    alignas(64) T share_[dual_units];  // of the last direction in the next
    double bias_way_[dual_units], bias_left_[dual_units], bias_solution_[dual_units],
        bias_inverse_[dual_units], size_[dual_units], goal_[dual_units];
    bool turns_[dual_units];
};

template <class T>
void leap(const DualTask<T>& task, const DualLeap<T>& leap) {
    if (task.width == 1)
        ColumnLeap<T, T>(task, leap).run_all();
    else
        ColumnLeap<T, vec<T>>(task, leap).run_all();
}

}  // namespace SX_ISA
}  // namespace sx
