// The cross-entropy of a softmax, with an output for every class or for all but class 0: value,
// gradient, Hessian, conjugate and dual.
#pragma once

#include "losses/logistic.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    for the cross-entropy: u = z + q (a - softmax(u)), then a = softmax(u); U = a - e_y.
//            With `reference`, the softmax includes one more score, which is 0.
// Given      kept: the logits u of the last visit.
// On return  the result of two Newton steps, or more if these are not precise enough. The matrix is
//            1 + q (diag(p) - p p^T): a diagonal plus a matrix of rank one, which is easy to
//            invert.
// See        Yu, Huang and Lin 2011, section 4.
template <bool reference>
struct SoftmaxDual {
    static constexpr bool entropy = true, shrinks = false, keeps_logit = false;
    static constexpr double bias_move = 0.1;

    template <class T>
    static void encode(index_t own, index_t outputs, const double* U, T* kept) {
        double rest = 1.0;
        if (reference) {
            rest = own < 0;
            for (index_t k = 0; k < outputs; ++k) rest -= U[k];
        }
        for (index_t k = 0; k < outputs; ++k)
            kept[k] = T(safe_logit(k == own ? 1.0 + U[k] : U[k], rest));
    }

    template <class T>
    static void decode(index_t own, index_t outputs, const T* kept, double* U) {
        double top = reference ? 0.0 : -unbounded;
        for (index_t k = 0; k < outputs; ++k) top = std::max(top, double(kept[k]));
        double total = reference ? std::exp(-top) : 0.0, wrong = 0;
        if (reference && own >= 0) wrong = total;
        for (index_t k = 0; k < outputs; ++k) {
            U[k] = std::exp(double(kept[k]) - top);
            total += U[k];
            if (k != own) wrong += U[k];
        }
        for (index_t k = 0; k < outputs; ++k) U[k] = k == own ? -wrong / total : U[k] / total;
    }

    // The squared relative error allowed in the step from a to p: 10 %. Later visits correct it.
    static constexpr double precision_squared = 0.01;
    static constexpr int max_iterations = 50;  // Newton's method, if two steps were not enough
    static constexpr int max_halvings = 30;    // of one step: smaller steps are lost in rounding

    // p = softmax(u) on the outputs, 0 beyond. Returns log sum exp(u) and the probability of the
    // reference.
    template <class T>
    struct Shares {
        T log_sum, rest;
    };

    template <bool want_log, class T>
    static SX_INLINE Shares<T> shares(const OutputRow<T>& row, const T* u, T* p) {
        const vec<T> lowest = broadcast<T>(-T(__builtin_inf()));
        vec<T> top = reference ? vec<T>{} : lowest;
        for_outputs(row, [&](index_t k, mask<T> present, mask<T>) __attribute__((always_inline)) {
            top = max(select(present, load<T>(u + k), lowest), top);
        });
        const T peak = max_lanes<T>(top);
        vec<T> sum = {};
        for_outputs(row, [&](index_t k, mask<T> present, mask<T>) __attribute__((always_inline)) {
            const vec<T> e = select(present, exp<T>(load<T>(u + k) - peak), vec<T>{});
            sum += e;
            store<T>(p + k, e);
        });
        T rest = 0, total = sum_lanes<T>(sum);
        if constexpr (reference) {
            rest = exp<T>(broadcast<T>(-peak))[0];
            total += rest;
        }
        const T share = T(1) / total;
        for (index_t k = 0; k < row.padded; k += lanes<T>) store<T>(p + k, load<T>(p + k) * share);
        T log_sum = 0;
        if constexpr (want_log)
            log_sum = peak + log1p<T>(broadcast<T>(total > T(1) ? total - T(1) : T(0)))[0];
        return {log_sum, rest * share};
    }

    // g = u - z + q (p - a) on the outputs, 0 beyond. Returns whether the error of the step from a
    // to p may exceed 10 %.
    template <class T>
    static SX_INLINE bool residual(const OutputRow<T>& row, const T* u, const T* p, const T* a,
                                   T noise, T* g) {
        vec<T> miss = {}, step = {};
        for_outputs(row, [&](index_t k, mask<T> present, mask<T>) __attribute__((always_inline)) {
            const vec<T> moved = row.q * (load<T>(p + k) - load<T>(a + k));
            const vec<T> mine =
                select(present, (load<T>(u + k) - load<T>(row.z + k)) + moved, vec<T>{});
            miss += mine * mine;
            step += moved * moved;
            store<T>(g + k, mine);
        });
        const T enough = T(precision_squared) * sum_lanes<T>(step);
        return sum_lanes<T>(miss) > (enough > noise * noise ? enough : noise * noise);
    }

    // Replaces g by the Newton step, which is to be subtracted from u.
    template <class T>
    static SX_INLINE void newton(const OutputRow<T>& row, const T* p, T rest, T* g) {
        vec<T> shared = {}, below = {};
        for (index_t k = 0; k < row.padded; k += lanes<T>) {
            const vec<T> part = load<T>(p + k) / (row.q * load<T>(p + k) + T(1));
            shared += part * load<T>(g + k);
            below += part;
        }
        // Computes 1 - q sum p^2 / (1 + q p) without cancellation.
        const T common = row.q * sum_lanes<T>(shared) / (sum_lanes<T>(below) + rest);
        for (index_t k = 0; k < row.padded; k += lanes<T>) {
            const vec<T> mine = load<T>(p + k);
            store<T>(g + k, (load<T>(g + k) + mine * common) / (row.q * mine + T(1)));
        }
    }

    template <class T>
    static SX_INLINE void subtract(const OutputRow<T>& row, const T* from, const T* g, T times,
                                   T* to) {
        for (index_t k = 0; k < row.padded; k += lanes<T>)
            store<T>(to + k, load<T>(from + k) - times * load<T>(g + k));
    }

    template <class T>
    static SX_INLINE void solve(OutputRow<T>& row) {
        T *a = row.scratch, *p = a + row.padded, *g = p + row.padded;
        T rest = shares<false>(row, row.kept, a).rest;
        // p = a, so the residual is u - z.
        vec<T> first = {}, second = {}, size = {};
        for_outputs(row, [&](index_t k, mask<T> present, mask<T>) __attribute__((always_inline)) {
            const vec<T> z = select(present, load<T>(row.z + k), vec<T>{});
            const vec<T> off = select(present, load<T>(row.kept + k) - z, vec<T>{});
            first += load<T>(a + k) * off;
            size += abs<T>(z);
            store<T>(g + k, off);
        });
        // The second-order term of the loss at z minus its tangent at the old u.
        const T others = T(1) - rest, mean = others > T(0) ? sum_lanes<T>(first) / others : T(0);
        for (index_t k = 0; k < row.padded; k += lanes<T>) {
            const vec<T> off = load<T>(g + k) - mean;
            second += load<T>(a + k) * off * off;
        }
        row.gap = T(0.5) * (sum_lanes<T>(second) + rest * others * mean * mean);
        constexpr T rounding = sizeof(T) == 8 ? T(1e-14) : T(1e-6);
        const T noise = rounding * (sum_lanes<T>(size) + row.q);
        newton(row, a, rest, g);
        subtract(row, row.kept, g, T(1), row.next);
        rest = shares<false>(row, row.next, p).rest;
        residual(row, row.next, p, a, noise, g);
        newton(row, p, rest, g);
        subtract(row, row.next, g, T(1), row.next);
        rest = shares<false>(row, row.next, p).rest;
        if (residual(row, row.next, p, a, noise, g)) refine(row, rest, noise);
        for (index_t k = 0; k < row.padded; k += lanes<T>)
            store<T>(row.change + k, row.C * (load<T>(a + k) - load<T>(p + k)));
        row.slope = 0;
        row.shrink = false;
    }

    // |u - z - q a|^2 / 2 + q log sum exp(u). Its gradient is the residual.
    template <class T>
    static SX_INLINE T value(const OutputRow<T>& row, const T* u, const T* a, T log_sum) {
        vec<T> sum = {};
        for_outputs(row, [&](index_t k, mask<T> present, mask<T>) __attribute__((always_inline)) {
            const vec<T> miss = load<T>(u + k) - load<T>(row.z + k) - row.q * load<T>(a + k);
            const vec<T> mine = select(present, miss, vec<T>{});
            sum += mine * mine;
        });
        return T(0.5) * sum_lanes<T>(sum) + row.q * log_sum;
    }

    // Newton's method, with steps that are halved until the value falls: for large q the full steps
    // may oscillate. `change` holds the trial point.
    template <class T>
    static __attribute__((noinline, cold)) void refine(const OutputRow<T>& row, T rest, T noise) {
        T *a = row.scratch, *p = a + row.padded, *g = p + row.padded, *trial = row.change;
        T here = value(row, row.next, a, shares<true>(row, row.next, p).log_sum);
        for (int iteration = 0; iteration < max_iterations; ++iteration) {
            newton(row, p, rest, g);
            T times = 1, there = here;
            for (int half = 0; half < max_halvings; ++half, times *= T(0.5)) {
                subtract(row, row.next, g, times, trial);
                const Shares<T> found = shares<true>(row, trial, p);
                there = value(row, trial, a, found.log_sum);
                rest = found.rest;
                if (there <= here) break;
            }
            if (!(there <= here)) {  // the differences are rounding errors
                shares<false>(row, row.next, p);
                return;
            }
            for (index_t k = 0; k < row.padded; k += lanes<T>)
                store<T>(row.next + k, load<T>(trial + k));
            here = there;
            if (!residual(row, row.next, p, a, noise, g)) return;
        }
    }
};

// Problem    log(sum_j exp(z_j)) - z_y; with `reference`, class 0 has the score 0 and no output.
// Given      the scores and the labels.
// On return  the loss and its gradient: p_j, and p_y - 1 at y. The sum over the classes other than
//            y is kept separately, so that neither the loss nor p_y - 1 loses digits if y is almost
//            certain.
template <bool reference>
struct SoftmaxLoss : LossDescriptor {
    static constexpr bool has_conjugate = true, entropy = true;
    using CoupledDual = SoftmaxDual<reference>;

    template <class T>
    static SX_INLINE void loss_multiclass(LossLanes<T>& lane) {
        const vec<T> zero = {};
        const Leader<T> leader = find_leader<reference>(lane);
        vec<T> others = zero, label = zero, number = zero;
        if constexpr (reference) {
            const vec<T> e = exp<T>(-leader.top);
            others = select(lane.y == zero, zero, e);
            label = select(lane.y == zero, e, zero);
            number += T(1);
        }
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> e = exp<T>(lane.at(k) - leader.top);
            const mask<T> is_label = number == lane.y;
            others += select(is_label, zero, e);
            label = select(is_label, e, label);
            lane.put(k, e);
        }
        // The sum of all terms minus the leader's 1. This is exact if the label leads. If not, the
        // loss is at least log 2 and the subtraction is harmless.
        const vec<T> rest = select(leader.label == leader.top, others, (others - T(1)) + label);
        lane.loss = (leader.top - leader.label) + log1p<T>(rest);
        lane.hit = one_where<T>(leader.first == lane.y);
        if (!lane.gradient) return;
        const vec<T> share = lane.weight / (others + label);
        number = reference ? broadcast<T>(1) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.put(k, share * select(number == lane.y, -others, lane.at(k)));
    }

    // Problem    the second derivative of log(sum_j exp(z_j)): p_j (v_j - sum_k p_k v_k); with
    //            `reference`, class 0 has the score 0, the direction 0 and no output.
    // Given      the scores.
    // On return  the products. The direction of the leading class is subtracted from all
    //            directions, and the product of the leader is minus the sum of the others. This
    //            loses no digits if the leader is almost certain, and a common shift of all
    //            directions gives exactly 0.
    template <class T>
    static SX_INLINE void hessian_multiclass(HessianLanes<T>& lane) {
        const vec<T> zero = {};
        const Leader<T> leader = find_leader<reference>(lane);
        vec<T> centre = zero, number = reference ? broadcast<T>(1) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            centre = select(number == leader.first, lane.direction(k), centre);
        vec<T> total = broadcast<T>(1), mean = zero;
        const vec<T> absent = select(leader.first == zero, zero, exp<T>(-leader.top));
        if constexpr (reference) {
            total += absent;
            mean = absent * -centre;
        }
        number = reference ? broadcast<T>(1) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> e = select(number == leader.first, zero, exp<T>(lane.at(k) - leader.top));
            const vec<T> v = lane.direction(k) - centre;
            total += e;
            mean += e * v;
            lane.put(k, e);
            lane.put_product(k, v);
        }
        mean /= total;
        const vec<T> share = lane.weight / total;
        vec<T> sum = reference ? absent * (-centre - mean) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k) {
            const vec<T> term = lane.at(k) * (lane.direction(k) - mean);
            sum += term;
            lane.put_product(k, term * share);
        }
        number = reference ? broadcast<T>(1) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.put_product(k, select(number == leader.first, -sum * share, lane.direction(k)));
    }
};

using Softmax = SoftmaxLoss<false>;

// With one output this is the logistic loss.
struct SoftmaxReference : SoftmaxLoss<true> {
    static constexpr bool shift_invariant = false;
    static constexpr int first_class = 1;
    using ColumnDual = LogisticDual;
};

}  // namespace SX_ISA
}  // namespace sx
