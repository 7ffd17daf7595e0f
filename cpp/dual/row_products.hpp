// Products of one row of the working copy with the columns of a task, and updates of the columns.
//
// Problem    z = x_i W, and W += x_i (change o inverse_squares).
// Given      a sparse copy with W (features, width), or a dense one with W (columns, stride).
// On return  every column has been summed in four parts, assigned by the position of the entry in
//            the row. The order is the same for a single column and for many. The dense copy is
//            summed by vectors of features, so that a single column is as fast as many.
#pragma once

#include "dual/task.hpp"
#include "simd/lane_bits.hpp"

namespace sx {
inline namespace SX_ISA {

constexpr index_t fetch_ahead = 48;  // entries between the prefetch of a row of W and its use
static_assert(fetch_ahead < look_ahead_pad);
constexpr index_t near_bytes = 768 << 10;  // fits the L2 cache: no prefetch needed below this size
constexpr int score_tile = vector_bytes == 64 ? 4 : 2;  // vectors that fit the registers four times

template <int width, class T>
SX_INLINE void fetch(const T* at) {
    constexpr int bytes = width * vector_bytes;
#pragma GCC unroll 4
    for (int b = 0; b < bytes; b += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(at) + b, 1);
}

template <int width, class T>
SX_INLINE void add_entry(vec<T> (&sum)[width], T x, const T* w) {
    const vec<T> value = broadcast<T>(x);
#pragma GCC unroll 4
    for (int v = 0; v < width; ++v) sum[v] += value * load<T>(w + v * lanes<T>);
}

template <int width, bool far, class T>
SX_INLINE void score_columns(const std::int32_t* index, const T* value, index_t count, const T* W,
                             index_t ldw, T* z) {
    vec<T> a[width] = {}, b[width] = {}, c[width] = {}, d[width] = {};
    const auto row = [&](index_t k) { return W + index_t(index[k]) * ldw; };
    index_t k = 0;
    for (; k + 3 < count; k += 4) {
        if constexpr (far) {
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) fetch<width>(row(k + r + fetch_ahead));
        }
        add_entry(a, value[k], row(k));
        add_entry(b, value[k + 1], row(k + 1));
        add_entry(c, value[k + 2], row(k + 2));
        add_entry(d, value[k + 3], row(k + 3));
    }
    if (k < count) add_entry(a, value[k], row(k));
    if (k + 1 < count) add_entry(b, value[k + 1], row(k + 1));
    if (k + 2 < count) add_entry(c, value[k + 2], row(k + 2));
#pragma GCC unroll 4
    for (int v = 0; v < width; ++v) store<T>(z + v * lanes<T>, (a[v] + b[v]) + (c[v] + d[v]));
}

template <class T>
SX_INLINE T score_alone(const std::int32_t* index, const T* value, index_t count, const T* W) {
    T a = 0, b = 0, c = 0, d = 0;
    index_t k = 0;
    for (; k + 3 < count; k += 4) {
        a = add_product(a, value[k], W[index[k]]);
        b = add_product(b, value[k + 1], W[index[k + 1]]);
        c = add_product(c, value[k + 2], W[index[k + 2]]);
        d = add_product(d, value[k + 3], W[index[k + 3]]);
    }
    if (k < count) a = add_product(a, value[k], W[index[k]]);
    if (k + 1 < count) b = add_product(b, value[k + 1], W[index[k + 1]]);
    if (k + 2 < count) c = add_product(c, value[k + 2], W[index[k + 2]]);
    return (a + b) + (c + d);
}

template <int width, class T>
SX_INLINE void score_dense(const T* x, index_t stride, const T* W, T* z) {
    constexpr index_t V = lanes<T>;
    vec<T> sum[width][4] = {};
    index_t j = 0;
    for (; j + 4 * V <= stride; j += 4 * V)
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            const vec<T> value = load<T>(x + j + r * V);
#pragma GCC unroll 4
            for (int c = 0; c < width; ++c)
                sum[c][r] += value * load<T>(W + c * stride + j + r * V);
        }
    for (; j < stride; j += V) {
        const vec<T> value = load<T>(x + j);
#pragma GCC unroll 4
        for (int c = 0; c < width; ++c) sum[c][0] += value * load<T>(W + c * stride + j);
    }
#pragma GCC unroll 4
    for (int c = 0; c < width; ++c)
        z[c] = sum_lanes<T>((sum[c][0] + sum[c][1]) + (sum[c][2] + sum[c][3]));
}

// Prefetches the rows of a block that will be visited next. They are elsewhere in memory, and the
// hardware prefetcher only starts after the first cache miss.
template <class T>
SX_INLINE void fetch_block(const DualTask<T>& p, index_t block) {
    const WorkingRows<T>& X = p.X;
    const auto lines = [](const void* from, const void* to) {
        for (const char* at = static_cast<const char*>(from); at < to; at += 64)
            __builtin_prefetch(at, 0, 2);
    };
    for (unsigned rows = p.blocks[block]; rows; rows &= rows - 1) {
        const index_t i = block * block_size + __builtin_ctz(rows);
        const index_t begin = X.start ? X.start[i] : i * X.stride;
        const index_t end = X.start ? X.start[i + 1] : begin + X.stride;
        lines(X.value + begin, X.value + end);
        if (X.start) lines(X.index + begin, X.index + end);
        lines(p.duals + i * p.width, p.duals + (i + 1) * p.width);
        if (p.alphas) lines(p.alphas + i * p.width, p.alphas + (i + 1) * p.width);
    }
}

// z (width) = x_i W.
template <class T>
void row_scores(const DualTask<T>& p, index_t i, T* z) {
    const WorkingRows<T>& X = p.X;
    if (!X.start) {
        const T* x = X.value + i * X.stride;
        index_t c = 0;
        for (; c + 1 < p.columns; c += 2) score_dense<2>(x, X.stride, p.W + c * X.stride, z + c);
        if (c < p.columns) score_dense<1>(x, X.stride, p.W + c * X.stride, z + c);
        return;
    }
    const index_t begin = X.start[i], count = X.start[i + 1] - begin;
    const std::int32_t* index = X.index + begin;
    const T* value = X.value + begin;
    if (p.width == 1) {
        *z = score_alone(index, value, count, p.W);
        return;
    }
    const bool far = X.features * p.stride * index_t(sizeof(T)) > near_bytes;
    for (index_t c = 0; c < p.width;) {
        const index_t left = (p.width - c) / lanes<T>;
        const auto tile = [&]<int width>(std::integral_constant<int, width>) {
            if (far)
                score_columns<width, true>(index, value, count, p.W + c, p.stride, z + c);
            else
                score_columns<width, false>(index, value, count, p.W + c, p.stride, z + c);
            c += width * lanes<T>;
        };
        if (left >= score_tile)
            tile(std::integral_constant<int, score_tile>{});
        else if (left >= 2)
            tile(std::integral_constant<int, 2>{});
        else
            tile(std::integral_constant<int, 1>{});
    }
}

template <int width, bool scaled, class T>
SX_INLINE void change_columns(const std::int32_t* index, const T* value, index_t count, T* W,
                              const T* steps, index_t ldw, const T* change) {
    vec<T> d[width];
#pragma GCC unroll 4
    for (int v = 0; v < width; ++v) d[v] = load<T>(change + v * lanes<T>);
    for (index_t k = 0; k < count; ++k) {
        const vec<T> x = broadcast<T>(value[k]);
        T* w = W + index_t(index[k]) * ldw;
#pragma GCC unroll 4
        for (int v = 0; v < width; ++v) {
            T* at = w + v * lanes<T>;
            if constexpr (scaled)
                store<T>(at, load<T>(at) + x * (d[v] * load<T>(steps + (at - W))));
            else
                store<T>(at, load<T>(at) + x * d[v]);
        }
    }
}

template <bool scaled, class T>
SX_INLINE void change_row(const DualTask<T>& p, index_t i, const T* change) {
    const WorkingRows<T>& X = p.X;
    if (!X.start) {
        const T* x = X.value + i * X.stride;
        for (index_t c = 0; c < p.columns; ++c) {
            if (change[c] == T(0)) continue;
            const vec<T> d = broadcast<T>(change[c]);
            T* w = p.W + c * X.stride;
            for (index_t j = 0; j < X.stride; j += lanes<T>)
                if constexpr (scaled)
                    store<T>(w + j, load<T>(w + j) +
                                        load<T>(x + j) *
                                            (d * load<T>(p.inverse_squares + c * X.stride + j)));
                else
                    store<T>(w + j, load<T>(w + j) + load<T>(x + j) * d);
        }
        return;
    }
    const index_t begin = X.start[i], count = X.start[i + 1] - begin;
    const std::int32_t* index = X.index + begin;
    const T* value = X.value + begin;
    if (p.width == 1) {
        for (index_t k = 0; k < count; ++k) {
            const index_t j = index[k];
            if constexpr (scaled)
                p.W[j] = add_product(p.W[j], value[k], *change * p.inverse_squares[j]);
            else
                p.W[j] = add_product(p.W[j], value[k], *change);
        }
        return;
    }
    for (index_t c = 0; c < p.width;) {
        const index_t left = (p.width - c) / lanes<T>;
        const auto tile = [&]<int width>(std::integral_constant<int, width>) {
            change_columns<width, scaled>(index, value, count, p.W + c,
                                          scaled ? p.inverse_squares + c : nullptr, p.stride,
                                          change + c);
            c += width * lanes<T>;
        };
        if (left >= 4)
            tile(std::integral_constant<int, 4>{});
        else if (left >= 2)
            tile(std::integral_constant<int, 2>{});
        else
            tile(std::integral_constant<int, 1>{});
    }
}

// W += x_i (change o inverse_squares), change (width).
template <class T>
void add_row(const DualTask<T>& p, index_t i, const T* change) {
    if (p.inverse_squares)
        change_row<true>(p, i, change);
    else
        change_row<false>(p, i, change);
}

}  // namespace SX_ISA
}  // namespace sx
