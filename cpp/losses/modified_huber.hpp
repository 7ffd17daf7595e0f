// The modified Huber loss of one output: value, gradient, Hessian, conjugate and dual.
#pragma once

#include "losses/dual_row.hpp"
#include "losses/lanes.hpp"
#include "losses/loss.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    alpha in [0, 4] that maximises alpha (1 - m) - alpha^2 / 4 - q d^2 / 2, where d is its
//            change.
// Given      kept: alpha.
// On return  a step to the maximum, within the bounds.
struct ModifiedHuberDual : MarginDualTraits {
    static constexpr double most = 4.0;  // of an alpha

    template <class T, class V>
    struct Row {
        static constexpr bool keeps_alpha = false;
        V a, inverse;

        SX_INLINE Row(V dual, V q) : a(dual), inverse(T(1) / (q + T(0.5))) {}

        SX_INLINE ColumnStep<V> solve(V m, T) const {
            const V zero{}, high = broadcast_as<T, V>(T(most)), lack = T(1) - m;
            const V slope = T(0.5) * a - lack;
            const V next = min(max(a - slope * inverse, zero), high);
            // Loss and conjugate are both a lack - a^2 / 4, at the best alpha and at the old one.
            const V best = min(T(2) * positive_part(lack), high);
            return {next,  next - a,  (best - a) * (lack - T(0.25) * (best + a)),
                    slope, a <= T(0), a >= T(most)};
        }
    };

    template <class T>
    static void encode(index_t own, index_t, const double* U, T* kept) {
        encode_margin_column(own, U, most, kept);
    }

    template <class T>
    static void decode(index_t own, index_t, const T* kept, double* U) {
        decode_margin_column(own, kept, U);
    }
};

// Problem    with m = 1 - t z, t = +-1: max(0, m)^2 if m <= 2, and 4 (m - 1) otherwise.
// Given      the scores and the labels.
// On return  the loss a m - a^2 / 4 with a = 2 min(max(m, 0), 2). The gradient is -t a, and the
//            Hessian 2 where 0 <= m <= 2. The comparisons pass NaN on.
// See        Zhang, Solving large scale linear prediction problems using stochastic gradient
//            descent algorithms, 2004.
struct ModifiedHuber : LossDescriptor {
    static constexpr bool has_conjugate = true;
    static constexpr AlphaBound alpha_bound = AlphaBound::each;
    static constexpr double most_alpha = ModifiedHuberDual::most;
    static double conjugate_term(double alpha, double) {
        const double a = std::min(alpha, most_alpha);
        return 0.25 * a * a - a;
    }
    using ColumnDual = ModifiedHuberDual;

    template <class T>
    static SX_INLINE void loss_binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0), t = sign_of<T>(lane.y);
        const vec<T> m = T(1) - t * z;
        const vec<T> inside = select(m > T(2), broadcast<T>(2), m);
        const vec<T> a = T(2) * select(inside < T(0), vec<T>{}, inside);
        lane.loss = select(m < T(0), vec<T>{}, a * (m - T(0.25) * a));
        lane.hit = binary_hit<T>(lane.y, z);
        if (lane.gradient) lane.put(0, -t * a * lane.weight);
    }

    template <class T>
    static SX_INLINE void hessian_binary(HessianLanes<T>& lane) {
        const vec<T> m = T(1) - sign_of<T>(lane.y) * lane.at(0);
        const mask<T> curved = (m >= T(0)) & (m <= T(2));
        lane.put_product(0, select(curved, T(2) * lane.direction(0) * lane.weight, vec<T>{}));
    }
};

}  // namespace SX_ISA
}  // namespace sx
