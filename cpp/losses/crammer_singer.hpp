// The loss of Crammer and Singer: value, gradient, conjugate and dual.
#pragma once

#include "losses/dual_row.hpp"
#include "losses/lanes.hpp"
#include "losses/loss.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    the worst wrong output, max(0, m + z_j - z_y). With c_j = m + z_j - z_y + q (a_j + sum
//            a) from the old alphas, the best alphas are a_j = max(0, c_j - theta) / q, where theta
//            solves sum_j a_j = min(theta / q, 1).
// Given      kept: the alphas, whose sum is at most 1.
// On return  the new alphas: a projection on the simplex. The left side is convex in theta, so
//            Newton's method from the left never overshoots.
// See        Crammer and Singer, On the algorithmic implementation of multiclass kernel-based
//            vector machines, 2001.
struct CrammerSingerDual : MarginDualTraits {
    template <class T>
    static void encode(index_t own, index_t outputs, const double* U, T* kept) {
        encode_margin_outputs(own, outputs, U, unbounded, kept);
    }

    template <class T>
    static void decode(index_t own, index_t outputs, const T* kept, double* U) {
        decode_margin_outputs(own, outputs, kept, 1.0, U);
    }

    template <class T>
    static SX_INLINE void solve(OutputRow<T>& row) {
        const Margins<T> before = Margins<T>::of(row);
        const vec<T> zero = {}, lowest = broadcast<T>(T(-huge_term));
        constexpr T least = sizeof(T) == 8 ? T(1e-10) : T(1e-5);
        const T q = row.q > least ? row.q : least;
        T* c = row.scratch;
        vec<T> paid = {}, worst = {}, best = lowest, second = lowest, used = {};
        vec<T> lowest_carrier = broadcast<T>(T(huge_term));
        for_outputs(row, [&](index_t k, mask<T> present,
                             mask<T> own) __attribute__((always_inline)) {
            const mask<T> wrong = present & ~own;
            const vec<T> a = select(wrong, load<T>(row.kept + k), zero);
            const vec<T> term =
                select(wrong, row.margin + (load<T>(row.z + k) - before.label), lowest);
            const mask<T> carries = a > T(0);
            paid += select(carries, a * term, zero);
            worst = max(term, worst);
            lowest_carrier = min(select(carries, term, broadcast<T>(T(huge_term))), lowest_carrier);
            best = max(term, best);
            second = max(select(carries, lowest, term), second);
            used += select(carries, broadcast<T>(1), zero);
            store<T>(c + k, select(wrong, term + q * (a + before.total), lowest));
        });
        const T top = max_lanes<T>(worst), least_used = -max_lanes<T>(-lowest_carrier);
        const T carriers = sum_lanes<T>(used), idle = max_lanes<T>(second);
        row.gap = top - sum_lanes<T>(paid);
        // The slack 1 - sum a acts as one more output with the term 0. At the optimum all outputs
        // with a positive alpha have the highest term.
        const bool slack = before.total < T(1);
        const T lowest_used = slack && T(0) < least_used ? T(0) : least_used;
        row.slope = top - lowest_used;
        const T next_best = slack ? idle : idle > T(0) ? idle : T(0);
        row.shrink = carriers + T(slack) == T(1) && lowest_used - next_best > row.high;
        project(row, c, q);
        change_alphas(row);
    }

    template <class T>
    static SX_INLINE void project(const OutputRow<T>& row, const T* c, T q) {
        T theta = 0, whole = 0;
        // First solves sum max(0, c - theta) = theta and, if theta is above q, sum max(0, c -
        // theta) = q.
        for (int bounded = 0; bounded < 2; ++bounded) {
            for (int iteration = 0; iteration < max_iterations; ++iteration) {
                vec<T> sum = {}, inside = {};
                for (index_t k = 0; k < row.padded; k += lanes<T>) {
                    const vec<T> a = load<T>(c + k) - theta;
                    sum += max(a, vec<T>{});
                    inside += select(a > T(0), broadcast<T>(1), vec<T>{});
                }
                const T count = sum_lanes<T>(inside);
                whole = sum_lanes<T>(sum);
                const T excess = whole - (bounded ? q : theta);
                const T next = theta + excess / (bounded ? count : count + T(1));
                if (!(next > theta)) break;
                theta = next;
            }
            if (theta <= q) break;
        }
        // In the second case the alphas must add up to 1 in spite of rounding.
        const T unit = theta > q && whole > T(0) ? whole : q;
        for (index_t k = 0; k < row.padded; k += lanes<T>)
            store<T>(row.next + k, max(load<T>(c + k) - theta, vec<T>{}) / unit);
    }
};

// Problem    max over j != y of max(0, margin + z_j - z_y).
// Given      the scores, the labels, the margin.
// On return  the loss; the gradient is non-zero only at y and at the first of the worst j.
// See        Crammer and Singer, On the algorithmic implementation of multiclass kernel-based
//            vector machines, 2001.
struct CrammerSinger : LossDescriptor {
    static constexpr bool has_conjugate = true;
    static double conjugate_sum(double, double total, double margin) {
        return -margin * std::min(total, 1.0);
    }
    using CoupledDual = CrammerSingerDual;

    template <class T>
    static SX_INLINE void loss_multiclass(LossLanes<T>& lane) {
        const vec<T> zero = {};
        const Leader<T> leader = find_leader<false>(lane);
        vec<T> worst = broadcast<T>(-T(__builtin_inf())), rival = zero, number = zero,
               broken = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> z = lane.at(k);
            const mask<T> worse = (z > worst) & (number != lane.y);
            worst = select(worse, z, worst);
            rival = select(worse, number, rival);
            broken = select(z == z, broken, z);  // max ignores NaN, so it is recorded here
        }
        const vec<T> m = lane.margin + (worst - leader.label);
        lane.loss = select(m < T(0), zero, m) + broken;
        lane.hit = one_where<T>(leader.first == lane.y);
        if (!lane.gradient) return;
        const vec<T> step = select(m < T(0), zero, lane.weight);
        number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.put(k, select(number == lane.y, -step, select(number == rival, step, zero)));
    }
};

}  // namespace SX_ISA
}  // namespace sx
