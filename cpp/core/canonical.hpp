// Compressed rows brought into order: rising column numbers, each at most once.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "matrix.hpp"

namespace sx {

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
