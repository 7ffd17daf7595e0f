// Tiles of scores for the loss kernels: gathers labels and weights, and transposes scores from
// (lane, output) to [output][lane] order and back.
#pragma once

#include <cstdint>
#include <cstring>

#include "losses/block.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

// The labels and weights of a tile, and its results.
template <class T>
struct LossTile {
    T y[loss_tile], weight[loss_tile], loss[loss_tile], hit[loss_tile];
    double s[loss_tile];
};

template <class From, class To>
SX_INLINE void copy_strided(const From* from, std::int64_t stride, std::int64_t count, To* to) {
    if (stride == 0) {
        const To value = To(*from);
        for (std::int64_t i = 0; i < count; ++i) to[i] = value;
    } else if (stride == 1) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = To(from[i]);
    } else {
        for (std::int64_t i = 0; i < count; ++i) to[i] = To(from[i * stride]);
    }
}

// weight = s * scale, and 0 where s is 0 even if the scale is infinite. The stride of scale is 0 or
// 1.
template <class T>
SX_INLINE void weigh(const double* s, const double* scale, std::int64_t stride, std::int64_t count,
                     T* weight) {
    if (stride == 0) {
        const double value = *scale;
        for (std::int64_t i = 0; i < count; ++i) weight[i] = s[i] == 0 ? T(0) : T(s[i] * value);
    } else {
        for (std::int64_t i = 0; i < count; ++i) weight[i] = s[i] == 0 ? T(0) : T(s[i] * scale[i]);
    }
}

// The row and model of the next lane.
struct LossCursor {
    std::int64_t row, model;
};

// Fills y, s and weight for the next `count` lanes. The lanes after them get weight 0.
template <class T>
SX_INLINE void read_labels(const LossBlock<T>& block, std::int64_t scale_model, std::int64_t count,
                           LossCursor& next, LossTile<T>& tile) {
    for (std::int64_t l = count; l < loss_tile; ++l) {
        tile.y[l] = tile.weight[l] = 0;
        tile.s[l] = 0;
    }
    const double one = 1;
    if (!block.s) copy_strided(&one, 0, count, tile.s);
    for (std::int64_t lane = 0; lane < count;) {
        const std::int64_t row = next.row, model = next.model, left = count - lane;
        const std::int64_t run = left < block.models - model ? left : block.models - model;
        copy_strided(block.y + row * block.y_row + model * block.y_model, block.y_model, run,
                     tile.y + lane);
        const double* s = block.s ? block.s + row * block.s_row : nullptr;
        if (block.weight_column)
            for (std::int64_t i = 0; i < run; ++i)
                tile.s[lane + i] = s[block.weight_column[model + i]];
        else if (s)
            copy_strided(s + model * block.s_model, block.s_model, run, tile.s + lane);
        weigh(tile.s + lane, block.scale + model * scale_model, scale_model, run,
              tile.weight + lane);
        lane += run;
        next.model += run;
        if (next.model == block.models) next = {row + 1, 0};
    }
}

// A square part of the transpose: lanes<T> lanes by up to lanes<T> outputs, from output k on,
// between Z (count, outputs) and the scratch.
template <class T>
struct TileCorner {
    std::int64_t lane, k, width, count, outputs;

    SX_INLINE std::int64_t offset(std::int64_t i) const { return (lane + i) * outputs + k; }
    // Whether a whole vector fits into Z. It may extend into the following lanes, but not past the
    // tile.
    SX_INLINE bool whole(std::int64_t i) const { return offset(i) + lanes<T> <= count * outputs; }
    // Whether a vector transpose pays: for fewer columns than half a vector, moving the numbers one
    // by one is faster.
    SX_INLINE bool worth() const { return 2 * width >= lanes<T> && lane + lanes<T> <= count; }

    SX_INLINE void in(const T* Z, T* scores) const {
        T* to = scores + k * loss_tile + lane;
        if (!worth()) {
            const std::int64_t there = count - lane < lanes<T> ? count - lane : lanes<T>;
            for (std::int64_t c = 0; c < width; ++c, to += loss_tile) {
                for (std::int64_t i = 0; i < there; ++i) to[i] = Z[offset(i) + c];
                for (std::int64_t i = there < 0 ? 0 : there; i < lanes<T>; ++i) to[i] = 0;
            }
            return;
        }
        vec<T> row[lanes<T>];
        for (int i = 0; i < lanes<T>; ++i)
            row[i] =
                whole(i) ? load<T>(Z + offset(i)) : load_partial<T>(Z + offset(i), width, T(0));
        transpose<T>(row);
        for (int c = 0; c < lanes<T>; ++c)
            if (c < width) store<T>(to + c * loss_tile, row[c]);
    }

    SX_INLINE void back(const T* scores, T* Z) const {
        const T* from = scores + k * loss_tile + lane;
        if (!worth()) {
            for (int i = 0; i < lanes<T> && lane + i < count; ++i)
                for (std::int64_t c = 0; c < width; ++c) Z[offset(i) + c] = from[c * loss_tile + i];
            return;
        }
        vec<T> row[lanes<T>];
        for (int c = 0; c < lanes<T>; ++c)
            row[c] = c < width ? load<T>(from + c * loss_tile) : vec<T>{};
        transpose<T>(row);
        for (int i = 0; i < lanes<T>; ++i)
            if (whole(i))
                store<T>(Z + offset(i), row[i]);
            else
                store_partial<T>(Z + offset(i), row[i], width);
    }
};

template <class T>
SX_INLINE void copy_tile(const T* from, std::int64_t count, T* to) {
    if (count < loss_tile)
        std::memcpy(to, from, std::size_t(count) * sizeof(T));
    else
        for (std::int64_t l = 0; l < loss_tile; l += lanes<T>) store<T>(to + l, load<T>(from + l));
}

// Transposes Z (count, outputs) to scores (outputs, loss_tile). Missing lanes become 0.
template <class T>
void transpose_in(const T* Z, std::int64_t count, std::int64_t outputs, T* scores) {
    if (outputs == 1) {
        for (std::int64_t l = count; l < loss_tile; ++l) scores[l] = 0;
        return copy_tile(Z, count, scores);
    }
    for (std::int64_t k = 0; k < outputs; k += lanes<T>) {
        const std::int64_t width = outputs - k < lanes<T> ? outputs - k : lanes<T>;
        for (std::int64_t l = 0; l < loss_tile; l += lanes<T>)
            TileCorner<T>{l, k, width, count, outputs}.in(Z, scores);
    }
}

// Starts with the last outputs and goes through the lanes in order: a whole vector also writes to
// the following lanes, whose numbers are then written over it.
template <class T>
void transpose_out(const T* scores, std::int64_t count, std::int64_t outputs, T* Z) {
    if (outputs == 1) return copy_tile(scores, count, Z);
    for (std::int64_t k = (outputs - 1) / lanes<T> * lanes<T>; k >= 0; k -= lanes<T>) {
        const std::int64_t width = outputs - k < lanes<T> ? outputs - k : lanes<T>;
        for (std::int64_t l = 0; l < loss_tile; l += lanes<T>)
            TileCorner<T>{l, k, width, count, outputs}.back(scores, Z);
    }
}

}  // namespace SX_ISA
}  // namespace sx
