// Values, gradients and hits (correct predictions) of the losses, and products of their Hessians
// with directions, for many models at once.
//
// A lane is one (row, model) pair. The kernels process `loss_tile` lanes at a time: they transpose
// the scores to [output][lane] order, work on whole vectors of lanes, and transpose the results
// back. The last vector of a short tile is padded with zeros and runs the same instructions, so the
// bits of a lane depend neither on its position nor on its neighbours.
#pragma once

#include "losses/dispatch.hpp"
#include "objective/loss_tiles.hpp"

namespace sx {
inline namespace SX_ISA {

// Replaces the scores of samples without weight by 0. Otherwise an infinite or NaN score times 0
// would give NaN.
template <class T>
SX_INLINE void zero_unweighted(const LossTile<T>& tile, std::int64_t outputs, T* scores) {
    T keep[loss_tile];
    for (std::int64_t l = 0; l < loss_tile; ++l) keep[l] = tile.s[l] == 0 ? T(0) : T(1);
    for (std::int64_t k = 0; k < outputs; ++k)
        for (std::int64_t l = 0; l < loss_tile; l += lanes<T>) {
            T* at = scores + k * loss_tile + l;
            store<T>(at, select(load<T>(keep + l) != T(0), load<T>(at), vec<T>{}));
        }
}

template <class T>
SX_INLINE void write_results(const LossTile<T>& tile, std::int64_t count, double* value,
                             double* hit) {
    for (std::int64_t l = 0; l < count; ++l) value[l] = tile.s[l] * double(tile.loss[l]);
    for (std::int64_t l = 0; l < count; ++l) hit[l] = tile.s[l] * double(tile.hit[l]);
}

// Treats many rows of a single model as one row of many models, which is read faster. Returns the
// stride of the scale.
template <class T>
SX_INLINE std::int64_t as_one_row(LossBlock<T>& block) {
    if (block.models != 1) return 1;
    block.models = block.rows;
    block.rows = 1;
    block.y_model = block.y_row;
    if (block.weight_column) block.s += block.weight_column[0];
    block.weight_column = nullptr;
    block.s_model = block.s_row;
    return 0;
}

template <class Form, bool binary, bool values, class T>
void loss_over_tiles(LossBlock<T> block) {
    const std::int64_t scale_model = as_one_row(block);
    const std::int64_t total = block.rows * block.models;
    LossCursor next = {0, 0};
    LossTile<T> tile;
    for (std::int64_t first = 0; first < total; first += loss_tile) {
        const std::int64_t count = total - first < loss_tile ? total - first : loss_tile;
        T* Z = block.Z + first * block.outputs;
        // Single outputs need no transpose, and scores that the gradient will replace need no copy.
        const bool in_place = binary && block.gradient && count == loss_tile;
        T* scores = in_place ? Z : block.scratch;
        read_labels(block, scale_model, count, next, tile);
        if (!in_place) transpose_in(Z, count, block.outputs, scores);
        if (block.s) zero_unweighted(tile, block.outputs, scores);
        for (std::int64_t l = 0; l < count; l += lanes<T>) {
            LossLanes<T> lane = {scores + l,
                                 block.outputs,
                                 block.gradient,
                                 T(block.margin),
                                 load<T>(tile.y + l),
                                 load<T>(tile.weight + l),
                                 {},
                                 {}};
            if constexpr (binary)
                Form::loss_binary(lane);
            else
                Form::loss_multiclass(lane);
            if constexpr (values) {
                store<T>(tile.loss + l, lane.loss);
                store<T>(tile.hit + l, lane.hit);
            }
        }
        if (block.gradient && !in_place) transpose_out(scores, count, block.outputs, Z);
        if constexpr (values) write_results(tile, count, block.value + first, block.hit + first);
    }
}

// Problem    the loss, its gradient and the hits for every (row, model) of a block.
// Given      a LossBlock with valid labels.
// On return  value, hit and, if requested, the gradient in place of Z. No NaN for scores of +-1e300
//            (float: +-1e30); inf only if the loss exceeds the range of T. NaN scores give a NaN
//            value. Without `value`, only the gradient is computed.
template <class T>
void loss_block(Loss loss, const LossBlock<T>& block) {
    with_loss(loss, [&]<class L>(L) {
        with_form<L>(block.outputs, block.one_vs_rest, [&]<class Form, bool binary>() {
            if (block.value)
                loss_over_tiles<Form, binary, true>(block);
            else
                loss_over_tiles<Form, binary, false>(block);
        });
    });
}

template <class Form, bool binary, class T>
void hessian_over_tiles(LossBlock<T> block, T* V) {
    const std::int64_t scale_model = as_one_row(block);
    const std::int64_t total = block.rows * block.models;
    T* scores = block.scratch;
    T* directions = scores + loss_scratch<T>(block.outputs);
    LossCursor next = {0, 0};
    LossTile<T> tile;
    for (std::int64_t first = 0; first < total; first += loss_tile) {
        const std::int64_t count = total - first < loss_tile ? total - first : loss_tile;
        read_labels(block, scale_model, count, next, tile);
        transpose_in(block.Z + first * block.outputs, count, block.outputs, scores);
        transpose_in(V + first * block.outputs, count, block.outputs, directions);
        if (block.s) {
            zero_unweighted(tile, block.outputs, scores);
            zero_unweighted(tile, block.outputs, directions);
        }
        for (std::int64_t l = 0; l < loss_tile; l += lanes<T>) {
            HessianLanes<T> lane = {{scores + l,
                                     block.outputs,
                                     true,
                                     T(block.margin),
                                     load<T>(tile.y + l),
                                     load<T>(tile.weight + l),
                                     {},
                                     {}},
                                    directions + l};
            if constexpr (binary)
                Form::hessian_binary(lane);
            else
                Form::hessian_multiclass(lane);
        }
        transpose_out(directions, count, block.outputs, V + first * block.outputs);
    }
}

// Problem    s scale d2loss(Z) V for every (row, model) of a block.
// Given      a LossBlock with Z; V of the same shape. The loss must be smooth: callers refuse
//            others.
// On return  the products in place of V. No NaN for scores of +-1e300 (float: +-1e30).
template <class T>
void hessian_block(Loss loss, const LossBlock<T>& block, T* V) {
    with_loss(loss, [&]<class L>(L) {
        if constexpr (HasHessian<L>)
            with_form<L>(block.outputs, block.one_vs_rest, [&]<class Form, bool binary>() {
                hessian_over_tiles<Form, binary>(block, V);
            });
    });
}

}  // namespace SX_ISA
}  // namespace sx
