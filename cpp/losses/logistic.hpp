// The logistic loss of one output: value, gradient, Hessian, conjugate and dual.
#pragma once

#include "losses/dual_row.hpp"
#include "losses/lanes.hpp"
#include "losses/loss.hpp"
#include "losses/sigmoid.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    the new u, which is the new margin, solves F(u) = u - m - q (sigma(-u) - alpha) = 0.
// Given      kept: the logit u, and beside it alpha = sigma(-u), which is expensive to compute.
// On return  the root, so precise that the error of the change of alpha is at most 5 %.
// See        Yu, Huang and Lin, Dual coordinate descent methods for logistic regression and maximum
//            entropy models, 2011.
struct LogisticDual {
    static constexpr bool entropy = true, shrinks = false, keeps_logit = true;
    static constexpr double bias_move = 0.15;

    // sigma(-u)
    template <class T, class V>
    static SX_INLINE V alpha_of(V u) {
        return T(1) / (T(1) + exp_as<T, V>(u));
    }

    template <class T, class V>
    struct Row {
        static constexpr bool keeps_alpha = true;
        static constexpr T rounding = sizeof(T) == 8 ? T(1e-14) : T(1e-6);  // of F, relative
        static constexpr T precision = T(0.05);  // of the change of alpha; later visits correct it
        static constexpr int max_iterations = 100;  // Newton's method; no row has needed as many
        static constexpr int bisect_every = 3;  // iterations, so that the bracket always shrinks
        // `first_guess` is used below this alpha and above this q, where the series fails.
        static constexpr T small_alpha = T(1e-3), large_q = T(4);
        static constexpr T lowest_least = T(-30);  // exp(-least) is then still far from overflow
        V dual, q, a, curved, inverse;

        SX_INLINE Row(V dual, V alpha, V q)
            : dual(dual), q(q), a(alpha), curved(a - a * a), inverse(T(1) / (q * curved + T(1))) {}

        SX_INLINE ColumnStep<V> solve(V m, T) const {
            const V off = dual - m, least = m - q * a, most = least + q;
            // Makes a Newton step with the next term of the Taylor series. Newton's method
            // continues for the few rows that need it, mostly in the first epochs.
            const V step = off * inverse;
            const V second_order = T(0.5) * q * curved * (a + a - T(1)) * inverse * step;
            V u = min(max(dual - step * (T(1) + second_order), least), most), low = least,
              high = most;
            V alpha_there = alpha_of<T, V>(u);
            const V noise = rounding * (absolute<T, V>(m) + absolute<T, V>(off) + q);
            mask_of<V> open = is_open(u, m, alpha_there, noise);
            for (int iteration = 0;
                 __builtin_expect(word_of<T, V>(open) != 0, 0) && iteration < max_iterations;
                 ++iteration) {
                const V F = (u - m) - q * (alpha_there - a);
                low = select(F < T(0), u, low);
                high = select(F > T(0), u, high);
                const V there = u - F / (q * (alpha_there - alpha_there * alpha_there) + T(1));
                // For large q the sigmoid is almost a step function, and Newton's method would
                // oscillate across it.
                const mask_of<V> inside = (there > low) & (there < high);
                V next = iteration % bisect_every == bisect_every - 1
                             ? T(0.5) * (low + high)
                             : select(inside, there, T(0.5) * (low + high));
                const mask_of<V> far = open & (a < small_alpha) & (q > large_q);
                if (iteration == 0 && word_of<T, V>(far) != 0) {
                    const V jump = first_guess(least);
                    next = select(far & (jump > low) & (jump < high), jump, next);
                }
                u = select(open, next, u);
                alpha_there = select(open, alpha_of<T, V>(u), alpha_there);
                open = open & is_open(u, m, alpha_there, noise);
            }
            // The second-order term of the loss at m minus its tangent at the old u.
            return {u,      alpha_there - a, T(0.5) * off * off * curved, off, m != m,
                    m != m, alpha_there};
        }

        // Returns a first guess of the new u if a is close to 0, as initially for all rows, and q
        // is large. With w = u - least it makes one Newton step for w + least = log((q - w) / w),
        // from the estimate w = log(1 + q exp(-least)).
        SX_INLINE V first_guess(V least) const {
            const V from =
                log1p_as<T, V>(q * exp_as<T, V>(-max(least, broadcast_as<T, V>(lowest_least))));
            const V w = min(from, T(0.5) * q), rest = q - w, one = broadcast_as<T, V>(1);
            const V off = least + w - log1p_as<T, V>((rest - w) / w);
            return least + (w - off / (one + one / w + one / rest));
        }

        // Whether the error of the change of a may exceed 5 %. The exact change lies between the
        // change at u and the one that the margin implies, (u - m) / q. They differ by F / q.
        SX_INLINE mask_of<V> is_open(V u, V m, V there, V noise) const {
            const V moved = q * (there - a);
            return absolute<T, V>((u - m) - moved) > max(precision * absolute<T, V>(moved), noise);
        }
    };

    template <class T>
    static void encode(index_t own, index_t, const double* U, T* kept) {
        const double a = not_negative(own == 0 ? -*U : *U);
        *kept = T(safe_logit(1.0 - a, a));
    }

    template <class T>
    static void decode(index_t own, index_t, const T* kept, double* U) {
        double a = *kept;
        a = 1.0 / (1.0 + std::exp(a));
        *U = own == 0 ? -a : a;
    }
};

// Problem    log(1 + exp(-t z)), t = +-1.
// Given      the scores and the labels.
// On return  the loss as max(0, -t z) + log1p(exp(-|z|)), which is accurate for small losses and
//            does not overflow. The gradient is -t (1 - p) and the Hessian p (1 - p), where p is
//            the probability of the label.
struct Logistic : LossDescriptor {
    static constexpr bool has_conjugate = true, entropy = true;
    using ColumnDual = LogisticDual;

    template <class T>
    static SX_INLINE void loss_binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0);
        const Sigmoid<T> p = sigmoid<T>(lane.y, z);
        lane.loss = select(p.m < T(0), -p.m, vec<T>{}) + log1p<T>(p.e);
        lane.hit = binary_hit<T>(lane.y, z);
        if (lane.gradient) lane.put(0, -p.t * p.wrong * lane.weight);
    }

    template <class T>
    static SX_INLINE void hessian_binary(HessianLanes<T>& lane) {
        const Sigmoid<T> p = sigmoid<T>(lane.y, lane.at(0));
        lane.put_product(0, p.right * p.wrong * lane.direction(0) * lane.weight);
    }
};

}  // namespace SX_ISA
}  // namespace sx
