// One row and one model whose outputs are coupled, for dual coordinate ascent: lanes are outputs.
//
// A rule is given the scores z, what is kept of the row, C, q = C (|x|^2 + the bias's share) and
// the label, and finds the duals U that are best with all other rows as they are. A change D of U
// moves z by -q D and W by -C x D.
#pragma once

#include "matrix/views.hpp"
#include "simd/lane_bits.hpp"

namespace sx {
inline namespace SX_ISA {

// The arrays are padded to whole vectors; what lies beyond `outputs` is read and ignored.
template <class T>
struct OutputRow {
    index_t outputs, padded;
    T margin, C, q;
    index_t label;  // of the outputs; -1 if it has none
    const T* z;
    const T* kept;
    T high;  // beyond this a row that is at its bounds may rest
    T* next;
    T* change;   // of W along x: -C times the change of U
    T* scratch;  // three arrays
    T gap;       // loss + conjugate - U.z, before the change
    T slope;     // how far the row was from its best
    bool rest;
};

// Calls body(first output, present lanes, lanes of the label) for every vector of outputs.
template <class T, class Body>
SX_INLINE void for_outputs(const OutputRow<T>& row, const Body& body) {
    for (index_t k = 0; k < row.padded; k += lanes<T>) {
        const vec<T> number = lane_numbers<T>() + T(k);
        body(k, number < T(row.outputs), number == T(row.label));
    }
}

// Problem    the cross-entropy: u = z + q (a - softmax(u)), then a = softmax(u); U = a - e_y. With
//            `reference` a score of 0 stands beside the outputs.
// Given      kept: the u of the last visit.
// On return  two steps of Newton's method, or more where those were not enough. The matrix is
//            1 + q (diag(p) - p p^T), whose inverse is that of its diagonal and one more product.
template <bool reference>
struct SoftmaxOutputs {
    static constexpr bool shrinks = false;

    // p = softmax(u) on the outputs, 0 beyond; returns log sum exp and what the reference has.
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

    // g = u - z + q (p - a) on the outputs, 0 beyond; returns whether the step from a to p may
    // still be off by more than a tenth.
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
        const T tenth = T(0.01) * sum_lanes<T>(step);
        return sum_lanes<T>(miss) > (tenth > noise * noise ? tenth : noise * noise);
    }

    // g becomes the step of Newton's method, to be subtracted from u.
    template <class T>
    static SX_INLINE void newton(const OutputRow<T>& row, const T* p, T rest, T* g) {
        vec<T> shared = {}, below = {};
        for (index_t k = 0; k < row.padded; k += lanes<T>) {
            const vec<T> part = load<T>(p + k) / (row.q * load<T>(p + k) + T(1));
            shared += part * load<T>(g + k);
            below += part;
        }
        // 1 - q sum p^2 / (1 + q p) without cancellation.
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
        // p = a: what is left of the residual is u - z.
        vec<T> first = {}, second = {}, size = {};
        for_outputs(row, [&](index_t k, mask<T> present, mask<T>) __attribute__((always_inline)) {
            const vec<T> z = select(present, load<T>(row.z + k), vec<T>{});
            const vec<T> off = select(present, load<T>(row.kept + k) - z, vec<T>{});
            first += load<T>(a + k) * off;
            size += abs<T>(z);
            store<T>(g + k, off);
        });
        // The second-order part of what the loss at z lies above its tangent at the old u.
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
        row.rest = false;
    }

    // |u - z - q a|^2 / 2 + q log sum exp(u), of which the residual is the gradient.
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

    // Newton's method with steps that are halved until the value falls: where q is large the full
    // step may jump to and fro. `change` holds the trial point.
    template <class T>
    static __attribute__((noinline, cold)) void refine(const OutputRow<T>& row, T rest, T noise) {
        T *a = row.scratch, *p = a + row.padded, *g = p + row.padded, *trial = row.change;
        T here = value(row, row.next, a, shares<true>(row, row.next, p).log_sum);
        for (int turn = 0; turn < 50; ++turn) {
            newton(row, p, rest, g);
            T times = 1, there = here;
            for (int half = 0; half < 30; ++half, times *= T(0.5)) {
                subtract(row, row.next, g, times, trial);
                const Shares<T> found = shares<true>(row, trial, p);
                there = value(row, trial, a, found.log_sum);
                rest = found.rest;
                if (there <= here) break;
            }
            if (!(there <= here)) {  // nothing but rounding is left
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

// What the rules for margins share: terms m + z_j - z_y of the wrong outputs, flows a_j kept.
template <class T>
struct Margins {
    T label;  // the label's score
    T total;  // the sum of the flows

    template <class Row>
    static SX_INLINE Margins of(const Row& row) {
        vec<T> sum = {};
        for_outputs(row,
                    [&](index_t k, mask<T> present, mask<T> own) __attribute__((always_inline)) {
                        sum += select(present & ~own, load<T>(row.kept + k), vec<T>{});
                    });
        return {row.z[row.label], sum_lanes<T>(sum)};
    }
};

// Takes the new flows in `next` and writes the change of W: C times the loss of flow on the wrong
// outputs, the gain of all on the label.
template <class T>
SX_INLINE void change_flows(const OutputRow<T>& row) {
    vec<T> gained = {};
    for_outputs(row, [&](index_t k, mask<T> present, mask<T> own) __attribute__((always_inline)) {
        const mask<T> wrong = present & ~own;
        const vec<T> next = select(wrong, load<T>(row.next + k), vec<T>{});
        const vec<T> rise = select(wrong, next - load<T>(row.kept + k), vec<T>{});
        gained += rise;
        store<T>(row.next + k, next);
        store<T>(row.change + k, -row.C * rise);
    });
    row.change[row.label] = row.C * sum_lanes<T>(gained);
}

// Problem    the sum over wrong outputs of max(0, m + z_j - z_y), or of its square. With A the sum
//            of the flows, the best are a_j = clip((c_j - q A) / r) where c_j = m + z_j - z_y +
//            q (a_j + A) before, r = q and clip to [0, 1], or r = q + 1/2 and clip to [0, inf).
// Given      kept: the flows.
// On return  the new ones, A being the one root of sum_j a_j(A) = A, found by Newton's method
//            between bounds; it ends when the same flows are at their bounds twice, and is exact
//            then.
// See        Weston and Watkins, Support vector machines for multi-class pattern recognition, 1999.
template <bool squared>
struct MarginOutputs {
    static constexpr bool shrinks = true;

    template <class T>
    static SX_INLINE void solve(OutputRow<T>& row) {
        const Margins<T> before = Margins<T>::of(row);
        const vec<T> zero = {};
        const T cap = squared ? T(__builtin_inf()) : T(1);
        const T q = row.q > least(row) ? row.q : least(row), r = squared ? q + T(0.5) : q;
        T* c = row.scratch;
        vec<T> gap = {}, slope = {}, free = {};
        for_outputs(row, [&](index_t k, mask<T> present,
                             mask<T> own) __attribute__((always_inline)) {
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
            free +=
                select(wrong & ~((bound | top) & (abs<T>(rise) > row.high)), broadcast<T>(1), zero);
            store<T>(c + k, select(wrong, term + q * (a + before.total), broadcast<T>(-T(1e30))));
        });
        row.gap = sum_lanes<T>(gap);
        row.slope = max_lanes<T>(slope);
        row.rest = sum_lanes<T>(free) == T(0);
        const T total = root(row, c, q, r, cap, before.total);
        for (index_t k = 0; k < row.padded; k += lanes<T>)
            store<T>(row.next + k,
                     min(max((load<T>(c + k) - q * total) / r, zero), broadcast<T>(cap)));
        change_flows(row);
    }

    // Of a row that is empty q is 0, which would be divided by; a larger one makes smaller steps.
    template <class T>
    static SX_INLINE T least(const OutputRow<T>&) {
        return squared ? T(0) : sizeof(T) == 8 ? T(1e-10) : T(1e-5);
    }

    template <class T>
    static SX_INLINE T root(const OutputRow<T>& row, const T* c, T q, T r, T cap, T guess) {
        T low = 0, high = squared ? T(__builtin_inf()) : T(row.outputs - 1), total = guess;
        for (int turn = 0; turn < 200; ++turn) {
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

// Problem    the worst wrong output, max(0, m + z_j - z_y). The best flows are
//            a_j = max(0, c_j - theta) / q with c_j as above, where theta solves
//            sum_j a_j = min(theta / q, 1).
// Given      kept: the flows, whose sum is at most 1.
// On return  the new ones: a projection on the simplex. The left side is convex in theta, so that
//            Newton's method from the left never overshoots.
// See        Crammer and Singer, On the algorithmic implementation of multiclass kernel-based
// vector
//            machines, 2001.
struct CrammerSingerOutputs {
    static constexpr bool shrinks = true;

    template <class T>
    static SX_INLINE void solve(OutputRow<T>& row) {
        const Margins<T> before = Margins<T>::of(row);
        const vec<T> zero = {}, lowest = broadcast<T>(-T(1e30));
        constexpr T least = sizeof(T) == 8 ? T(1e-10) : T(1e-5);
        const T q = row.q > least ? row.q : least;
        T* c = row.scratch;
        vec<T> paid = {}, worst = {}, best = lowest, second = lowest, used = {};
        vec<T> lazy = broadcast<T>(T(1e30));
        for_outputs(row,
                    [&](index_t k, mask<T> present, mask<T> own) __attribute__((always_inline)) {
                        const mask<T> wrong = present & ~own;
                        const vec<T> a = select(wrong, load<T>(row.kept + k), zero);
                        const vec<T> term =
                            select(wrong, row.margin + (load<T>(row.z + k) - before.label), lowest);
                        const mask<T> carries = a > T(0);
                        paid += select(carries, a * term, zero);
                        worst = max(term, worst);
                        lazy = min(select(carries, term, broadcast<T>(T(1e30))), lazy);
                        best = max(term, best);
                        second = max(select(carries, lowest, term), second);
                        used += select(carries, broadcast<T>(1), zero);
                        store<T>(c + k, select(wrong, term + q * (a + before.total), lowest));
                    });
        const T top = max_lanes<T>(worst), least_used = -max_lanes<T>(-lazy);
        const T carriers = sum_lanes<T>(used), idle = max_lanes<T>(second);
        row.gap = top - sum_lanes<T>(paid);
        // The slack of the sum is one more output, whose term is 0. All that carry flow should have
        // the highest term.
        const bool slack = before.total < T(1);
        const T lowest_used = slack && T(0) < least_used ? T(0) : least_used;
        row.slope = top - lowest_used;
        const T next_best = slack ? idle : idle > T(0) ? idle : T(0);
        row.rest = carriers + T(slack) == T(1) && lowest_used - next_best > row.high;
        project(row, c, q);
        change_flows(row);
    }

    template <class T>
    static SX_INLINE void project(const OutputRow<T>& row, const T* c, T q) {
        T theta = 0, whole = 0;
        // sum max(0, c - theta) = theta first, and if that is above q, = q.
        for (int bounded = 0; bounded < 2; ++bounded) {
            for (int turn = 0; turn < 200; ++turn) {
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
        // In the bounded case the sum is 1, whatever was rounded.
        const T unit = theta > q && whole > T(0) ? whole : q;
        for (index_t k = 0; k < row.padded; k += lanes<T>)
            store<T>(row.next + k, max(load<T>(c + k) - theta, vec<T>{}) / unit);
    }
};

}  // namespace SX_ISA
}  // namespace sx
