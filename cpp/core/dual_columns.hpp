// Dual coordinate ascent where every column of W is a binary problem of its own.
//
// Problem    per column, with t = +-1, C_i = s_i / (S l2) and flows a_i (U_i = -t_i a_i),
//                max over a   -sum_i C_i conjugate(a_i) - |w|^2 / 2,    w = sum_i C_i t_i a_i x_i,
//            one row at a time: with m = t z and q = C (|x|^2 + the bias's share), a change of a by
//            d moves m by q d.
// Given      a DualTask; the rows of each block that have something to do.
// On return  every such row has been visited once. Lanes are columns, and no lane sees another.
// See        Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
//            large-scale linear SVM, 2008, algorithm 3; Yu, Huang and Lin, Dual coordinate descent
//            methods for logistic regression and maximum entropy models, 2011.
#pragma once

#include "dual_products.hpp"

namespace sx {
inline namespace SX_ISA {

// One row as a vector of columns sees it. A rule reads the upper half and fills in the lower.
template <class T>
struct ColumnLanes {
    vec<T> m, q;
    vec<T> dual;  // what is kept of the row: a, or for the logistic loss the u of a = sigma(-u)
    T margin;

    vec<T> next;        // the new dual
    vec<T> rise;        // change of a
    vec<T> gap;         // loss + conjugate + a m, before the change
    vec<T> slope;       // minus the derivative of the dual objective by a, over C
    mask<T> low, high;  // whether a was at its lower or upper bound
};

template <class T>
constexpr T least_q = sizeof(T) == 8 ? T(1e-150) : T(1e-18);  // an empty row has none

template <class T>
SX_INLINE vec<T> positive(vec<T> x) {
    return select(x < T(0), vec<T>{}, x);
}

struct HingeColumns {
    static constexpr bool shrinks = true;

    template <class T>
    static SX_INLINE void solve(ColumnLanes<T>& x) {
        const vec<T> zero = {}, one = broadcast<T>(1), a = x.dual;
        x.slope = x.m - x.margin;
        x.low = a <= T(0);
        x.high = a >= T(1);
        x.gap = positive<T>(-x.slope) + a * x.slope;
        const vec<T> best = a - x.slope / max(x.q, broadcast<T>(least_q<T>));
        x.next = min(max(best, zero), one);
        x.rise = x.next - a;
    }
};

struct SquaredHingeColumns {
    static constexpr bool shrinks = true;

    template <class T>
    static SX_INLINE void solve(ColumnLanes<T>& x) {
        const vec<T> a = x.dual, half = T(0.5) * a, lack = x.margin - x.m;
        x.slope = half - lack;
        x.low = a <= T(0);
        x.high = a != a;
        const vec<T> miss = positive<T>(lack) - half;
        x.gap = miss * miss + a * positive<T>(-lack);
        x.next = max(a - x.slope / (x.q + T(0.5)), vec<T>{});
        x.rise = x.next - a;
    }
};

// The new margin u solves u = m + q (sigma(-u) - a), and then a = sigma(-u).
struct LogisticColumns {
    static constexpr bool shrinks = false;

    template <class T>
    struct Point {
        vec<T> u, a, F;
    };

    template <class T>
    static SX_INLINE vec<T> flow(vec<T> u) {
        return T(1) / (T(1) + exp<T>(u));
    }

    template <class T>
    static SX_INLINE vec<T> newton(const Point<T>& at, vec<T> q) {
        return at.u - at.F / (q * (at.a - at.a * at.a) + T(1));
    }

    template <class T>
    static SX_INLINE void solve(ColumnLanes<T>& x) {
        const vec<T> before = flow<T>(x.dual);
        const vec<T> least = x.m - x.q * before, most = least + x.q;
        const auto look = [&](vec<T> u) __attribute__((always_inline)) {
            const vec<T> a = flow<T>(u);
            return Point<T>{u, a, (u - x.m) - x.q * (a - before)};
        };
        const auto within = [&](vec<T> u)
                                __attribute__((always_inline)) { return min(max(u, least), most); };
        const vec<T> off = x.dual - x.m;
        const Point<T> first = look(within(newton<T>({x.dual, before, off}, x.q)));
        Point<T> second = look(within(newton<T>(first, x.q)));
        // Where q is large the sigmoid is a step, and Newton's method may jump to and fro across
        // it.
        constexpr T rounding = sizeof(T) == 8 ? T(1e-14) : T(1e-6);
        const vec<T> noise = rounding * (abs<T>(x.m) + abs<T>(second.u) + x.q);
        if (bits_of<T>(is_open<T>(second, before, x.q, noise)))
            refine(x.m, x.q, before, noise, second);
        x.next = second.u;
        x.rise = second.a - before;
        // The second-order part of what the loss at m lies above its tangent at the old u.
        x.gap = T(0.5) * off * off * (before - before * before);
        x.slope = off;
        x.low = x.high = x.m != x.m;
    }

    // Whether the step from `before` may still be off by more than a tenth: it lies between q times
    // the change of a and the change of u, which differ by F.
    template <class T>
    static SX_INLINE mask<T> is_open(const Point<T>& at, vec<T> before, vec<T> q, vec<T> noise) {
        return abs<T>(at.F) > max(T(0.1) * q * abs<T>(at.a - before), noise);
    }

    // Newton's method between bounds that close in: where it would leave them, they are halved.
    template <class T>
    static __attribute__((noinline, cold)) void refine(const vec<T>& m, const vec<T>& q,
                                                       const vec<T>& before, const vec<T>& noise,
                                                       Point<T>& at) {
        vec<T> low = m - q * before, high = low + q;
        for (int turn = 0; turn < 100; ++turn) {
            const mask<T> open = is_open<T>(at, before, q, noise);
            if (!bits_of<T>(open)) return;
            low = select(at.F < T(0), at.u, low);
            high = select(at.F > T(0), at.u, high);
            const vec<T> step = newton<T>(at, q), middle = T(0.5) * (low + high);
            const vec<T> u = select((step > low) & (step < high) & (turn % 3 != 2), step, middle);
            const vec<T> a = flow<T>(u), F = (u - m) - q * (a - before);
            at = {select(open, u, at.u), select(open, a, at.a), select(open, F, at.F)};
        }
    }
};

template <class T>
SX_INLINE vec<T> of_columns(const PerRow<T>& numbers, index_t i, index_t c) {
    return numbers.each ? load<T>(numbers.at + i * numbers.row + c) : broadcast<T>(numbers.at[i]);
}

// What is gathered over the rows of a block, for one vector of columns.
template <class T>
struct ColumnSums {
    vec<T> gap = vec<T>{}, change = vec<T>{};
};

// Visits row i for the columns of one vector; returns the change of W along x_i.
template <class Rule, bool alone, class T>
SX_INLINE vec<T> visit_columns(const DualTask<T>& p, index_t i, index_t c, vec<T> z,
                               const DualFound<T>& found, ColumnSums<T>& sums) {
    const auto at = [&](const T* numbers) __attribute__((always_inline)) {
        return alone ? broadcast<T>(*numbers) : load<T>(numbers + c);
    };
    const vec<T> zero = {};
    const vec<T> t =
        select(of_columns(p.y, i, c) == at(p.number), broadcast<T>(1), broadcast<T>(-1));
    const vec<T> C = of_columns(p.s, i, c) * at(p.strength);
    const vec<T> share = at(p.bias_square), bias = at(p.bias);
    const mask<T> here = lanes_of<T>((p.active[i] & p.live) >> c);
    T* kept = p.duals + i * p.width + c;
    ColumnLanes<T> x;
    x.m = t * (z + bias);
    x.q = C * (of_columns(p.square, i, c) + share);
    x.dual = alone ? broadcast<T>(*kept) : load<T>(kept);
    x.margin = p.margin;
    Rule::solve(x);
    const vec<T> change = select(here, C * t * x.rise, zero);
    const vec<T> next = select(here, x.next, x.dual);
    sums.gap += select(here, C * x.gap, zero);
    sums.change -= change;
    if constexpr (alone)
        *kept = next[0];
    else
        store<T>(kept, next);
    const vec<T> moved = bias + share * change;
    if constexpr (alone)
        *p.bias = moved[0];
    else
        store<T>(p.bias + c, moved);
    if constexpr (Rule::shrinks) {
        const mask<T> rest =
            here & ((x.low & (x.slope > at(p.high))) | (x.high & (x.slope < at(p.low))));
        const vec<T> slope =
            select(x.low, min(x.slope, zero), select(x.high, max(x.slope, zero), x.slope));
        const mask<T> told = here & ~rest;
        const vec<T> highest = select(told, max(slope, at(found.high)), at(found.high));
        const vec<T> lowest = select(told, min(slope, at(found.low)), at(found.low));
        if constexpr (alone) {
            *found.high = highest[0];
            *found.low = lowest[0];
        } else {
            store<T>(found.high + c, highest);
            store<T>(found.low + c, lowest);
        }
        std::uint32_t resting = bits_of<T>(rest);
        if (alone) resting &= 1;
        if (resting) {
            p.active[i] &= ~(resting << c);
            for (; resting; resting &= resting - 1) ++found.resting[c + __builtin_ctz(resting)];
        }
    }
    return change;
}

// Visits the rows of a block that have something to do.
template <class Rule, bool alone, class T>
SX_INLINE void visit_block(const DualTask<T>& p, index_t block, const DualFound<T>& found) {
    constexpr int most = dual_units / (vector_bytes == 16 ? 2 : 4);
    const int vectors = alone ? 1 : int(p.width / lanes<T>);
    alignas(64) T z[dual_units], change[dual_units];
    ColumnSums<T> sums[most];
    for (unsigned rows = p.blocks[block]; rows; rows &= rows - 1) {
        const index_t i = block * dual_block + __builtin_ctz(rows);
        row_scores(p, i, z);
        bool moved = false;
        for (int v = 0; v < vectors; ++v) {
            const index_t c = v * lanes<T>;
            const vec<T> mine = alone ? broadcast<T>(*z) : load<T>(z + c);
            const vec<T> d = visit_columns<Rule, alone>(p, i, c, mine, found, sums[v]);
            if constexpr (alone)
                *change = d[0];
            else
                store<T>(change + c, d);
            moved |= alone ? d[0] != T(0) : bits_of<T>(d != T(0)) != 0;
        }
        if (moved) add_row(p, i, change);
        if (Rule::shrinks && !(p.active[i] & p.live))
            p.blocks[block] &= std::uint8_t(~(1u << (i % dual_block)));
    }
    for (index_t c = 0; c < p.columns; ++c) {
        found.gap[c] += double(sums[c / lanes<T>].gap[c % lanes<T>]);
        found.change[c] += double(sums[c / lanes<T>].change[c % lanes<T>]);
    }
}

template <class Rule, class T>
void column_epoch(const DualTask<T>& p, const std::int32_t* order, index_t blocks,
                  const DualFound<T>& found) {
    for (index_t b = 0; b < blocks; ++b)
        if (p.width == 1)
            visit_block<Rule, true>(p, order[b], found);
        else
            visit_block<Rule, false>(p, order[b], found);
}

}  // namespace SX_ISA
}  // namespace sx
