// An epoch of dual coordinate ascent if the outputs of a model are coupled.
#pragma once

#include "dual/row_products.hpp"
#include "losses/dual_row.hpp"

namespace sx {
inline namespace SX_ISA {

template <class T>
SX_INLINE T of_model(const PerRow<T>& numbers, index_t i, index_t unit) {
    return numbers.at[i * numbers.row + (numbers.each ? unit : 0)];
}

// Size of the kernel's scratch: scores, new duals and changes of a row, and three arrays for the
// rule.
template <class T>
index_t coupled_scratch(index_t width, index_t outputs) {
    const index_t padded = (outputs + lanes<T> - 1) / lanes<T> * lanes<T>;
    return 3 * (width + lanes<T>)+3 * padded;
}

// Visits row i for one model.
template <class L, class Dual, class T>
SX_INLINE void visit_model(const DualTask<T>& p, index_t i, index_t unit, OutputRow<T>& row,
                           const T* z, T* next, T* change, const EpochResult<T>& found) {
    const index_t c = unit * p.outputs;
    row.C = of_model(p.s, i, unit) * p.strength[c];
    row.q = row.C * (of_model(p.square, i, unit) + p.bias_square[c]);
    row.label = index_t(of_model(p.y, i, unit)) - L::first_class;
    row.z = z + c;
    row.kept = p.duals + i * p.width + c;
    row.next = next + c;
    row.change = change + c;
    row.high = p.high[unit];
    Dual::solve(row);
    found.gap[unit] += double(row.C * row.gap);
    if constexpr (Dual::shrinks) {
        if (row.shrink) {
            p.active[i] &= ~(1u << unit);
            ++found.shrunk[unit];
        } else if (row.slope > found.high[unit]) {
            found.high[unit] = row.slope;
        }
    }
}

// Problem    per model, one row at a time, with W = -sum_i C_i x_i U_i:
//              max over U of -sum_i C_i conjugate(U_i) - |W|^2 / 2.
// Given      a DualTask, with the rows of each block that are to be visited.
// On return  every such row has been visited once by every model that is active there.
// See        Keerthi, Sundararajan, Chang, Hsieh and Lin, A sequential dual method for large scale
//            multi-class linear SVMs, 2008; Yu, Huang and Lin 2011, section 4.
template <class L, class Dual, class T>
void coupled_epoch(const DualTask<T>& p, const std::int32_t* order, index_t blocks,
                   const EpochResult<T>& found) {
    const index_t wide = p.width + lanes<T>;
    T *z = p.scratch, *next = z + wide, *change = next + wide;
    OutputRow<T> row{};
    row.outputs = p.outputs;
    row.padded = (p.outputs + lanes<T> - 1) / lanes<T> * lanes<T>;
    row.margin = p.margin;
    row.scratch = change + wide;
    for (index_t b = 0; b < blocks; ++b) {
        const index_t block = order[b];
        if (b + 1 < blocks) fetch_block(p, order[b + 1]);
        for (unsigned rows = p.blocks[block]; rows; rows &= rows - 1) {
            const index_t i = block * block_size + __builtin_ctz(rows);
            T* kept = p.duals + i * p.width;
            row_scores(p, i, z);
            for (index_t c = 0; c < p.columns; ++c) z[c] += p.bias[c];
            const std::uint32_t here = p.active[i] & p.live;
            // In order: a rule writes whole vectors, whose ends the next model then overwrites.
            for (index_t unit = 0; unit < p.units; ++unit) {
                const index_t c = unit * p.outputs;
                if (here >> unit & 1) {
                    visit_model<L, Dual>(p, i, unit, row, z, next, change, found);
                    continue;
                }
                for (index_t k = c; k < c + p.outputs; ++k) {
                    next[k] = kept[k];
                    change[k] = T(0);
                }
            }
            bool moved = false;
            for (index_t c = 0; c < p.columns; ++c) {
                kept[c] = next[c];
                moved |= change[c] != T(0);
                found.change[c] -= double(change[c]);
                p.bias[c] += p.bias_square[c] * change[c];
            }
            for (index_t c = p.columns; c < p.width; ++c) change[c] = T(0);
            if (moved) add_row(p, i, change);
            if (Dual::shrinks && !(p.active[i] & p.live))
                p.blocks[block] &= std::uint8_t(~(1u << (i % block_size)));
        }
    }
}

}  // namespace SX_ISA
}  // namespace sx
