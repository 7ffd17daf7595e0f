// Products of a dense X and of its transpose with many columns.
//
// Problem    Z = X W + b and G = X^T R, for W (d, N), R (n, N), N = models x outputs.
// Promise    Every entry of a result is summed in one fixed order, with the same instructions in
//            every column: the bits of a model depend neither on the number of threads nor on the
//            other models. A library's matrix product guarantees neither, and would first copy an
//            integer X to floating point as a whole.
// See        Goto and van de Geijn, Anatomy of high-performance matrix multiplication, 2008.
#pragma once

#include <cstring>

#include "matrix/views.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

// A register tile has `strip` rows and up to `tile` vectors of columns. 8 x 3 uses 28 of the 32
// registers of AVX-512, and 4 x 3 uses all 16 of the other instruction sets.
#if defined(__AVX512F__)
constexpr int strip = 8;
#else
constexpr int strip = 4;
#endif
constexpr int tile = 3;
constexpr index_t block_rows = 64;    // rows of the packed block of X: 64 x 384 doubles fit into L2
constexpr index_t block_depth = 384;  // terms of a sum between two updates of the result

template <class T>
index_t packed_columns(index_t columns) {
    return (columns + lanes<T> - 1) / lanes<T> * lanes<T>;
}

// Packs B (depth, N) into panels of up to `tile` vectors, zero-padded to whole vectors.
template <class T>
void pack_panels(const T* B, index_t ldb, index_t depth, index_t N, index_t first_column,
                 index_t last_column, T* packed) {
    constexpr index_t wide = tile * lanes<T>;
    const index_t padded = packed_columns<T>(N);
    for (index_t c = first_column; c < last_column; c += wide) {
        const index_t width = padded - c < wide ? padded - c : wide;
        const index_t present = N - c < width ? N - c : width;
        T* out = packed + c * depth;
        for (index_t k = 0; k < depth; ++k, out += width) {
            std::memcpy(out, B + k * ldb + c, present * sizeof(T));
            for (index_t j = present; j < width; ++j) out[j] = T(0);
        }
    }
}

// The lines of one strip: pointers to the first term of each of its rows. Short strips are padded
// by repeating their first row, whose results are not stored.
template <class Source>
struct Lines {
    const Source* line[strip];
    const index_t* gather;  // the samples that are the terms, if they are listed
    index_t first, step;    // otherwise term k is sample first + k, `step` elements apart
    bool side_by_side;      // the rows of the strip are adjacent in memory

    Lines(const DenseOperand& A, index_t i0, index_t height) {
        const Source* base = static_cast<const Source*>(A.X.data);
        for (index_t r = 0; r < strip; ++r) {
            const index_t i = r < height ? i0 + r : i0;
            const index_t sample = A.rows && !A.transposed ? A.rows[i] : A.first + i;
            line[r] = base + (A.transposed ? i * A.X.column_stride : sample * A.X.row_stride);
        }
        gather = A.transposed ? A.rows : nullptr;
        first = A.transposed ? A.first : 0;
        step = A.transposed ? A.X.row_stride : A.X.column_stride;
        side_by_side = height == strip;
        for (int r = 1; r < strip; ++r) side_by_side &= line[r] == line[0] + r;
    }

    index_t offset(index_t k) const { return (gather ? gather[k] : first + k) * step; }
};

// Copies terms [k0, k0 + depth) of one strip of X to [term][strip], and drops terms that are zero
// in the whole strip. Adding zero changes no bit if the weights are finite, and mostly-zero data
// (images) needs half the work. Returns the number of terms kept; their indices go to `kept`.
template <class T, class Source>
index_t pack_strip(const Lines<Source>& X, index_t k0, index_t depth, T* out, std::int32_t* kept) {
    if (X.side_by_side) {
        for (index_t k = 0; k < depth; ++k) {
            const Source* from = X.line[0] + X.offset(k0 + k);
            for (int r = 0; r < strip; ++r) out[k * strip + r] = static_cast<T>(from[r]);
        }
    } else if (X.step == 1 && !X.gather) {
        for (int r = 0; r < strip; ++r) {
            const Source* from = X.line[r] + X.first + k0;
            for (index_t k = 0; k < depth; ++k) out[k * strip + r] = static_cast<T>(from[k]);
        }
    } else {
        for (index_t k = 0; k < depth; ++k) {
            const index_t at = X.offset(k0 + k);
            for (int r = 0; r < strip; ++r) out[k * strip + r] = static_cast<T>(X.line[r][at]);
        }
    }
    constexpr int words = strip * sizeof(T) / 8;
    index_t count = 0;
    for (index_t k = 0; k < depth; ++k) {
        std::uint64_t word[words], any = 0;
        std::memcpy(word, out + k * strip, sizeof word);
        for (int i = 0; i < words; ++i) any |= word[i];
        if (count != k) std::memcpy(out + count * strip, word, sizeof word);
        kept[count] = static_cast<std::int32_t>(k);
        count += any != 0;
    }
    return count;
}

// Adds a tile of sums to C[0..height, 0..present).
template <class T, int V>
inline void add_tile(const vec<T> (&sum)[strip][V], T* C, index_t ldc, index_t height,
                     index_t present) {
#pragma GCC unroll 8
    for (int r = 0; r < strip; ++r) {
        if (r >= height) break;
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
            T* at = C + r * ldc + v * lanes<T>;
            const index_t here = present - v * lanes<T>;
            if (here >= lanes<T>)
                store<T>(at, load<T>(at) + sum[r][v]);
            else if (here > 0)
                store_partial<T>(at, load_partial<T>(at, here, T(0)) + sum[r][v], here);
        }
    }
}

// C[0..height, 0..present) += packed strip of X times one panel of V vectors.
template <class T, int V>
inline void multiply_packed(index_t terms, const T* X, const std::int32_t* kept, const T* panel,
                            T* C, index_t ldc, index_t height, index_t present) {
    vec<T> sum[strip][V] = {};
    for (index_t e = 0; e < terms; ++e, X += strip) {
        const T* B = panel + kept[e] * (V * lanes<T>);
        vec<T> column[V];
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) column[v] = load<T>(B + v * lanes<T>);
#pragma GCC unroll 8
        for (int r = 0; r < strip; ++r) {
            const vec<T> x = broadcast<T>(X[r]);
#pragma GCC unroll 3
            for (int v = 0; v < V; ++v) sum[r][v] += x * column[v];
        }
    }
    add_tile<T, V>(sum, C, ldc, height, present);
}

// Does the same directly from X. With only one panel, packing X does not pay.
template <class T, int V, class Source>
inline void multiply_direct(const Lines<Source>& X, index_t k0, index_t depth, const T* panel, T* C,
                            index_t ldc, index_t height, index_t present) {
    vec<T> sum[strip][V] = {};
    for (index_t k = 0; k < depth; ++k, panel += V * lanes<T>) {
        const index_t at = X.offset(k0 + k);
        vec<T> column[V];
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) column[v] = load<T>(panel + v * lanes<T>);
#pragma GCC unroll 8
        for (int r = 0; r < strip; ++r) {
            const vec<T> x = broadcast<T>(static_cast<T>(X.line[r][at]));
#pragma GCC unroll 3
            for (int v = 0; v < V; ++v) sum[r][v] += x * column[v];
        }
    }
    add_tile<T, V>(sum, C, ldc, height, present);
}

// Does the same for a matrix B of a single column. Vectors of columns would be mostly padding; the
// rounding is the same.
template <class T, class Source>
inline void multiply_column(const Lines<Source>& X, index_t k0, index_t depth, index_t width,
                            const T* panel, T* C, index_t ldc, index_t height) {
    T sum[strip] = {};
    for (index_t k = 0; k < depth; ++k, panel += width) {
        const index_t at = X.offset(k0 + k);
#pragma GCC unroll 8
        for (int r = 0; r < strip; ++r)
            sum[r] = add_product(sum[r], static_cast<T>(X.line[r][at]), *panel);
    }
    for (index_t r = 0; r < height; ++r) C[r * ldc] += sum[r];
}

template <class T>
constexpr index_t multiply_scratch_bytes =
    block_rows * block_depth * sizeof(T) + (block_rows / strip) * block_depth * 4;

// Adds rows [i0, i1) of A B to C, with B in panels. Handles at most block_rows rows.
template <class T, class Source>
void multiply_rows(const DenseOperand& A, index_t i0, index_t i1, index_t depth, const T* panels,
                   index_t N, T* C, index_t ldc, void* scratch) {
    constexpr index_t wide = tile * lanes<T>;
    T* packed = static_cast<T*>(scratch);
    auto* kept = reinterpret_cast<std::int32_t*>(packed + block_rows * block_depth);
    const index_t padded = packed_columns<T>(N);
    const index_t strips = (i1 - i0 + strip - 1) / strip;
    index_t terms[block_rows / strip];
    const auto height = [&](index_t q) {
        const index_t left = i1 - i0 - q * strip;
        return left < strip ? left : strip;
    };
    for (index_t k0 = 0; k0 < depth; k0 += block_depth) {
        const index_t deep = depth - k0 < block_depth ? depth - k0 : block_depth;
        if (padded <= 2 * lanes<T>) {
            for (index_t q = 0; q < strips; ++q) {
                const Lines<Source> X(A, i0 + q * strip, height(q));
                T* at = C + (i0 + q * strip) * ldc;
                if (N == 1)
                    multiply_column<T>(X, k0, deep, padded, panels + k0 * padded, at, ldc,
                                       height(q));
                else if (padded == lanes<T>)
                    multiply_direct<T, 1>(X, k0, deep, panels + k0 * padded, at, ldc, height(q), N);
                else
                    multiply_direct<T, 2>(X, k0, deep, panels + k0 * padded, at, ldc, height(q), N);
            }
            continue;
        }
        for (index_t q = 0; q < strips; ++q)
            terms[q] = pack_strip<T>(Lines<Source>(A, i0 + q * strip, height(q)), k0, deep,
                                     packed + q * strip * block_depth, kept + q * block_depth);
        for (index_t c = 0; c < padded; c += wide) {
            const index_t width = padded - c < wide ? padded - c : wide;
            const T* panel = panels + c * depth + k0 * width;
            const index_t present = N - c < width ? N - c : width;
            for (index_t q = 0; q < strips; ++q) {
                const T* X = packed + q * strip * block_depth;
                const std::int32_t* list = kept + q * block_depth;
                T* at = C + (i0 + q * strip) * ldc + c;
                if (width == wide)
                    multiply_packed<T, 3>(terms[q], X, list, panel, at, ldc, height(q), present);
                else if (width == 2 * lanes<T>)
                    multiply_packed<T, 2>(terms[q], X, list, panel, at, ldc, height(q), present);
                else
                    multiply_packed<T, 1>(terms[q], X, list, panel, at, ldc, height(q), present);
            }
        }
    }
}

template <class T>
void multiply_block(const DenseOperand& A, index_t i0, index_t i1, index_t depth, const T* panels,
                    index_t N, T* C, index_t ldc, void* scratch) {
    with_element_type(A.X.type, [&]<class Source>(Source) {
        multiply_rows<T, Source>(A, i0, i1, depth, panels, N, C, ldc, scratch);
    });
}

}  // namespace SX_ISA
}  // namespace sx
