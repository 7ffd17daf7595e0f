// Columns of X and what coordinate descent does with one of them.
#pragma once

#include <cstdlib>
#include <new>

#include "matrix.hpp"
#include "simd.hpp"

namespace sx {
inline namespace SX_ISA {

// Zeroed memory for the length of a call.
template <class T>
class Scratch {
  public:
    explicit Scratch(index_t count)
        : at_(static_cast<T*>(std::calloc(std::size_t(count > 0 ? count : 1), sizeof(T)))) {
        if (!at_) throw std::bad_alloc();
    }
    ~Scratch() { std::free(at_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T* get() const { return at_; }
    T& operator[](index_t i) const { return at_[i]; }

  private:
    T* at_;
};

// Entry e of a column stands in row row(e) and is at(e).
template <class Index, class Value>
struct ListedColumn {
    const Index* index;
    const Value* value;
    index_t count;
    SX_INLINE index_t row(index_t e) const { return index_t(index[e]); }
    SX_INLINE double at(index_t e) const { return double(value[e]); }
};

template <class Value>
struct DenseColumn {
    const Value* value;
    index_t count;
    SX_INLINE index_t row(index_t e) const { return e; }
    SX_INLINE double at(index_t e) const { return double(value[e]); }
};

// What a bias multiplies.
struct OnesColumn {
    index_t count;
    SX_INLINE index_t row(index_t e) const { return e; }
    SX_INLINE double at(index_t) const { return 1; }
};

template <class Index, class Value>
struct ListedColumns {
    const Index* start;
    const Index* index;
    const Value* value;
    SX_INLINE ListedColumn<Index, Value> column(index_t j) const {
        const index_t first = index_t(start[j]);
        return {index + first, value + first, index_t(start[j + 1]) - first};
    }
};

template <class Value>
struct DenseColumns {
    const Value* data;
    index_t rows, stride;
    SX_INLINE DenseColumn<Value> column(index_t j) const { return {data + j * stride, rows}; }
};

constexpr int sums_at_once = 8;  // independent sums, so that an addition need not wait for the last

// The sum of term(e) over the entries of a column, always in the same order.
template <class Column, class Term>
SX_INLINE double sum_entries(const Column& column, const Term& term) {
    double sum[sums_at_once] = {};
    index_t e = 0;
    for (; e + sums_at_once <= column.count; e += sums_at_once)
#pragma GCC unroll 8
        for (int a = 0; a < sums_at_once; ++a) sum[a] += term(e + a);
    for (int a = 0; e < column.count; ++e, ++a) sum[a] += term(e);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

}  // namespace SX_ISA
}  // namespace sx
