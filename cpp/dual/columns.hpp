// Dual coordinate ascent where every column of W is a binary problem of its own.
//
// Problem    per column, with t = +-1, C_i = s_i / (S l2) and flows a_i (U_i = -t_i a_i),
//                max over a   -sum_i C_i conjugate(a_i) - |w|^2 / 2,    w = sum_i C_i t_i a_i x_i,
//            one row at a time: with m = t z and q = C (|x|^2 + the bias's share), a change of a by
//            d moves m by q d.
// Given      a DualTask; the rows of each block that have something to do.
// On return  every such row has been visited once. V is a vector of columns, or T for a column that
//            stands alone; no column sees another.
// See        Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
//            large-scale linear SVM, 2008, algorithm 3; Yu, Huang and Lin, Dual coordinate descent
//            methods for logistic regression and maximum entropy models, 2011.
#pragma once

#include "dual/products.hpp"
#include "matrix/sparse_product.hpp"

namespace sx {
inline namespace SX_ISA {

template <class V>
using mask_of = decltype(V{} < V{});

template <class T, class V>
constexpr bool is_alone = std::is_same_v<T, V>;

template <class T, class V>
SX_INLINE std::uint32_t word_of(mask_of<V> m) {
    if constexpr (is_alone<T, V>)
        return m;
    else
        return bits_of<T>(m);
}

template <class T, class V>
SX_INLINE mask_of<V> mask_from(std::uint32_t word) {
    if constexpr (is_alone<T, V>)
        return word & 1;
    else
        return lanes_of<T>(word);
}

template <class T, class V>
SX_INLINE V absolute(V x) {
    if constexpr (is_alone<T, V>)
        return x < T(0) ? -x : x;
    else
        return abs<T>(x);
}

template <class V>
SX_INLINE V positive(V x) {
    return select(x < 0, V{}, x);
}

// A rule is made of a row's dual and q before the scores are known, then gives the change.
template <class V>
struct Change {
    V next;                // the new dual
    V rise;                // change of a
    V gap;                 // loss + conjugate + a m, before the change
    V slope;               // minus the derivative of the dual objective by a, over C
    mask_of<V> low, high;  // whether a was at its lower or upper bound
    V flow{};              // the new a, where it is kept beside the dual
};

template <class T, class V>
struct HingeColumns {
    static constexpr bool shrinks = true, has_flow = false;
    static constexpr T least_q = sizeof(T) == 8 ? T(1e-150) : T(1e-18);  // an empty row has none
    V a, inverse;

    SX_INLINE HingeColumns(V dual, V q) : a(dual), inverse(T(1) / max(q, spread<T, V>(least_q))) {}

    SX_INLINE Change<V> solve(V m, T margin) const {
        const V zero{}, one = spread<T, V>(1), slope = m - margin;
        const V next = min(max(a - slope * inverse, zero), one);
        return {next, next - a, positive(-slope) + a * slope, slope, a <= T(0), a >= T(1)};
    }
};

template <class T, class V>
struct SquaredHingeColumns {
    static constexpr bool shrinks = true, has_flow = false;
    V a, inverse;

    SX_INLINE SquaredHingeColumns(V dual, V q) : a(dual), inverse(T(1) / (q + T(0.5))) {}

    SX_INLINE Change<V> solve(V m, T margin) const {
        const V half = T(0.5) * a, lack = margin - m, slope = half - lack;
        const V next = max(a - slope * inverse, V{}), miss = positive(lack) - half;
        return {next, next - a, miss * miss + a * positive(-lack), slope, a <= T(0), a != a};
    }
};

// The dual that is kept is u, and a = sigma(-u) beside it, which takes long to find. The new u,
// which is the new margin, solves F(u) = u - m - q (sigma(-u) - a) = 0.
template <class T, class V>
struct LogisticColumns {
    static constexpr bool shrinks = false, has_flow = true;
    static constexpr T rounding = sizeof(T) == 8 ? T(1e-14) : T(1e-6);
    V dual, q, a, curved, inverse;

    static SX_INLINE V flow(V u) { return T(1) / (T(1) + power(u)); }

    static SX_INLINE V power(V x) {
        if constexpr (is_alone<T, V>)
            return exp<T>(broadcast<T>(x))[0];
        else
            return exp<T>(x);
    }

    static SX_INLINE V log_of_more(V x) {  // log(1 + x)
        if constexpr (is_alone<T, V>)
            return log1p<T>(broadcast<T>(x))[0];
        else
            return log1p<T>(x);
    }

    SX_INLINE LogisticColumns(V dual, V flow, V q)
        : dual(dual), q(q), a(flow), curved(a - a * a), inverse(T(1) / (q * curved + T(1))) {}

    SX_INLINE Change<V> solve(V m, T) const {
        const V off = dual - m, least = m - q * a, most = least + q;
        // Newton's step with the next term of the series, and then Newton's method where that was
        // not enough: few rows, but for the first epochs.
        const V step = off * inverse;
        const V bend = T(0.5) * q * curved * (a + a - T(1)) * inverse * step;
        V u = min(max(dual - step * (T(1) + bend), least), most), low = least, high = most;
        V flow_there = flow(u);
        const V noise = rounding * (absolute<T, V>(m) + absolute<T, V>(off) + q);
        mask_of<V> open = is_open(u, m, flow_there, noise);
        for (int turn = 0; __builtin_expect(word_of<T, V>(open) != 0, 0) && turn < 100; ++turn) {
            const V F = (u - m) - q * (flow_there - a);
            low = select(F < T(0), u, low);
            high = select(F > T(0), u, high);
            const V there = u - F / (q * (flow_there - flow_there * flow_there) + T(1));
            // Where q is large the sigmoid is a step, and Newton's method jumps to and fro across
            // it.
            const mask_of<V> sound = (there > low) & (there < high);
            V next =
                turn % 3 == 2 ? T(0.5) * (low + high) : select(sound, there, T(0.5) * (low + high));
            const mask_of<V> far = open & (a < T(1e-3)) & (q > T(4));
            if (turn == 0 && word_of<T, V>(far) != 0) {
                const V jump = from_nothing(least);
                next = select(far & (jump > low) & (jump < high), jump, next);
            }
            u = select(open, next, u);
            flow_there = select(open, flow(u), flow_there);
            open = open & is_open(u, m, flow_there, noise);
        }
        // The second-order part of what the loss at m lies above its tangent at the old u.
        return {u, flow_there - a, T(0.5) * off * off * curved, off, m != m, m != m, flow_there};
    }

    // About the new u of a row whose a is next to 0, as all are at first, where q is large: with
    // w = u - least, a step of Newton's method on w + least = log((q - w) / w), from what w would
    // be if it were but w = log(1 + q exp(-least)).
    SX_INLINE V from_nothing(V least) const {
        const V from = log_of_more(q * power(-max(least, spread<T, V>(-30))));
        const V w = min(from, T(0.5) * q), rest = q - w, one = spread<T, V>(1);
        const V off = least + w - log_of_more((rest - w) / w);
        return least + (w - off / (one + one / w + one / rest));
    }

    // Whether the change of a may still be off by more than a twentieth: its best lies between the
    // change of a that u makes and that of the margin over q, which differ by F / q.
    SX_INLINE mask_of<V> is_open(V u, V m, V there, V noise) const {
        const V moved = q * (there - a);
        return absolute<T, V>((u - m) - moved) > max(T(0.05) * absolute<T, V>(moved), noise);
    }
};

template <class T, class V>
SX_INLINE V of_columns(const PerRow<T>& numbers, index_t i, index_t c) {
    if constexpr (is_alone<T, V>)
        return numbers.at[i * numbers.row];
    else
        return numbers.each ? load<T>(numbers.at + i * numbers.row + c)
                            : broadcast<T>(numbers.at[i]);
}

// What is gathered over the rows of a block, for one vector of columns.
template <class V>
struct ColumnSums {
    V gap = V{}, change = V{};
};

// A row as one vector of columns sees it, before its scores are known.
template <template <class, class> class Rule, class T, class V>
struct RowColumns {
    V t, C, share;
    Rule<T, V> rule;

    SX_INLINE RowColumns(const DualTask<T>& p, index_t i, index_t c)
        : t(select(of_columns<T, V>(p.y, i, c) == load_as<T, V>(p.number + c), spread<T, V>(1),
                   spread<T, V>(-1))),
          C(of_columns<T, V>(p.s, i, c) * load_as<T, V>(p.strength + c)),
          share(load_as<T, V>(p.bias_square + c)),
          rule(made(p, i * p.width + c, C * (of_columns<T, V>(p.square, i, c) + share))) {}

    static SX_INLINE Rule<T, V> made(const DualTask<T>& p, index_t at, V q) {
        const V dual = load_as<T, V>(p.duals + at);
        if constexpr (Rule<T, V>::has_flow)
            return {dual, load_as<T, V>(p.flows + at), q};
        else
            return {dual, q};
    }

    // Given the scores without the bias; returns the change of W along x_i.
    SX_INLINE V visit(const DualTask<T>& p, index_t i, index_t c, V z, const DualFound<T>& found,
                      ColumnSums<V>& sums) const {
        const auto at = [&](const T* numbers)
                            __attribute__((always_inline)) { return load_as<T, V>(numbers + c); };
        const V zero{}, bias = at(p.bias);
        T* kept = p.duals + i * p.width + c;
        const mask_of<V> here = mask_from<T, V>((p.active[i] & p.live) >> c);
        const Change<V> x = rule.solve(t * (z + bias), p.margin);
        const V change = rounded(select(here, C * t * x.rise, zero));
        sums.gap += rounded(select(here, C * x.gap, zero));
        sums.change -= change;
        store_as<T, V>(kept, select(here, x.next, at(kept - c)));
        if constexpr (Rule<T, V>::has_flow)
            store_as<T, V>(p.flows + i * p.width + c, select(here, x.flow, rule.a));
        store_as<T, V>(p.bias + c, bias + share * change);
        if constexpr (Rule<T, V>::shrinks) rest(p, i, c, x, here, found);
        return change;
    }

    // Puts to rest what lies at a bound and is drawn there more than anything was drawn away from
    // its bound in the last epoch; else notes how strongly it is drawn.
    SX_INLINE void rest(const DualTask<T>& p, index_t i, index_t c, const Change<V>& x,
                        mask_of<V> here, const DualFound<T>& found) const {
        const V zero{}, high = load_as<T, V>(p.high + c), low = load_as<T, V>(p.low + c);
        const mask_of<V> resting = here & ((x.low & (x.slope > high)) | (x.high & (x.slope < low)));
        const V slope =
            select(x.low, min(x.slope, zero), select(x.high, max(x.slope, zero), x.slope));
        const V highest = load_as<T, V>(found.high + c), lowest = load_as<T, V>(found.low + c);
        store_as<T, V>(found.high + c, select(here, max(slope, highest), highest));
        store_as<T, V>(found.low + c, select(here, min(slope, lowest), lowest));
        std::uint32_t word = word_of<T, V>(resting);
        if (!word) return;
        p.active[i] &= ~(word << c);
        for (; word; word &= word - 1) ++found.resting[c + __builtin_ctz(word)];
    }
};

// Visits the rows of a block that have something to do.
template <template <class, class> class Rule, class V, class T>
SX_INLINE void visit_block(const DualTask<T>& p, index_t block, const DualFound<T>& found) {
    constexpr index_t step = is_alone<T, V> ? 1 : lanes<T>;
    constexpr index_t most = is_alone<T, V> ? 1 : dual_units / step;
    alignas(64) T z[dual_units], change[dual_units];
    ColumnSums<V> sums[most];
    const index_t vectors = is_alone<T, V> ? 1 : p.width / step;
    for (unsigned rows = p.blocks[block]; rows; rows &= rows - 1) {
        const index_t i = block * dual_block + __builtin_ctz(rows);
        std::uint32_t moved = 0;
        const auto finish = [&](const auto& row, index_t v) __attribute__((always_inline)) {
            const index_t c = v * step;
            const V d = row.visit(p, i, c, load_as<T, V>(z + c), found, sums[v]);
            store_as<T, V>(change + c, d);
            moved |= word_of<T, V>(d != T(0));
        };
        if constexpr (is_alone<T, V>) {
            // Begun before the scores are there, which take about as long.
            const RowColumns<Rule, T, V> row(p, i, 0);
            row_scores(p, i, z);
            finish(row, 0);
        } else {
            row_scores(p, i, z);
            for (index_t v = 0; v < vectors; ++v) finish(RowColumns<Rule, T, V>(p, i, v * step), v);
        }
        if (moved) add_row(p, i, change);
        if (Rule<T, V>::shrinks && !(p.active[i] & p.live))
            p.blocks[block] &= std::uint8_t(~(1u << (i % dual_block)));
    }
    for (index_t v = 0; v < vectors; ++v) {
        alignas(64) T gap[step], moved[step];
        store_as<T, V>(gap, sums[v].gap);
        store_as<T, V>(moved, sums[v].change);
        for (index_t l = 0; l < step; ++l) {
            found.gap[v * step + l] += double(gap[l]);
            found.change[v * step + l] += double(moved[l]);
        }
    }
}

template <template <class, class> class Rule, class T>
void column_epoch(const DualTask<T>& p, const std::int32_t* order, index_t blocks,
                  const DualFound<T>& found) {
    for (index_t b = 0; b < blocks; ++b) {
        if (b + 1 < blocks) fetch_block(p, order[b + 1]);
        if (p.width == 1)
            visit_block<Rule, T>(p, order[b], found);
        else
            visit_block<Rule, vec<T>>(p, order[b], found);
    }
}

}  // namespace SX_ISA
}  // namespace sx
