// Cholesky factors of small symmetric matrices that may be singular.
//
// Problem    A = L L^T and A x = g, for A positive semidefinite of order m, up to some hundreds.
// Promise    The order of every sum depends only on m. The result of a library may depend on the
//            number of threads.
// See        Golub and Van Loan, Matrix Computations, section 4.2 (by blocks of columns).
#pragma once

#include <cstring>

#include "gram/cholesky_kernels.hpp"
#include "matrix/dense_product.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

constexpr index_t cholesky_block = 48;  // columns: whole panels in every instruction set
constexpr index_t cholesky_rows = 8;    // rows below the diagonal, processed together

inline index_t cholesky_space(index_t m) {
    return cholesky_block * m + cholesky_block * cholesky_block + m;
}

SX_INLINE double dot(const double* a, const double* b, index_t count) {
    constexpr index_t step = lanes<double>;
    vec<double> sum[4] = {};
    index_t i = 0;
    for (; i + 4 * step <= count; i += 4 * step)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
            sum[v] += load<double>(a + i + v * step) * load<double>(b + i + v * step);
    for (; i + step <= count; i += step) sum[0] += load<double>(a + i) * load<double>(b + i);
    const vec<double> all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double total = 0;
    for (int l = 0; l < step; ++l) total += all[l];
    for (; i < count; ++i) total += a[i] * b[i];
    return total;
}

// y += f x
SX_INLINE void add_multiple(double f, const double* x, double* y, index_t count) {
    constexpr index_t step = lanes<double>;
    index_t i = 0;
    for (; i + step <= count; i += step)
        store<double>(y + i, load<double>(y + i) + f * load<double>(x + i));
#if defined(__AVX512F__)
    const int rest = int(count - i);
    store_partial<double>(
        y + i, load_partial<double>(y + i, rest, 0.0) + f * load_partial<double>(x + i, rest, 0.0),
        rest);
#else
    for (; i < count; ++i) y[i] += f * x[i];
#endif
}

// Packs minus the transpose of rows [j0, j0 + width), columns [0, j0) of L into panels.
inline void pack_negative(const double* L, index_t m, index_t j0, index_t width, double* packed) {
    constexpr index_t wide = tile * lanes<double>;
    const index_t padded = packed_columns<double>(width);
    for (index_t c = 0; c < padded; c += wide) {
        const index_t panel = padded - c < wide ? padded - c : wide;
        double* out = packed + c * j0;
        for (index_t r = 0; r < panel; ++r)
            for (index_t k = 0; k < j0; ++k)
                out[k * panel + r] = c + r < width ? -L[(j0 + c + r) * m + k] : 0.0;
    }
}

// Problem    the Cholesky factor L of A = L L^T.
// Given      the lower triangle of A in C order; space for cholesky_space(m) doubles.
// On return  L in place of A; what was above the diagonal is overwritten. A pivot that may be 0 up
//            to rounding is treated as 0: its column of L becomes 0, and so does the solution
//            there. The solutions satisfy A x = g for every g in the range of A.
inline void cholesky_factor(double* A, index_t m, double* space, void* scratch) {
    const double rounding = double(m) * 0x1p-52;
    double* panels = space;
    double* across = panels + cholesky_block * m;  // the diagonal block, transposed
    double* diagonal = across + cholesky_block * cholesky_block;
    for (index_t j = 0; j < m; ++j) diagonal[j] = A[j * m + j];
    const DenseOperand left = {{A, Type::f64, m, m, m, 1}, nullptr, 0, false};
    for (index_t j0 = 0; j0 < m; j0 += cholesky_block) {
        const index_t width = m - j0 < cholesky_block ? m - j0 : cholesky_block;
        if (j0) {
            pack_negative(A, m, j0, width, panels);
            for (index_t i0 = j0; i0 < m; i0 += block_rows) {
                const index_t i1 = m < i0 + block_rows ? m : i0 + block_rows;
                multiply_rows<double, double>(left, i0, i1, j0, panels, width, A + j0, m, scratch);
            }
        }
        // Column by column, for independent rows at the same time: first the rows of the diagonal
        // block, then several rows below it at a time.
        double inverse[cholesky_block];
        double* corner = A + j0 * m + j0;
        for (index_t c = 0; c < width; ++c) {
            double* pivot = corner + c * m + c;
            const bool counts = *pivot > rounding * diagonal[j0 + c];
            *pivot = counts ? __builtin_sqrt(*pivot) : 0.0;
            inverse[c] = counts ? 1.0 / *pivot : 0.0;
            double* column = across + c * cholesky_block;
            for (index_t i = c + 1; i < width; ++i) column[i] = corner[i * m + c] *= inverse[c];
            for (index_t i = c + 1; i < width; ++i)
                add_multiple(-column[i], column + c + 1, corner + i * m + c + 1, i - c);
        }
        for (index_t i0 = j0 + width; i0 < m; i0 += cholesky_rows)
            for (index_t c = 0; c < width; ++c)
                for (index_t i = i0; i < i0 + cholesky_rows && i < m; ++i) {
                    double* row = A + i * m + j0;
                    row[c] *= inverse[c];
                    add_multiple(-row[c], across + c * cholesky_block + c + 1, row + c + 1,
                                 width - c - 1);
                }
    }
}

// Problem    L L^T x = g.
// Given      L from cholesky_factor, and g in x.
// On return  x; 0 where the pivot was treated as 0.
inline void cholesky_solve(const double* L, index_t m, double* x) {
    for (index_t i = 0; i < m; ++i) {
        const double pivot = L[i * m + i];
        x[i] = pivot > 0 ? (x[i] - dot(L + i * m, x, i)) / pivot : 0.0;
    }
    for (index_t i = m; i-- > 0;) {
        const double pivot = L[i * m + i];
        x[i] = pivot > 0 ? x[i] / pivot : 0.0;
        add_multiple(-x[i], L + i * m, x, i);
    }
}

}  // namespace SX_ISA
}  // namespace sx
