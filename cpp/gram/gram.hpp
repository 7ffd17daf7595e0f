// Weighted Gram matrices for many columns of weights h.
//
// Problem    H_p = sum_i h_ip [x_i; 1] [x_i; 1]^T, lower triangle, for every column p of h.
// Given      X by samples, or dense; h (n, P). An origin, if given, is subtracted from every x_i.
// On return  every entry has been summed over the rows of X in their order, with the same
//            instructions in every lane: the bits depend neither on the number of threads nor on
//            the neighbouring columns.
#pragma once

#include "gram/gram_kernels.hpp"
#include "matrix/dense_product.hpp"
#include "matrix/sparse_product.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

template <class V>
SX_INLINE bool all_zero(const V& x) {
    double lane[sizeof(V) / sizeof(double)];
    std::memcpy(lane, &x, sizeof x);
    bool zero = true;
    for (double value : lane) zero &= value == 0;
    return zero;
}

// Adds x_j x_k r to the sums of (j, k), for all entries k of a row up to entry j.
template <class V, int width, class Index, class Source>
SX_INLINE void add_products(const V (&r)[width], const Index* index, const Source* value,
                            index_t count, double* sums) {
    constexpr index_t step = sizeof(V) / sizeof(double);
#pragma GCC unroll 4
    for (index_t k = 0; k < count; ++k) {
        const V x = broadcast_as<double, V>(value_of<double>(value, k));
        double* at = sums + index_t(index[k]) * (width * step);
#pragma GCC unroll 4
        for (int v = 0; v < width; ++v)
            store_as<double, V>(at + v * step,
                                add_product<V>(load_as<double, V>(at + v * step), r[v], x));
    }
}

template <class V, int width, class Index, class Source>
void gram_tile(const CompressedView& X, const GramTile& tile) {
    constexpr index_t step = sizeof(V) / sizeof(double), lot = width * step;
    const Index* start = static_cast<const Index*>(X.start);
    const auto triangle = [&](index_t j) { return (j * (j + 1) - tile.j0 * (tile.j0 + 1)) / 2; };
    const index_t d = X.columns;
    for (index_t i = 0; i < X.rows; ++i) {
        const Index* index = static_cast<const Index*>(X.index) + start[i];
        const index_t count = start[i + 1] - start[i];
        index_t a = 0;
        while (a < count && index[a] < tile.j0) ++a;
        if (tile.j1 <= d && (a == count || index[a] >= tile.j1)) continue;
        const double* h = tile.h + i * tile.columns + tile.c;
        V r[width];
        bool zero = true;
        for (int v = 0; v < width; ++v) {
            const index_t left = tile.columns - tile.c - v * step;
            if constexpr (step == 1)
                r[v] = *h;
            else
                r[v] = left >= step ? load<double>(h + v * step)
                       : left > 0   ? load_partial<double>(h + v * step, int(left), 0.0)
                                    : V{};
            zero &= all_zero(r[v]);
        }
        if (zero) continue;
        const auto add = [&](const auto* value) {
            for (; a < count && index[a] < tile.j1; ++a) {
                const V x = broadcast_as<double, V>(value_of<double>(value, a));
                V scaled[width];
                for (int v = 0; v < width; ++v) scaled[v] = r[v] * x;
                add_products<V, width>(scaled, index, value, a + 1,
                                       tile.sums + triangle(index[a]) * lot);
            }
            if (tile.j1 <= d) return;
            double* last = tile.sums + triangle(d) * lot;
            add_products<V, width>(r, index, value, count, last);
            last += d * lot;
            for (int v = 0; v < width; ++v)
                store_as<double, V>(last + v * step, load_as<double, V>(last + v * step) + r[v]);
        };
        const Source* value = static_cast<const Source*>(X.value) + start[i];
        if (tile.origin) {
            for (index_t e = 0; e < count; ++e)
                tile.row[e] = value_of<double>(value, e) - tile.origin[index[e]];
            add(static_cast<const double*>(tile.row));
        } else {
            add(value);
        }
    }
}

inline void gram_sparse(const CompressedView& X, const GramTile& tile) {
    with_values(X, [&]<class Index, class Source>(Index, Source) {
        if (tile.width == 1)
            gram_tile<double, 1, Index, Source>(X, tile);
        else if (tile.width == lanes<double>)
            gram_tile<vec<double>, 1, Index, Source>(X, tile);
        else if (tile.width == 2 * lanes<double>)
            gram_tile<vec<double>, 2, Index, Source>(X, tile);
        else
            gram_tile<vec<double>, 4, Index, Source>(X, tile);
    });
}

// Packs h [X - origin, 1] for rows [first, first + count) and the first `features` columns of X
// into panels. [X - origin]^T times these panels is a strip of the Gram matrix.
inline void weigh_panels(const DenseView& X, index_t first, index_t count, const double* h,
                         index_t step, const double* origin, index_t features, double* panels) {
    constexpr index_t wide = tile * lanes<double>;
    const index_t padded = packed_columns<double>(features + 1);
    with_element_type(X.type, [&]<class Source>(Source) {
        const Source* data = static_cast<const Source*>(X.data) + first * X.row_stride;
        for (index_t c = 0; c < padded; c += wide) {
            const index_t width = padded - c < wide ? padded - c : wide;
            const index_t present = features - c < width ? features - c : width;
            double* out = panels + c * count;
            for (index_t i = 0; i < count; ++i, out += width) {
                const double weight = h[i * step];
                const Source* row = data + i * X.row_stride + c * X.column_stride;
                const auto centred = [&](index_t j, index_t stride) {
                    return weight * (double(row[j * stride]) - origin[c + j]);
                };
                if (X.column_stride != 1)
                    for (index_t j = 0; j < present; ++j) out[j] = centred(j, X.column_stride);
                else if (present == wide)  // the compiler unrolls this loop
                    for (index_t j = 0; j < wide; ++j) out[j] = centred(j, 1);
                else
                    for (index_t j = 0; j < present; ++j) out[j] = centred(j, 1);
                if (present < width) out[present] = weight;
                for (index_t j = present + 1; j < width; ++j) out[j] = 0;
            }
        }
    });
}

}  // namespace SX_ISA
}  // namespace sx
