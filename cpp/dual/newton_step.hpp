// A Newton step on all duals of logistic columns whose epochs make slow progress.
//
// Problem    with the stored logits u, a = sigma(-u), h_i = C_i a_i (1 - a_i) and the margins m = t
//            (x w + b), the duals are optimal if u = m. To first order, the changes p of w and c of
//            b then satisfy, with Q the square of the bias,
//              (f^2 + X^T h X) p + X^T h c = X^T v,      v_i = -t_i h_i (m_i - u_i),
//              h^T X p + (sum h + 1 / Q) c = sum v + sum_i C_i t_i a_i - b / Q.
//            Solved by conjugate gradients with a diagonal preconditioner, which are fast where
//            visits of single rows are slow, and the other way round.
// Given      a DualTask with a sparse copy. V is a vector of columns, or T for a single column;
//            columns do not affect each other.
// On return  u has moved towards m + t (x p + c), by at most `trust_radius`, and W with it. Steps
//            that would be too short are not made.
#pragma once

#include <cstring>

#include "dual/column_epoch.hpp"
#include "losses/logistic.hpp"

namespace sx {
inline namespace SX_ISA {

template <class T, class V>
class ColumnNewtonStep {
    static constexpr index_t lane_step = is_scalar<T, V> ? 1 : lanes<T>;
    static constexpr index_t most = is_scalar<T, V> ? 1 : most_units / lane_step;
    static constexpr index_t chunk = 64;  // terms summed in T before they are added to a double
    static constexpr index_t most_iterations = 30;  // of the conjugate gradients
    static constexpr double tolerance = 0.05;       // relative residual at which the iteration ends
    static constexpr double trust_radius = 2.0;   // the largest change of a dual, which is a logit
    static constexpr double least_length = 0.05;  // shorter steps are not made

    using Row = RowColumns<LogisticDual, T, V>;
    using Sums = double[most_units];

  public:
    ColumnNewtonStep(const DualTask<T>& task, const NewtonStep<T>& step)
        : p_(task),
          step_(step),
          rows_(task.X.rows),
          features_(task.X.features),
          vectors_(task.width / lane_step),
          stride_(is_scalar<T, V> ? 1 : 2 * task.width),
          direction_(step.scratch),
          product_(direction_ + (is_scalar<T, V> ? features_ : task.width)),
          residual_(direction_ + 2 * features_ * task.width),
          solution_(residual_ + features_ * task.width),
          preconditioner_(solution_ + features_ * task.width),
          curvature_(preconditioner_ + features_ * task.width),
          off_(curvature_ + rows_ * task.width) {}

    void run() {
        start();
        solve();
        move();
    }

  private:
    template <class Number>
    static void clear(Number* numbers, index_t count) {
        std::memset(numbers, 0, std::size_t(count) * sizeof(Number));
    }

    // Calls term(c, v) for every vector of columns; c is its first column.
    template <class Term>
    SX_INLINE void each(const Term& term) const {
        for (index_t v = 0; v < vectors_; ++v) term(v * lane_step, v);
    }

    // sums[c] = the sum over the weights of term(index, index in the pairs, c).
    template <class Term>
    SX_INLINE void over_weights(double* sums, const Term& term) const {
        clear(sums, p_.width);
        for (index_t first = 0; first < features_; first += chunk) {
            const index_t last = first + chunk < features_ ? first + chunk : features_;
            V part[most] = {};
            for (index_t j = first; j < last; ++j)
                each([&](index_t c, index_t v) {
                    part[v] += term(j * p_.width + c, j * stride_ + c, c);
                });
            add_up(part, sums);
        }
    }

    // Calls term(i, z, c, one, other) for every row, where z is the product of the row with the
    // columns of `from` (null: none). Sums what term adds to its last two arguments. Unless `then`
    // replaces this, adds x_i times change_, which term has written, to the columns of `to` (null:
    // none).
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
        alignas(64) T z[most_units] = {};
        for (index_t first = 0; first < rows_; first += chunk) {
            const index_t last = first + chunk < rows_ ? first + chunk : rows_;
            V ones[most] = {}, others[most] = {};
            for (index_t i = first; i < last; ++i) {
                if (!(p_.active[i] & step_.units)) continue;
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

    // Prefetches the weights that later rows will change.
    SX_INLINE void fetch_row(index_t i, const T* W, index_t stride) const {
        for (index_t k = p_.X.start[i]; k < p_.X.start[i + 1]; ++k)
            each([&](index_t c, index_t) {
                fetch<1>(W + index_t(p_.X.index[k + fetch_ahead]) * stride + c);
            });
    }

    SX_INLINE void add_up(const V* part, double* sums) const {
        each([&](index_t c, index_t v) {
            alignas(64) T lane[lane_step];
            store_as<T, V>(lane, part[v]);
            for (index_t l = 0; l < lane_step; ++l) sums[c + l] += double(lane[l]);
        });
    }

    // Returns the task with other weights in place of W, not scaled by the penalty factors.
    DualTask<T> with(T* W, index_t stride) const {
        DualTask<T> task = p_;
        task.W = W;
        task.stride = stride;
        task.inverse_squares = nullptr;
        return task;
    }

    SX_INLINE mask_of<V> here(index_t i, index_t c) const {
        return mask_from<T, V>((p_.active[i] & step_.units) >> c);
    }

    // f^2 times a weight.
    SX_INLINE V ridge_times(index_t at, V w) const {
        return p_.inverse_squares ? w / load_as<T, V>(p_.inverse_squares + at) : w;
    }

    // Computes the right-hand sides and the diagonals. The first direction is 0.
    void start() {
        clear(direction_, 2 * features_ * p_.width);
        clear(curvature_, 2 * rows_ * p_.width);
        Sums right_sides, curvatures, squared;
        const DualTask<T> residual = with(direction_, stride_);
        const auto start_row = [&](index_t i, V z, index_t c, V& one, V& other) {
            const Row row(p_, i, c);
            const mask_of<V> mine = here(i, c);
            const V h = select(mine, row.C * row.rule.curved, V{});
            const V margin = row.t * (z + load_as<T, V>(p_.bias + c));
            const V off = select(mine, margin - row.rule.dual, V{}), weighted = -row.t * h * off;
            store_as<T, V>(curvature_ + i * p_.width + c, h);
            store_as<T, V>(off_ + i * p_.width + c, off);
            store_as<T, V>(change_ + c, weighted);
            one += weighted;
            other += h;
        };
        over_rows(&p_, &residual, right_sides, curvatures, start_row,
                  [&](index_t i) { add_right_side_and_diagonal(i); });
        over_weights(squared, [&](index_t at, index_t pair, index_t) {
            const V one = broadcast_as<T, V>(1), r = load_as<T, V>(direction_ + pair);
            const V inverse = one / (ridge_times(at, one) + load_as<T, V>(product_ + pair));
            store_as<T, V>(residual_ + at, r);
            store_as<T, V>(preconditioner_ + at, inverse);
            store_as<T, V>(solution_ + at, V{});
            store_as<T, V>(direction_ + pair, V{});
            return r * (r * inverse);
        });
        for (index_t c = 0; c < p_.width; ++c) {
            const double diagonal =
                curvatures[c] + step_.bias_ridge[c];  // infinite for a fixed bias
            bias_preconditioner_[c] = diagonal > 0.0 ? 1.0 / diagonal : 0.0;
            bias_residual_[c] =
                bias_preconditioner_[c] > 0.0 ? right_sides[c] + step_.bias_residual[c] : 0.0;
            bias_direction_[c] = bias_solution_[c] = 0.0;
            share_[c] = T(0);
            size_[c] = squared[c] + bias_residual_[c] * bias_residual_[c] * bias_preconditioner_[c];
            goal_[c] = tolerance * tolerance * size_[c];
            open_[c] = size_[c] > 0.0;
        }
    }

    // Adds x_i (change) to direction_, for the right-hand sides, and h x_i^2 to product_, for the
    // diagonals.
    SX_INLINE void add_right_side_and_diagonal(index_t i) {
        const auto add = [](T* to, V x, V by) __attribute__((always_inline)) {
            store_as<T, V>(to, load_as<T, V>(to) + x * by);
        };
        for (index_t k = p_.X.start[i]; k < p_.X.start[i + 1]; ++k) {
            const index_t at = index_t(p_.X.index[k]) * stride_;
            const T x = p_.X.value[k];
            each([&](index_t c, index_t) {
                add(direction_ + at + c, broadcast_as<T, V>(x), load_as<T, V>(change_ + c));
                add(product_ + at + c, broadcast_as<T, V>(x * x),
                    load_as<T, V>(curvature_ + i * p_.width + c));
            });
        }
    }

    // Computes the next direction of the conjugate gradients, and f^2 times it. `curvature` is the
    // curvature of the penalty along it.
    void next_direction(double* curvature) {
        over_weights(curvature, [&](index_t at, index_t pair, index_t c) {
            const V z = load_as<T, V>(residual_ + at) * load_as<T, V>(preconditioner_ + at);
            const V q = z + load_as<T, V>(share_ + c) * load_as<T, V>(direction_ + pair);
            const V ridge_q = ridge_times(at, q);
            store_as<T, V>(direction_ + pair, q);
            store_as<T, V>(product_ + pair, ridge_q);
            return q * ridge_q;
        });
        for (index_t c = 0; c < p_.width; ++c) {
            const double z = bias_residual_[c] * bias_preconditioner_[c];
            bias_direction_[c] = z + double(share_[c]) * bias_direction_[c];
            if (bias_preconditioner_[c] > 0.0)
                curvature[c] += step_.bias_ridge[c] * bias_direction_[c] * bias_direction_[c];
        }
    }

    void solve() {
        const DualTask<T> along = with(direction_, stride_), result = with(product_, stride_);
        alignas(64) T bias[most_units], length[most_units];
        for (index_t number = 0; number < most_iterations && any_open(); ++number) {
            Sums curvature, bias_product, row_curvature, next;
            next_direction(curvature);
            for (index_t c = 0; c < p_.width; ++c) bias[c] = T(bias_direction_[c]);
            over_rows(&along, &result, bias_product, row_curvature,
                      [&](index_t i, V z, index_t c, V& one, V& other) {
                          const V score = z + load_as<T, V>(bias + c);
                          const V weighted = load_as<T, V>(curvature_ + i * p_.width + c) * score;
                          store_as<T, V>(change_ + c, weighted);
                          one += weighted;
                          other += weighted * score;
                      });
            for (index_t c = 0; c < p_.width; ++c) {
                curvature[c] += row_curvature[c];
                open_[c] = open_[c] && curvature[c] > 0.0;
                length[c] = T(open_[c] ? size_[c] / curvature[c] : 0.0);
                bias_solution_[c] += double(length[c]) * bias_direction_[c];
                if (bias_preconditioner_[c] > 0.0)
                    bias_residual_[c] -=
                        double(length[c]) *
                        (bias_product[c] + step_.bias_ridge[c] * bias_direction_[c]);
            }
            over_weights(next, [&](index_t at, index_t pair, index_t c) {
                const V a = load_as<T, V>(length + c);
                const V x = load_as<T, V>(solution_ + at) + a * load_as<T, V>(direction_ + pair);
                const V r = load_as<T, V>(residual_ + at) - a * load_as<T, V>(product_ + pair);
                store_as<T, V>(solution_ + at, x);
                store_as<T, V>(residual_ + at, r);
                return r * (r * load_as<T, V>(preconditioner_ + at));
            });
            for (index_t c = 0; c < p_.width; ++c) {
                next[c] += bias_residual_[c] * bias_residual_[c] * bias_preconditioner_[c];
                share_[c] = T(open_[c] ? next[c] / size_[c] : 0.0);
                size_[c] = next[c];
                open_[c] = open_[c] && next[c] > goal_[c];
            }
        }
    }

    bool any_open() const {
        bool any = false;
        for (index_t c = 0; c < p_.width; ++c) any |= open_[c];
        return any;
    }

    void move() {
        const DualTask<T> end = with(solution_, p_.width);
        alignas(64) T bias[most_units], share[most_units], far[most_units] = {},
                                                           nonfinite[most_units] = {};
        for (index_t c = 0; c < p_.width; ++c) bias[c] = T(bias_solution_[c]);
        Sums changed, none;
        over_rows(&end, nullptr, none, none, [&](index_t i, V z, index_t c, V&, V&) {
            const Row row(p_, i, c);
            T* off = off_ + i * p_.width + c;
            const V to = load_as<T, V>(off) + row.t * (z + load_as<T, V>(bias + c));
            const V moves = select(here(i, c), to, V{});
            store_as<T, V>(off, moves);
            store_as<T, V>(far + c, max(load_as<T, V>(far + c), absolute<T, V>(moves)));
            store_as<T, V>(nonfinite + c,
                           load_as<T, V>(nonfinite + c) + (moves - moves));  // stays NaN
        });
        for (index_t c = 0; c < p_.width; ++c) {
            step_.length[c] = far[c] > trust_radius ? trust_radius / double(far[c]) : 1.0;
            if (!(nonfinite[c] == T(0)) || step_.length[c] < least_length) step_.length[c] = 0.0;
            share[c] = T(step_.length[c]);
        }
        over_rows(nullptr, &p_, changed, none, [&](index_t i, V, index_t c, V& one, V&) {
            const Row row(p_, i, c);
            const V part = load_as<T, V>(share + c), off = load_as<T, V>(off_ + i * p_.width + c);
            const mask_of<V> mine = here(i, c) & (part > T(0));
            const V to = row.rule.dual + part * off;
            const V alpha = LogisticDual::alpha_of<T, V>(to), rise = alpha - row.rule.a;
            const V change = rounded(select(mine, row.C * row.t * rise, V{}));
            store_as<T, V>(p_.duals + i * p_.width + c, select(mine, to, row.rule.dual));
            store_as<T, V>(p_.alphas + i * p_.width + c, select(mine, alpha, row.rule.a));
            store_as<T, V>(change_ + c, change);
            one += change;
        });
        for (index_t c = 0; c < p_.width; ++c) {
            step_.change[c] -= changed[c];
            if (share[c] > T(0)) step_.bias[c] += double(share[c]) * bias_solution_[c];
        }
    }

    const DualTask<T>& p_;
    const NewtonStep<T>& step_;
    index_t rows_, features_, vectors_, stride_;
    T *direction_, *product_;  // (features, width), interleaved: rows need both together
    T *residual_, *solution_, *preconditioner_;  // (features, width)
    T *curvature_, *off_;                        // (rows, width): h, and m - u
    alignas(64) T change_[most_units] = {};
    alignas(64) T share_[most_units];  // fraction of the last direction in the next one
    double bias_direction_[most_units], bias_residual_[most_units], bias_solution_[most_units],
        bias_preconditioner_[most_units], size_[most_units], goal_[most_units];
    bool open_[most_units];
};

template <class T>
void newton_step(const DualTask<T>& task, const NewtonStep<T>& step) {
    if (task.width == 1)
        ColumnNewtonStep<T, T>(task, step).run();
    else
        ColumnNewtonStep<T, vec<T>>(task, step).run();
}

}  // namespace SX_ISA
}  // namespace sx
