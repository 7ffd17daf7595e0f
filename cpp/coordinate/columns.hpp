// Columns of X, and the operations of coordinate descent on a single column.
#pragma once

#include <cstdlib>
#include <new>

#include "matrix/views.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

// Zero-initialised memory, freed at the end of the scope.
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

// A column with the origin subtracted: entry e is in row row(e) and has the value at(e).
template <class Index, class Value>
struct ListedColumn {
    const Index* index;
    const Value* value;
    double origin;
    index_t count;
    SX_INLINE index_t row(index_t e) const { return index_t(index[e]); }
    SX_INLINE double at(index_t e) const { return double(value[e]) - origin; }
};

template <class Value>
struct DenseColumn {
    const Value* value;
    double origin;
    index_t count;
    SX_INLINE index_t row(index_t e) const { return e; }
    SX_INLINE double at(index_t e) const { return double(value[e]) - origin; }
};

// The column of ones that belongs to the bias.
struct OnesColumn {
    index_t count;
    SX_INLINE index_t row(index_t e) const { return e; }
    SX_INLINE double at(index_t) const { return 1; }
};

template <class Index, class Value>
struct ListedColumns {
    static constexpr bool listed = true;
    const Index* start;
    const Index* index;
    const Value* value;
    const double* origin;
    SX_INLINE ListedColumn<Index, Value> column(index_t j) const {
        const index_t first = index_t(start[j]);
        return {index + first, value + first, origin[j], index_t(start[j + 1]) - first};
    }
};

template <class Value>
struct DenseColumns {
    static constexpr bool listed = false;
    const Value* data;
    index_t rows, stride;
    const double* origin;
    SX_INLINE DenseColumn<Value> column(index_t j) const {
        return {data + j * stride, origin[j], rows};
    }
};

constexpr int sums_at_once = 8;  // independent partial sums, so that additions overlap

// Sums term(e) over the entries of a column, always in the same order.
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

// A copy of some columns of X by rows, with the origins subtracted. `number` is the position of a
// column in `list`. Stored in float32, which is precise enough for a search direction. Each column
// is scaled by a power of two (its unit).
class ColumnsByRow {
  public:
    template <class Columns>
    ColumnsByRow(const Columns& X, index_t rows, const index_t* list, index_t count)
        : entries_(count_entries(X, list, count)),
          start_(rows + 1),
          unit_(count),
          number_(entries_),
          value_(entries_) {
        each(X, list, count, [&](index_t a, index_t row, double x) {
            ++start_[row + 1];
            const double size = __builtin_fabs(x);
            if (size > unit_[a]) unit_[a] = size;
        });
        for (index_t a = 0; a < count; ++a) unit_[a] = power_of_two(unit_[a]);
        for (index_t i = 0; i < rows; ++i) start_[i + 1] += start_[i];
        Scratch<index_t> next(rows);
        for (index_t i = 0; i < rows; ++i) next[i] = start_[i];
        each(X, list, count, [&](index_t a, index_t row, double x) {
            const index_t at = next[row]++;
            number_[at] = std::int32_t(a);
            value_[at] = float(x / unit_[a]);
        });
    }

    SX_INLINE ListedColumn<std::int32_t, float> row(index_t i) const {
        return {number_.get() + start_[i], value_.get() + start_[i], 0.0,
                start_[i + 1] - start_[i]};
    }

    double unit(index_t number) const { return unit_[number]; }
    index_t entries() const { return entries_; }

  private:
    template <class Columns>
    static index_t count_entries(const Columns& X, const index_t* list, index_t count) {
        index_t sum = 0;
        for (index_t a = 0; a < count; ++a) sum += X.column(list[a]).count;
        return sum;
    }

    template <class Columns, class Run>
    static SX_INLINE void each(const Columns& X, const index_t* list, index_t count,
                               const Run& run) {
        for (index_t a = 0; a < count; ++a) {
            const auto column = X.column(list[a]);
            for (index_t e = 0; e < column.count; ++e) run(a, column.row(e), column.at(e));
        }
    }

    // Returns the power of two that scales the largest entry to between 1 and 2; 1 for a zero
    // column.
    static double power_of_two(double largest) {
        int exponent = 0;
        __builtin_frexp(largest, &exponent);
        return largest > 0 ? __builtin_ldexp(1.0, exponent - 1) : 1.0;
    }

    index_t entries_;
    Scratch<index_t> start_;
    Scratch<double> unit_;
    Scratch<std::int32_t> number_;
    Scratch<float> value_;
};

}  // namespace SX_ISA
}  // namespace sx
