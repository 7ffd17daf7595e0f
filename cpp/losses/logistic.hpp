// The logistic loss of one output: value, gradient, Hessian, conjugate and dual.
#pragma once

#include "losses/dual_row.hpp"
#include "losses/lanes.hpp"
#include "losses/loss.hpp"
#include "losses/sigmoid.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    the new u, which is the new margin, solves F(u) = u - m - q (sigma(-u) - alpha) = 0.
// Given      kept: the logit u, and alpha = sigma(-u) beside it, which takes long to find.
// On return  the root, so closely that the change of alpha is off by no more than a twentieth.
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
        static constexpr T precision = T(0.05);  // of the change of alpha: the row is visited again
        static constexpr int most_turns = 100;   // of Newton's method; more than any row has needed
        static constexpr int bisect_every = 3;   // turns, so that the bracket shrinks in any case
        // Below and above which the first guess is looked for apart: the series is of no use there.
        static constexpr T small_alpha = T(1e-3), large_q = T(4);
        static constexpr T lowest_least =
            T(-30);  // of which exp(-least) is still far from infinity
        V dual, q, a, curved, inverse;

        SX_INLINE Row(V dual, V alpha, V q)
            : dual(dual), q(q), a(alpha), curved(a - a * a), inverse(T(1) / (q * curved + T(1))) {}

        SX_INLINE ColumnStep<V> solve(V m, T) const {
            const V off = dual - m, least = m - q * a, most = least + q;
            // Newton's step with the next term of the series, and then Newton's method where that
            // was not enough: few rows, but for the first epochs.
            const V step = off * inverse;
            const V second_order = T(0.5) * q * curved * (a + a - T(1)) * inverse * step;
            V u = min(max(dual - step * (T(1) + second_order), least), most), low = least,
              high = most;
            V alpha_there = alpha_of<T, V>(u);
            const V noise = rounding * (absolute<T, V>(m) + absolute<T, V>(off) + q);
            mask_of<V> open = is_open(u, m, alpha_there, noise);
            for (int turn = 0; __builtin_expect(word_of<T, V>(open) != 0, 0) && turn < most_turns;
                 ++turn) {
                const V F = (u - m) - q * (alpha_there - a);
                low = select(F < T(0), u, low);
                high = select(F > T(0), u, high);
                const V there = u - F / (q * (alpha_there - alpha_there * alpha_there) + T(1));
                // Where q is large the sigmoid is a step, and Newton's method jumps to and fro
                // across it.
                const mask_of<V> sound = (there > low) & (there < high);
                V next = turn % bisect_every == bisect_every - 1
                             ? T(0.5) * (low + high)
                             : select(sound, there, T(0.5) * (low + high));
                const mask_of<V> far = open & (a < small_alpha) & (q > large_q);
                if (turn == 0 && word_of<T, V>(far) != 0) {
                    const V jump = from_nothing(least);
                    next = select(far & (jump > low) & (jump < high), jump, next);
                }
                u = select(open, next, u);
                alpha_there = select(open, alpha_of<T, V>(u), alpha_there);
                open = open & is_open(u, m, alpha_there, noise);
            }
            // The second-order part of what the loss at m lies above its tangent at the old u.
            return {u,      alpha_there - a, T(0.5) * off * off * curved, off, m != m,
                    m != m, alpha_there};
        }

        // About the new u of a row whose a is next to 0, as all are at first, where q is large:
        // with w = u - least, a step of Newton's method on w + least = log((q - w) / w), from what
        // w would be if it were but w = log(1 + q exp(-least)).
        SX_INLINE V from_nothing(V least) const {
            const V from =
                log1p_as<T, V>(q * exp_as<T, V>(-max(least, broadcast_as<T, V>(lowest_least))));
            const V w = min(from, T(0.5) * q), rest = q - w, one = broadcast_as<T, V>(1);
            const V off = least + w - log1p_as<T, V>((rest - w) / w);
            return least + (w - off / (one + one / w + one / rest));
        }

        // Whether the change of a may still be off by more than a twentieth: its best lies between
        // the change of a that u makes and that of the margin over q, which differ by F / q.
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
// On return  the loss as max(0, -t z) + log1p(exp(-|z|)): accurate however small, no
//            overflow. The gradient is -t (1 - p), the Hessian p (1 - p), p that of the label.
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
