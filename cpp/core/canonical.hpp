// Compressed rows: whether they are in order, rising column numbers, each at most once, and how
// they are brought there.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "matrix.hpp"

namespace sx {

enum class Rows { faulty, unordered, in_order };

// How the rows of a compressed matrix lie, whose arrays have room for `entries`. Columns that do
// not rise are counted over all entries, without a look at where rows start, and then there: in
// order are rows that have no others.
template <class Index>
Rows look_over(const Engine& engine, index_t rows, index_t columns, index_t entries,
               const Index* start, const Index* index) {
    if (start[0] != 0 || index_t(start[rows]) > entries) return Rows::faulty;
    index_t apart = 0;
    for (index_t i = 0; i < rows; ++i) {
        const index_t first = start[i], last = start[i + 1];
        if (first > last || last > entries) return Rows::faulty;
        if (first > 0 && first < last) apart += index[first] <= index[first - 1];
    }
    constexpr index_t piece = 1 << 14;
    const index_t count = start[rows], pieces = (count + piece - 1) / piece;
    std::vector<Index> falls(pieces), least(pieces), most(pieces);
    engine.loop(pieces, double(count), [&](index_t task, int) {
        const index_t first = task * piece, last = std::min(count, first + piece);
        Index falls_here = 0, low = index[first], high = index[first];
        for (index_t k = first + 1; k < last; ++k) {
            falls_here += index[k] <= index[k - 1];
            low = std::min(low, index[k]);
            high = std::max(high, index[k]);
        }
        falls[task] = falls_here + (first > 0 && index[first] <= index[first - 1]);
        least[task] = low;
        most[task] = high;
    });
    for (index_t task = 0; task < pieces; ++task) {
        if (least[task] < 0 || index_t(most[task]) >= columns) return Rows::faulty;
        apart -= falls[task];
    }
    return apart == 0 ? Rows::in_order : Rows::unordered;
}

// Writes the rows of a compressed matrix with their entries in order, those of the same column
// added up in the order they came, and returns how many entries there are. There must be room for
// as many as the rows have.
template <class Index, class Value>
index_t put_in_order(index_t rows, const Index* start, const Index* index, const Value* value,
                     Index* new_start, Index* new_index, Value* new_value) {
    constexpr index_t short_row = 64;  // entries that are put in their places one by one
    std::vector<std::pair<Index, Value>> row;
    index_t end = 0;
    new_start[0] = 0;
    for (index_t i = 0; i < rows; ++i) {
        const index_t first = end, from = start[i], to = start[i + 1];
        if (to - from > short_row) {
            row.clear();
            for (index_t k = from; k < to; ++k) row.emplace_back(index[k], value[k]);
            std::stable_sort(row.begin(), row.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
            for (const auto& [j, x] : row) {
                if (end > first && new_index[end - 1] == j) {
                    new_value[end - 1] += x;
                } else {
                    new_index[end] = j;
                    new_value[end++] = x;
                }
            }
        } else {
            for (index_t k = from; k < to; ++k) {
                index_t at = end;
                while (at > first && new_index[at - 1] > index[k]) --at;
                if (at > first && new_index[at - 1] == index[k]) {
                    new_value[at - 1] += value[k];
                    continue;
                }
                for (index_t e = end++; e > at; --e) {
                    new_index[e] = new_index[e - 1];
                    new_value[e] = new_value[e - 1];
                }
                new_index[at] = index[k];
                new_value[at] = value[k];
            }
        }
        new_start[i + 1] = Index(end);
    }
    return end;
}

}  // namespace sx
