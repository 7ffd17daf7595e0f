// Products of a sparse X and of its transpose with many columns.
//
// Problem    C += A B, for a compressed A (X by samples, or X^T by features) and B (., N).
// Given      B with rows padded to whole vectors (ldb), so that no load needs a mask. N = 1 uses
//            scalars without padding.
// On return  every entry of C has been summed over the entries of its row of A in their order: the
//            bits depend neither on the number of threads nor on the neighbouring columns.
#pragma once

#include <type_traits>

#include "matrix/views.hpp"
#include "simd/scalar_or_vector.hpp"

namespace sx {
inline namespace SX_ISA {

constexpr index_t look_ahead = 16;  // entries between the prefetch of a row of B and its use

// Stands for the type of the values if all of them are 1.
struct One {};

template <class T, class Source>
SX_INLINE T value_of(const Source* value, index_t k) {
    if constexpr (std::is_same_v<Source, One>)
        return T(1);
    else
        return static_cast<T>(value[k]);
}

// The end of the entries whose position is known in advance, so that rows of B can be prefetched; 0
// if the rows of A are not contiguous.
template <class Index>
SX_INLINE index_t entries_known(const CompressedOperand& P, const Index* start, index_t rows) {
    return P.list || P.from || P.to ? 0 : index_t(start[P.first + rows]);
}

template <class T, class V, int width>
SX_INLINE void fetch_tile(const T* at) {
    constexpr index_t step = std::is_same_v<V, T> ? 1 : lanes<T>;
#pragma GCC unroll 4
    for (int v = 0; v < width; ++v) __builtin_prefetch(at + v * step);
}

// Rows [i0, i1) of C, columns [c, c + width vectors), of which `present` exist in C.
template <class T, class V, int width, class Index, class Source>
void gather_tile(const CompressedOperand& P, index_t i0, index_t i1, const T* B, index_t ldb,
                 index_t c, index_t present, T* C, index_t ldc) {
    constexpr index_t step = std::is_same_v<V, T> ? 1 : lanes<T>;
    const Index* start = static_cast<const Index*>(P.A.start);
    const Index* index = static_cast<const Index*>(P.A.index);
    const Source* value = static_cast<const Source*>(P.A.value);
    B += c - P.shift * ldb;
    const index_t known = entries_known(P, start, i1);
    for (index_t i = i0; i < i1; ++i) {
        const index_t row = P.list ? P.list[i] : P.first + i;
        const index_t begin = P.from ? P.from[row] : index_t(start[row]);
        const index_t end = P.to ? P.to[row] : index_t(start[row + 1]);
        if (begin == end) continue;
        T* at = C + i * ldc + c;
        T edge[width * step] = {};
        const bool whole = present >= width * step;
        if (!whole) std::memcpy(edge, at, present * sizeof(T));
        T* sums = whole ? at : edge;
        V sum[width];
#pragma GCC unroll 4
        for (int v = 0; v < width; ++v) sum[v] = load_as<T, V>(sums + v * step);
        const auto add = [&](index_t k) {
            const V x = broadcast_as<T, V>(value_of<T>(value, k));
            const T* other = B + index_t(index[k]) * ldb;
#pragma GCC unroll 4
            for (int v = 0; v < width; ++v)
                sum[v] = add_product<V>(sum[v], x, load_as<T, V>(other + v * step));
        };
        index_t k = begin;
        for (const index_t stop = known ? known : end; k < end && k < stop - look_ahead; ++k) {
            fetch_tile<T, V, width>(B + index_t(index[k + look_ahead]) * ldb);
            add(k);
        }
#pragma GCC unroll 2
        for (; k < end; ++k) add(k);
#pragma GCC unroll 4
        for (int v = 0; v < width; ++v) store_as<T, V>(sums + v * step, sum[v]);
        if (!whole) std::memcpy(at, edge, present * sizeof(T));
    }
}

// Columns [c, c + width vectors) of C += A^T B, row by row of A: for the few rows of a mini-batch,
// or if A is not stored by columns. Every entry of C is summed in the order of the rows, so the
// bits are the same as with gather from the columns of A. Rows of C may end within a vector.
template <class T, class V, int width, bool whole, class Index, class Source>
void scatter_tile(const CompressedOperand& P, index_t rows, const T* B, index_t ldb, index_t c,
                  index_t present, T* C, index_t ldc) {
    constexpr index_t step = std::is_same_v<V, T> ? 1 : lanes<T>;
    const Index* start = static_cast<const Index*>(P.A.start);
    const Index* index = static_cast<const Index*>(P.A.index);
    const Source* value = static_cast<const Source*>(P.A.value);
    const index_t known = entries_known(P, start, rows);
    for (index_t i = 0; i < rows; ++i) {
        const index_t row = P.list ? P.list[i] : P.first + i;
        const index_t begin = P.from ? P.from[row] : index_t(start[row]);
        const index_t end = P.to ? P.to[row] : index_t(start[row + 1]);
        V r[width];
#pragma GCC unroll 4
        for (int v = 0; v < width; ++v) r[v] = load_as<T, V>(B + i * ldb + c + v * step);
        const auto add = [&](index_t k) {
            const V x = broadcast_as<T, V>(value_of<T>(value, k));
            T* at = C + index_t(index[k]) * ldc + c;
#pragma GCC unroll 4
            for (int v = 0; v < width - !whole; ++v)
                store_as<T, V>(at + v * step,
                               add_product<V>(load_as<T, V>(at + v * step), x, r[v]));
            if constexpr (!whole) {
                constexpr index_t last = (width - 1) * step;
                const int left = int(present - last);
                store_partial<T>(at + last,
                                 load_partial<T>(at + last, left, T(0)) + x * r[width - 1], left);
            }
        };
        index_t k = begin;
        for (const index_t stop = known ? known : end; k < end && k < stop - look_ahead; ++k) {
            fetch_tile<T, V, width>(C + index_t(index[k + look_ahead]) * ldc + c);
            add(k);
        }
#pragma GCC unroll 2
        for (; k < end; ++k) add(k);
    }
}

// Like with_types, but passes One if all values are 1.
template <class Run>
void with_values(const CompressedView& A, Run run) {
    if (!A.ones)
        with_types(A, run);
    else if (A.wide)
        run(std::int64_t(), One());
    else
        run(std::int32_t(), One());
}

// Calls run.template operator()<V, width>(c, present) for the tiles of columns [c0, c1) of N.
template <class T, class Run>
void for_tiles(index_t c0, index_t c1, index_t N, Run run) {
    if (N == 1) return run.template operator()<T, 1>(0, 1);
    for (index_t c = c0; c < c1;) {
        const index_t left = (c1 - c + lanes<T> - 1) / lanes<T>;
        if (left >= 4) {
            run.template operator()<vec<T>, 4>(c, N - c);
            c += 4 * lanes<T>;
        } else if (left >= 2) {
            run.template operator()<vec<T>, 2>(c, N - c);
            c += 2 * lanes<T>;
        } else {
            run.template operator()<vec<T>, 1>(c, N - c);
            c += lanes<T>;
        }
    }
}

// Rows [i0, i1), columns [c0, c1) of C += A B.
template <class T>
void gather_block(const CompressedOperand& P, index_t i0, index_t i1, const T* B, index_t ldb,
                  index_t c0, index_t c1, index_t N, T* C, index_t ldc) {
    with_values(P.A, [&]<class Index, class Source>(Index, Source) {
        for_tiles<T>(c0, c1, N, [&]<class V, int width>(index_t c, index_t present) {
            gather_tile<T, V, width, Index, Source>(P, i0, i1, B, ldb, c, present, C, ldc);
        });
    });
}

// Columns [c0, c1) of C += A^T B for `rows` rows of A.
template <class T>
void scatter_block(const CompressedOperand& P, index_t rows, const T* B, index_t ldb, index_t c0,
                   index_t c1, index_t N, T* C, index_t ldc) {
    with_values(P.A, [&]<class Index, class Source>(Index, Source) {
        for_tiles<T>(c0, c1, N, [&]<class V, int width>(index_t c, index_t present) {
            constexpr bool single = std::is_same_v<V, T>;
            if (single || present >= width * lanes<T> || ldc >= c + width * lanes<T>)
                scatter_tile<T, V, width, true, Index, Source>(P, rows, B, ldb, c, present, C, ldc);
            else if constexpr (!single)
                scatter_tile<T, V, width, false, Index, Source>(P, rows, B, ldb, c, present, C,
                                                                ldc);
        });
    });
}

}  // namespace SX_ISA
}  // namespace sx
