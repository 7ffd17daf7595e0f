// The hinge, the perceptron's loss and the squared hinge: value, gradient, Hessian, conjugate and
// dual.
#pragma once

#include "losses/dual_row.hpp"
#include "losses/lanes.hpp"
#include "losses/loss.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    one output: max(0, margin - t z), t = +-1; several: the sum over j != y of max(0,
//            margin + z_j - z_y). Each term is squared for the squared hinge.
// Given      the scores, the labels, the margin.
// On return  the loss. In the gradient a term that is exactly 0 counts as violated: otherwise a
//            model that starts from zero would never move. The comparisons pass NaN on.
// See        Weston and Watkins, Support vector machines for multi-class pattern recognition, 1999.
template <bool squared>
struct MarginLoss : LossDescriptor {
    static constexpr bool has_conjugate = true;

    template <class T>
    static SX_INLINE void loss_binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0), t = sign_of<T>(lane.y);
        const vec<T> m = lane.margin - t * z;
        const vec<T> term = select(m < T(0), vec<T>{}, m);
        lane.loss = squared ? term * term : term;
        // Without a margin a tie is class 1, as in the perceptron's rule.
        lane.hit = lane.margin == T(0) ? select(z >= T(0), lane.y, T(1) - lane.y)
                                       : binary_hit<T>(lane.y, z);
        if (!lane.gradient) return;
        const vec<T> slope = squared ? T(2) * term : one_where<T>(m >= T(0));
        lane.put(0, -t * slope * lane.weight);
    }

    template <class T>
    static SX_INLINE void loss_multiclass(LossLanes<T>& lane) {
        const vec<T> zero = {};
        const Leader<T> leader = find_leader<false>(lane);
        vec<T> loss = zero, sum = zero, number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> m = lane.margin + (lane.at(k) - leader.label);
            const mask<T> spared = (m < T(0)) | (number == lane.y);
            const vec<T> term = select(spared, zero, m);
            const vec<T> slope = squared ? T(2) * term : select(spared, zero, broadcast<T>(1));
            loss += squared ? term * term : term;
            sum += slope;
            lane.put(k, slope * lane.weight);
        }
        lane.loss = loss;
        lane.hit = one_where<T>(leader.first == lane.y);
        if (!lane.gradient) return;
        number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.put(k, select(number == lane.y, -sum * lane.weight, lane.at(k)));
    }
};

// Problem    alpha in [0, 1] that maximises alpha (margin - m) - q d^2 / 2, where d is its change.
// Given      kept: alpha.
// On return  a step to the maximum, within the bounds.
// See        Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
//            large-scale linear SVM, 2008.
struct HingeColumnDual : MarginDualTraits {
    template <class T, class V>
    struct Row {
        static constexpr bool keeps_alpha = false;
        static constexpr T least_q =
            sizeof(T) == 8 ? T(1e-150) : T(1e-18);  // for rows without entries, where q is 0
        V a, inverse;

        SX_INLINE Row(V dual, V q) : a(dual), inverse(T(1) / max(q, broadcast_as<T, V>(least_q))) {}

        SX_INLINE ColumnStep<V> solve(V m, T margin) const {
            const V zero{}, one = broadcast_as<T, V>(1), slope = m - margin;
            const V next = min(max(a - slope * inverse, zero), one);
            return {next, next - a, positive_part(-slope) + a * slope, slope, a <= T(0), a >= T(1)};
        }
    };

    template <class T>
    static void encode(index_t own, index_t, const double* U, T* kept) {
        encode_margin_column(own, U, 1.0, kept);
    }

    template <class T>
    static void decode(index_t own, index_t, const T* kept, double* U) {
        decode_margin_column(own, kept, U);
    }
};

// Problem    alpha >= 0 that maximises alpha (margin - m) - alpha^2 / 4 - q d^2 / 2, where d is its
//            change.
// Given      kept: alpha.
// On return  a step to the maximum, not below 0.
// See        Hsieh et al. 2008.
struct SquaredHingeColumnDual : MarginDualTraits {
    template <class T, class V>
    struct Row {
        static constexpr bool keeps_alpha = false;
        V a, inverse;

        SX_INLINE Row(V dual, V q) : a(dual), inverse(T(1) / (q + T(0.5))) {}

        SX_INLINE ColumnStep<V> solve(V m, T margin) const {
            const V half = T(0.5) * a, lack = margin - m, slope = half - lack;
            const V next = max(a - slope * inverse, V{}), miss = positive_part(lack) - half;
            return {next,  next - a,  miss * miss + a * positive_part(-lack),
                    slope, a <= T(0), a != a};
        }
    };

    template <class T>
    static void encode(index_t own, index_t, const double* U, T* kept) {
        encode_margin_column(own, U, unbounded, kept);
    }

    template <class T>
    static void decode(index_t own, index_t, const T* kept, double* U) {
        decode_margin_column(own, kept, U);
    }
};

// Problem    the sum over wrong outputs of max(0, m + z_j - z_y), or of its square. With A the sum
//            of the alphas and c_j = m + z_j - z_y + q (a_j + A) from the old alphas, the best
//            alphas are a_j = clip((c_j - q A) / r), with r = q and clip to [0, 1] for the hinge,
//            and r = q + 1/2 and clip to [0, inf) for its square.
// Given      kept: the alphas.
// On return  the new alphas. A is the only root of sum_j a_j(A) = A, found by Newton's method with
//            a bracket. The result is exact: the iteration ends when the set of alphas at their
//            bounds no longer changes.
// See        Weston and Watkins, Support vector machines for multi-class pattern recognition, 1999.
template <bool squared>
struct MarginDual : MarginDualTraits {
    static constexpr double most = squared ? unbounded : 1.0;  // of an alpha

    template <class T>
    static void encode(index_t own, index_t outputs, const double* U, T* kept) {
        encode_margin_outputs(own, outputs, U, most, kept);
    }

    template <class T>
    static void decode(index_t own, index_t outputs, const T* kept, double* U) {
        decode_margin_outputs(own, outputs, kept, unbounded, U);
    }

    template <class T>
    static SX_INLINE void solve(OutputRow<T>& row) {
        const Margins<T> before = Margins<T>::of(row);
        const vec<T> zero = {};
        const T cap = squared ? T(__builtin_inf()) : T(1);
        const T q = row.q > least(row) ? row.q : least(row), r = squared ? q + T(0.5) : q;
        T* c = row.scratch;
        vec<T> gap = {}, slope = {}, free = {};
        for_outputs(
            row, [&](index_t k, mask<T> present, mask<T> own) __attribute__((always_inline)) {
                const mask<T> wrong = present & ~own;
                const vec<T> a = select(wrong, load<T>(row.kept + k), zero);
                const vec<T> term =
                    select(wrong, row.margin + (load<T>(row.z + k) - before.label), zero);
                const vec<T> above = select(term < T(0), zero, term);
                vec<T> lost, rise;
                if constexpr (squared) {
                    const vec<T> miss = above - T(0.5) * a;
                    lost = miss * miss + a * (above - term);
                    rise = term - T(0.5) * a;
                } else {
                    lost = above - a * term;
                    rise = term;
                }
                const mask<T> bound = (a <= T(0)) & (rise < T(0));
                const mask<T> top = (a >= cap) & (rise > T(0));
                gap += select(wrong, lost, zero);
                slope = max(select(wrong & ~bound & ~top, abs<T>(rise), zero), slope);
                free += select(wrong & ~((bound | top) & (abs<T>(rise) > row.high)),
                               broadcast<T>(1), zero);
                store<T>(c + k,
                         select(wrong, term + q * (a + before.total), broadcast<T>(T(-huge_term))));
            });
        row.gap = sum_lanes<T>(gap);
        row.slope = max_lanes<T>(slope);
        row.shrink = sum_lanes<T>(free) == T(0);
        const T total = root(row, c, q, r, cap, before.total);
        for (index_t k = 0; k < row.padded; k += lanes<T>)
            store<T>(row.next + k,
                     min(max((load<T>(c + k) - q * total) / r, zero), broadcast<T>(cap)));
        change_alphas(row);
    }

    // A row without entries has q = 0, which cannot be divided by. A larger q only makes smaller
    // steps.
    template <class T>
    static SX_INLINE T least(const OutputRow<T>&) {
        return squared ? T(0) : sizeof(T) == 8 ? T(1e-10) : T(1e-5);
    }

    template <class T>
    static SX_INLINE T root(const OutputRow<T>& row, const T* c, T q, T r, T cap, T guess) {
        T low = 0, high = squared ? T(__builtin_inf()) : T(row.outputs - 1), total = guess;
        for (int iteration = 0; iteration < max_iterations; ++iteration) {
            vec<T> sum = {}, inside = {};
            for (index_t k = 0; k < row.padded; k += lanes<T>) {
                const vec<T> a = (load<T>(c + k) - q * total) / r;
                sum += min(max(a, vec<T>{}), broadcast<T>(cap));
                inside += select((a > T(0)) & (a < cap), broadcast<T>(1), vec<T>{});
            }
            const T excess = sum_lanes<T>(sum) - total;
            if (excess == T(0)) return total;
            (excess > T(0) ? low : high) = total;
            T next = total + excess / (T(1) + sum_lanes<T>(inside) * q / r);
            if (!(next >= low && next <= high)) next = T(0.5) * (low + high);
            if (next == total || !(next == next)) return total;
            total = next;
        }
        return total;
    }
};

struct Hinge : MarginLoss<false> {
    static constexpr AlphaBound alpha_bound = AlphaBound::each;
    static double conjugate_term(double alpha, double margin) {
        return -(margin * std::min(alpha, 1.0));
    }
    using ColumnDual = HingeColumnDual;
    using CoupledDual = MarginDual<false>;
};

// Problem    the second derivative of max(0, margin - t z)^2, and of the sum over j != y of max(0,
//            margin + z_j - z_y)^2: twice the Laplacian of a star.
// Given      the scores, the labels, the margin.
// On return  products with a direction. A term that is exactly 0 counts as violated, as in the
//            gradient.
struct SquaredHinge : MarginLoss<true> {
    static constexpr HessianCoupling coupling = HessianCoupling::star;
    static constexpr AlphaBound alpha_bound = AlphaBound::none;
    static double conjugate_term(double alpha, double margin) {
        return 0.25 * alpha * alpha - margin * alpha;
    }
    using ColumnDual = SquaredHingeColumnDual;
    using CoupledDual = MarginDual<true>;

    template <class T>
    static SX_INLINE void hessian_binary(HessianLanes<T>& lane) {
        const vec<T> m = lane.margin - sign_of<T>(lane.y) * lane.at(0);
        lane.put_product(0, select(m >= T(0), T(2) * lane.direction(0) * lane.weight, vec<T>{}));
    }

    template <class T>
    static SX_INLINE void hessian_multiclass(HessianLanes<T>& lane) {
        const vec<T> zero = {};
        vec<T> score = zero, direction = zero, sum = zero, number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            score = select(number == lane.y, lane.at(k), score);
            direction = select(number == lane.y, lane.direction(k), direction);
        }
        number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> m = lane.margin + (lane.at(k) - score);
            const mask<T> counts = (m >= T(0)) & (number != lane.y);
            const vec<T> term = select(counts, T(2) * (lane.direction(k) - direction), zero);
            sum += term;
            lane.put_product(k, term * lane.weight);
        }
        number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.put_product(k, select(number == lane.y, -sum * lane.weight, lane.direction(k)));
    }
};

}  // namespace SX_ISA
}  // namespace sx
