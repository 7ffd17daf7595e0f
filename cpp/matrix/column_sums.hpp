// The column sums of a block of rows.
#pragma once

#include "matrix/views.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

constexpr int sum_ways = 8;

template <class V>
SX_INLINE V sum_of_parts(const V* part) {
    static_assert(sum_ways == 8);
    return ((part[0] + part[4]) + (part[2] + part[6])) +
           ((part[1] + part[5]) + (part[3] + part[7]));
}

// Loads the first `count` numbers of a row as doubles; the other lanes are 0.
template <class T>
SX_INLINE vec<double> doubles(const T* from, int count) {
    if constexpr (sizeof(T) == sizeof(double)) {
        return count == lanes<double> ? load<double>(from) : load_partial<double>(from, count, 0.0);
    } else {
        double x[lanes<double>] = {};
        for (int k = 0; k < count; ++k) x[k] = double(from[k]);
        return load<double>(x);
    }
}

// Problem    out[c] = the sum of A[i][c] over the rows of A (rows, width).
// On return  row i was added to partial sum i mod 8 of its column. Additions to different partial
//            sums overlap, and the bits do not depend on the width.
template <class T>
void sum_columns(const T* A, index_t rows, index_t width, double* out) {
    if (width == 1) {  // adding row i to part i mod 8 reads contiguous numbers
        double part[sum_ways] = {};
        index_t i = 0;
        for (; i + sum_ways <= rows; i += sum_ways)
            for (int k = 0; k < sum_ways; ++k) part[k] += double(A[i + k]);
        for (; i < rows; ++i) part[i % sum_ways] += double(A[i]);
        *out = sum_of_parts(part);
        return;
    }
    for (index_t c = 0; c < width; c += lanes<double>) {
        const int count = int(width - c < lanes<double> ? width - c : lanes<double>);
        vec<double> part[sum_ways] = {};
        const T* from = A + c;
        index_t i = 0;
        for (; i + sum_ways <= rows; i += sum_ways)
            for (int k = 0; k < sum_ways; ++k, from += width) part[k] += doubles(from, count);
        for (int k = 0; k < sum_ways; ++k, from += width)
            if (i + k < rows) part[k] += doubles(from, count);
        store_partial<double>(out + c, sum_of_parts(part), count);
    }
}

}  // namespace SX_ISA
}  // namespace sx
