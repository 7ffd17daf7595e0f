// An epoch of dual coordinate ascent if every column of W is a separate binary problem.
//
// Problem    per column, with t = +-1, C_i = s_i / (S l2) and alphas a_i (U_i = -t_i a_i),
//              max over a   -sum_i C_i conjugate(a_i) - |w|^2 / 2,    w = sum_i C_i t_i a_i x_i,
//            one row at a time: with m = t z and q = C (|x|^2 + square of the bias), a change of a
//            by d moves m by q d.
// Given      a DualTask, with the rows of each block that are to be visited.
// On return  every such row has been visited once. V is a vector of columns, or T for a single
//            column; columns do not affect each other.
// See        Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
//            large-scale linear SVM, 2008, algorithm 3; Yu, Huang and Lin, Dual coordinate descent
//            methods for logistic regression and maximum entropy models, 2011.
#pragma once

#include "dual/row_products.hpp"
#include "losses/dual_row.hpp"

namespace sx {
inline namespace SX_ISA {

template <class T, class V>
SX_INLINE V of_columns(const PerRow<T>& numbers, index_t i, index_t c) {
    if constexpr (is_scalar<T, V>)
        return numbers.at[i * numbers.row];
    else
        return numbers.each ? load<T>(numbers.at + i * numbers.row + c)
                            : broadcast<T>(numbers.at[i]);
}

// Sums over the rows of a block, for one vector of columns.
template <class V>
struct ColumnSums {
    V gap = V{}, change = V{};
};

// The data of a row for one vector of columns, before its scores are known.
template <class Dual, class T, class V>
struct RowColumns {
    V t, C, share;
    using Rule = typename Dual::template Row<T, V>;
    Rule rule;

    SX_INLINE RowColumns(const DualTask<T>& p, index_t i, index_t c)
        : t(select(of_columns<T, V>(p.y, i, c) == load_as<T, V>(p.positive_class + c),
                   broadcast_as<T, V>(1), broadcast_as<T, V>(-1))),
          C(of_columns<T, V>(p.s, i, c) * load_as<T, V>(p.strength + c)),
          share(load_as<T, V>(p.bias_square + c)),
          rule(made(p, i * p.width + c, C * (of_columns<T, V>(p.square, i, c) + share))) {}

    static SX_INLINE Rule made(const DualTask<T>& p, index_t at, V q) {
        const V dual = load_as<T, V>(p.duals + at);
        if constexpr (Rule::keeps_alpha)
            return {dual, load_as<T, V>(p.alphas + at), q};
        else
            return {dual, q};
    }

    // Visits the row, given its scores without the bias. Returns the change of W along x_i.
    SX_INLINE V visit(const DualTask<T>& p, index_t i, index_t c, V z, const EpochResult<T>& found,
                      ColumnSums<V>& sums) const {
        const auto at = [&](const T* numbers)
                            __attribute__((always_inline)) { return load_as<T, V>(numbers + c); };
        const V zero{}, bias = at(p.bias);
        T* kept = p.duals + i * p.width + c;
        const mask_of<V> here = mask_from<T, V>((p.active[i] & p.live) >> c);
        const ColumnStep<V> x = rule.solve(t * (z + bias), p.margin);
        const V change = rounded(select(here, C * t * x.rise, zero));
        sums.gap += rounded(select(here, C * x.gap, zero));
        sums.change -= change;
        store_as<T, V>(kept, select(here, x.next, at(kept - c)));
        if constexpr (Rule::keeps_alpha)
            store_as<T, V>(p.alphas + i * p.width + c, select(here, x.alpha, rule.a));
        store_as<T, V>(p.bias + c, bias + share * change);
        if constexpr (Dual::shrinks) shrink(p, i, c, x, here, found);
        return change;
    }

    // Removes rows from the working set that are at a bound with a slope beyond all projected
    // slopes of the last epoch. Records the projected slopes of all rows.
    SX_INLINE void shrink(const DualTask<T>& p, index_t i, index_t c, const ColumnStep<V>& x,
                          mask_of<V> here, const EpochResult<T>& found) const {
        const V zero{}, high = load_as<T, V>(p.high + c), low = load_as<T, V>(p.low + c);
        const mask_of<V> leaves = here & ((x.low & (x.slope > high)) | (x.high & (x.slope < low)));
        const V slope =
            select(x.low, min(x.slope, zero), select(x.high, max(x.slope, zero), x.slope));
        const V highest = load_as<T, V>(found.high + c), lowest = load_as<T, V>(found.low + c);
        store_as<T, V>(found.high + c, select(here, max(slope, highest), highest));
        store_as<T, V>(found.low + c, select(here, min(slope, lowest), lowest));
        std::uint32_t word = word_of<T, V>(leaves);
        if (!word) return;
        p.active[i] &= ~(word << c);
        for (; word; word &= word - 1) ++found.shrunk[c + __builtin_ctz(word)];
    }
};

// Visits the active rows of a block.
template <class Dual, class V, class T>
SX_INLINE void visit_block(const DualTask<T>& p, index_t block, const EpochResult<T>& found) {
    constexpr index_t step = is_scalar<T, V> ? 1 : lanes<T>;
    constexpr index_t most = is_scalar<T, V> ? 1 : most_units / step;
    alignas(64) T z[most_units], change[most_units];
    ColumnSums<V> sums[most];
    const index_t vectors = is_scalar<T, V> ? 1 : p.width / step;
    for (unsigned rows = p.blocks[block]; rows; rows &= rows - 1) {
        const index_t i = block * block_size + __builtin_ctz(rows);
        std::uint32_t moved = 0;
        const auto finish = [&](const auto& row, index_t v) __attribute__((always_inline)) {
            const index_t c = v * step;
            const V d = row.visit(p, i, c, load_as<T, V>(z + c), found, sums[v]);
            store_as<T, V>(change + c, d);
            moved |= word_of<T, V>(d != T(0));
        };
        if constexpr (is_scalar<T, V>) {
            // Prepared before the scores, which take about as long: the processor can overlap the
            // two.
            const RowColumns<Dual, T, V> row(p, i, 0);
            row_scores(p, i, z);
            finish(row, 0);
        } else {
            row_scores(p, i, z);
            for (index_t v = 0; v < vectors; ++v) finish(RowColumns<Dual, T, V>(p, i, v * step), v);
        }
        if (moved) add_row(p, i, change);
        if (Dual::shrinks && !(p.active[i] & p.live))
            p.blocks[block] &= std::uint8_t(~(1u << (i % block_size)));
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

template <class Dual, class T>
void column_epoch(const DualTask<T>& p, const std::int32_t* order, index_t blocks,
                  const EpochResult<T>& found) {
    for (index_t b = 0; b < blocks; ++b) {
        if (b + 1 < blocks) fetch_block(p, order[b + 1]);
        if (p.width == 1)
            visit_block<Dual, T>(p, order[b], found);
        else
            visit_block<Dual, vec<T>>(p, order[b], found);
    }
}

}  // namespace SX_ISA
}  // namespace sx
