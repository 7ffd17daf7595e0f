// Second derivatives of the smooth losses times directions, over many models at once. The lanes are
// those of the losses.
#pragma once

#include "losses/curvature_kernels.hpp"
#include "losses/losses.hpp"

namespace sx {
inline namespace SX_ISA {

// One vector of lanes. Output k of them has its score at scores[k * loss_tile] and its direction at
// directions[k * loss_tile]; the product replaces the direction.
template <class T>
struct CurveLanes : LossLanes<T> {
    T* directions;

    SX_INLINE vec<T> direction(std::int64_t k) const { return load<T>(directions + k * loss_tile); }
    SX_INLINE void bend(std::int64_t k, vec<T> x) const { store<T>(directions + k * loss_tile, x); }
};

// Problem    the second derivative of max(0, margin - t z)^2, and of the sum over j != y of
//            max(0, margin + z_j - z_y)^2: twice the Laplacian of a star.
// Given      the scores, the labels, the margin.
// On return  a term that is exactly 0 counts as violated, as in the gradient.
struct SquaredHingeCurve {
    template <class T>
    static SX_INLINE void binary(CurveLanes<T>& lane) {
        const vec<T> m = lane.margin - sign_of<T>(lane.y) * lane.at(0);
        lane.bend(0, select(m >= T(0), T(2) * lane.direction(0) * lane.weight, vec<T>{}));
    }

    template <class T>
    static SX_INLINE void multiclass(CurveLanes<T>& lane) {
        const vec<T> zero = {};
        vec<T> score = zero, direction = zero, sum = zero, number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            score = select(number == lane.y, lane.at(k), score);
            direction = select(number == lane.y, lane.direction(k), direction);
        }
        number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> m = lane.margin + (lane.at(k) - score);
            const mask<T> counts = (m >= T(0)) & (number != lane.y);
            const vec<T> flow = select(counts, T(2) * (lane.direction(k) - direction), zero);
            sum += flow;
            lane.bend(k, flow * lane.weight);
        }
        number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.bend(k, select(number == lane.y, -sum * lane.weight, lane.direction(k)));
    }
};

// Problem    the second derivative of log(1 + exp(-t z)): p (1 - p).
struct LogisticCurve {
    template <class T>
    static SX_INLINE void binary(CurveLanes<T>& lane) {
        const Sigmoid<T> p = sigmoid<T>(lane.y, lane.at(0));
        lane.bend(0, p.right * p.wrong * lane.direction(0) * lane.weight);
    }
};

// Problem    the second derivative of r^2 / 2 with r = 1 - p of the label: r^2 (1 - r) (2 - 3 r).
struct SigmoidMseCurve {
    template <class T>
    static SX_INLINE void binary(CurveLanes<T>& lane) {
        const Sigmoid<T> p = sigmoid<T>(lane.y, lane.at(0));
        const vec<T> second = p.wrong * p.wrong * p.right * (T(2) - T(3) * p.wrong);
        lane.bend(0, second * lane.direction(0) * lane.weight);
    }
};

// Problem    the second derivative of log(sum_j exp(z_j)): p_j (v_j - sum_k p_k v_k); with
//            `reference`, class 0 has the score 0, the direction 0 and no output.
// Given      the scores.
// On return  directions are taken from that of the leading class, and the leader gets minus the sum
//            of the others: no digits are lost when it is all but certain, and a common shift of
//            all directions gives exactly 0.
template <bool reference>
struct SoftmaxCurve {
    template <class T>
    static SX_INLINE void multiclass(CurveLanes<T>& lane) {
        const vec<T> zero = {};
        const Leader<T> leader = find_leader<reference>(lane);
        vec<T> centre = zero, number = reference ? broadcast<T>(1) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            centre = select(number == leader.first, lane.direction(k), centre);
        vec<T> total = broadcast<T>(1), mean = zero;
        const vec<T> absent = select(leader.first == zero, zero, exp<T>(-leader.top));
        if constexpr (reference) {
            total += absent;
            mean = absent * -centre;
        }
        number = reference ? broadcast<T>(1) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> e = select(number == leader.first, zero, exp<T>(lane.at(k) - leader.top));
            const vec<T> v = lane.direction(k) - centre;
            total += e;
            mean += e * v;
            lane.put(k, e);
            lane.bend(k, v);
        }
        mean /= total;
        const vec<T> share = lane.weight / total;
        vec<T> sum = reference ? absent * (-centre - mean) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k) {
            const vec<T> flow = lane.at(k) * (lane.direction(k) - mean);
            sum += flow;
            lane.bend(k, flow * share);
        }
        number = reference ? broadcast<T>(1) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.bend(k, select(number == leader.first, -sum * share, lane.direction(k)));
    }
};

// Problem    the second derivative of (t - z)^2 / 2 summed over the outputs: 1.
struct SquaredCurve {
    template <class T>
    static SX_INLINE void binary(CurveLanes<T>& lane) {
        lane.bend(0, lane.direction(0) * lane.weight);
    }

    template <class T>
    static SX_INLINE void multiclass(CurveLanes<T>& lane) {
        for (std::int64_t k = 0; k < lane.outputs; ++k)
            lane.bend(k, lane.direction(k) * lane.weight);
    }
};

// Problem    the second derivative of a sum of binary losses, one against the rest for each output.
template <class Rule>
struct OneVsRestCurve {
    template <class T>
    static SX_INLINE void multiclass(CurveLanes<T>& lane) {
        vec<T> number = {};
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            CurveLanes<T> one = lane;
            one.scores = lane.scores + k * loss_tile;
            one.directions = lane.directions + k * loss_tile;
            one.outputs = 1;
            one.y = one_where<T>(number == lane.y);
            Rule::binary(one);
        }
    }
};

template <class Rule, bool binary, class T>
void curve_over_tiles(LossBlock<T> block, T* V) {
    const std::int64_t scale_model = one_long_row(block);
    const std::int64_t total = block.rows * block.models;
    T* scores = block.scratch;
    T* directions = scores + loss_scratch<T>(block.outputs);
    LossCursor next = {0, 0};
    LossTile<T> tile;
    for (std::int64_t first = 0; first < total; first += loss_tile) {
        const std::int64_t count = total - first < loss_tile ? total - first : loss_tile;
        read_labels(block, scale_model, count, next, tile);
        turn_in(block.Z + first * block.outputs, count, block.outputs, scores);
        turn_in(V + first * block.outputs, count, block.outputs, directions);
        if (block.s) {
            silence_unweighted(tile, block.outputs, scores);
            silence_unweighted(tile, block.outputs, directions);
        }
        for (std::int64_t l = 0; l < loss_tile; l += lanes<T>) {
            CurveLanes<T> lane = {{scores + l,
                                   block.outputs,
                                   true,
                                   T(block.margin),
                                   load<T>(tile.y + l),
                                   load<T>(tile.weight + l),
                                   {},
                                   {}},
                                  directions + l};
            if constexpr (binary)
                Rule::binary(lane);
            else
                Rule::multiclass(lane);
        }
        turn_back(directions, count, block.outputs, V + first * block.outputs);
    }
}

// Problem    s scale d2loss(Z) V for every (row, model) of a block.
// Given      a LossBlock with Z; V of the same shape; a smooth loss.
// On return  the products in place of V. No NaN at scores of +-1e300 (float: +-1e30).
template <class T>
void curve_block(Loss loss, const LossBlock<T>& block, T* V) {
    const auto any = [&]<class Binary, class Multiclass>(Binary, Multiclass) {
        if (block.outputs == 1) return curve_over_tiles<Binary, true>(block, V);
        if (block.one_vs_rest) return curve_over_tiles<OneVsRestCurve<Binary>, false>(block, V);
        curve_over_tiles<Multiclass, false>(block, V);
    };
    switch (loss) {
        case Loss::squared_hinge:
            return any(SquaredHingeCurve(), SquaredHingeCurve());
        case Loss::logistic:
            return any(LogisticCurve(), OneVsRestCurve<LogisticCurve>());
        case Loss::softmax:
            return curve_over_tiles<SoftmaxCurve<false>, false>(block, V);
        case Loss::softmax_reference:
            return curve_over_tiles<SoftmaxCurve<true>, false>(block, V);
        case Loss::squared:
            return any(SquaredCurve(), SquaredCurve());
        case Loss::sigmoid_mse:
            return any(SigmoidMseCurve(), OneVsRestCurve<SigmoidMseCurve>());
        case Loss::margin:
        case Loss::crammer_singer:
            return;  // they have kinks: the caller refuses them
    }
}

}  // namespace SX_ISA
}  // namespace sx
