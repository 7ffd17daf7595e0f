// Checks and establishes the canonical order of compressed rows: rising column numbers, each at
// most once per row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/engine.hpp"
#include "matrix/views.hpp"

namespace sx {

enum class RowOrder { invalid, duplicates, unsorted, sorted };

// Whether any row contains a column twice. Each thread marks the columns of a row in a bit set and
// clears the set afterwards.
template <class Index>
bool has_duplicates(const Engine& engine, index_t rows, index_t columns, const Index* start,
                    const Index* index) {
    constexpr index_t piece = 1 << 9, bits = 64;
    const index_t pieces = (rows + piece - 1) / piece;
    std::vector<std::vector<std::uint64_t>> marks(engine.threads);
    std::vector<char> found(pieces);
    engine.loop(pieces, 4.0 * double(start[rows]), [&](index_t task, int worker) {
        marks[worker].resize((columns + bits - 1) / bits);
        std::uint64_t *mark = marks[worker].data(), duplicates = 0;
        for (index_t i = task * piece; i < std::min(rows, (task + 1) * piece); ++i) {
            for (index_t k = start[i]; k < index_t(start[i + 1]); ++k) {
                std::uint64_t& word = mark[index[k] / bits];
                const std::uint64_t bit = std::uint64_t(1) << (index[k] % bits);
                duplicates |= word & bit;
                word |= bit;
            }
            for (index_t k = start[i]; k < index_t(start[i + 1]); ++k) mark[index[k] / bits] = 0;
        }
        found[task] = duplicates != 0;
    });
    return std::any_of(found.begin(), found.end(), [](char duplicates) { return duplicates; });
}

// Classifies the order of the rows of a compressed matrix whose arrays have room for `entries`.
// Counts the positions where the column number does not rise, first across all entries, then at row
// starts only. All rows are sorted if the two counts agree.
template <class Index>
RowOrder check_row_order(const Engine& engine, index_t rows, index_t columns, index_t entries,
                         const Index* start, const Index* index) {
    if (start[0] != 0 || index_t(start[rows]) > entries) return RowOrder::invalid;
    index_t apart = 0;
    for (index_t i = 0; i < rows; ++i) {
        const index_t first = start[i], last = start[i + 1];
        if (first > last || last > entries) return RowOrder::invalid;
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
        if (least[task] < 0 || index_t(most[task]) >= columns) return RowOrder::invalid;
        apart -= falls[task];
    }
    if (apart == 0) return RowOrder::sorted;
    return has_duplicates(engine, rows, columns, start, index) ? RowOrder::duplicates
                                                               : RowOrder::unsorted;
}

// Sorts the entries of some rows by row and column with a radix sort. Equal entries keep their
// order.
template <class Index, class Value>
class EntrySort {
  public:
    static constexpr int digit = 11;  // bits
    static constexpr index_t most_rows = index_t(1) << digit;

    struct Entry {
        Index column;
        std::int32_t row;
        Value value;
    };
    std::vector<Entry> entries;

    void run(index_t columns) {
        for (int shift = 0; shift == 0 || (columns - 1) >> shift > 0; shift += digit)
            distribute([&](const Entry& e) { return index_t(e.column) >> shift; });
        distribute([](const Entry& e) { return index_t(e.row); });
    }

  private:
    template <class Number>
    void distribute(const Number& number) {
        constexpr index_t mask = most_rows - 1;
        std::fill(place_.begin(), place_.end(), 0);
        for (const Entry& e : entries) ++place_[(number(e) & mask) + 1];
        for (index_t k = 0; k < mask; ++k) place_[k + 1] += place_[k];
        sorted_.resize(entries.size());
        for (const Entry& e : entries) sorted_[place_[number(e) & mask]++] = e;
        entries.swap(sorted_);
    }

    std::vector<Entry> sorted_;
    std::vector<index_t> place_ = std::vector<index_t>(most_rows + 1);
};

// Writes the rows of a compressed matrix with sorted entries. Entries with the same row and column
// are added up in their order. Returns the number of entries. The output needs as much room as the
// input.
template <class Index, class Value>
index_t sort_rows(const Engine& engine, index_t rows, index_t columns, const Index* start,
                  const Index* index, const Value* value, Index* new_start, Index* new_index,
                  Value* new_value) {
    using Sort = EntrySort<Index, Value>;
    constexpr index_t at_once = 1 << 15;  // entries that fit the cache
    const index_t per_row = start[rows] / std::max<index_t>(rows, 1) + 1;
    const index_t piece = std::clamp<index_t>(at_once / per_row, 1, Sort::most_rows);
    const index_t pieces = (rows + piece - 1) / piece;
    std::vector<Sort> sorts(engine.threads);
    std::vector<char> twice(pieces);
    engine.loop(pieces, 16.0 * double(start[rows]), [&](index_t task, int worker) {
        const index_t first = task * piece, last = std::min(rows, first + piece);
        Sort& sort = sorts[worker];
        sort.entries.clear();
        for (index_t i = first; i < last; ++i)
            for (index_t k = start[i]; k < index_t(start[i + 1]); ++k)
                sort.entries.push_back({index[k], std::int32_t(i - first), value[k]});
        sort.run(columns);
        index_t k = start[first];
        bool equal = false;
        const typename Sort::Entry* before = nullptr;
        for (const auto& e : sort.entries) {
            equal |= before && before->row == e.row && before->column == e.column;
            before = &e;
            new_index[k] = e.column;
            new_value[k++] = e.value;
        }
        twice[task] = equal;
    });
    std::copy_n(start, rows + 1, new_start);
    if (std::none_of(twice.begin(), twice.end(), [](char equal) { return equal; }))
        return start[rows];
    index_t end = 0;
    for (index_t i = 0; i < rows; ++i) {
        const index_t first = end;
        new_start[i] = Index(first);
        for (index_t k = start[i]; k < index_t(start[i + 1]); ++k) {
            if (end > first && new_index[end - 1] == new_index[k]) {
                new_value[end - 1] += new_value[k];
            } else {
                new_index[end] = new_index[k];
                new_value[end++] = new_value[k];
            }
        }
    }
    new_start[rows] = Index(end);
    return end;
}

}  // namespace sx
