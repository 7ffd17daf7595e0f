// Values, gradients and hits of the losses, over many models at once.
//
// A lane is one (row, model) pair. The kernel takes `loss_tile` lanes at a time, turns their scores
// into [output][lane] order, works on whole vectors of lanes, and turns the gradients back. Short
// tiles are padded with zeros and run the same instructions, so the bits of a lane depend neither
// on its position nor on its neighbours.
#pragma once

#include <cstdint>
#include <cstring>

#include "objective/loss_block.hpp"
#include "objective/loss_tiles.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

// One vector of lanes. Output k of them is at scores[k * loss_tile]; its gradient replaces it.
template <class T>
struct LossLanes {
    T* scores;
    std::int64_t outputs;
    bool gradient;
    T margin;
    vec<T> y;       // class numbers
    vec<T> weight;  // s * scale
    vec<T> loss, hit;

    SX_INLINE vec<T> at(std::int64_t k) const { return load<T>(scores + k * loss_tile); }
    SX_INLINE void put(std::int64_t k, vec<T> x) const { store<T>(scores + k * loss_tile, x); }
};

// +1 for class 1, -1 for class 0.
template <class T>
SX_INLINE vec<T> sign_of(vec<T> y) {
    return T(2) * y - T(1);
}

template <class T>
SX_INLINE vec<T> one_where(mask<T> where) {
    return select(where, broadcast<T>(1), vec<T>{});
}

template <class T>
SX_INLINE vec<T> binary_hit(vec<T> y, vec<T> z) {
    return select(z > T(0), y, T(1) - y);
}

// The highest score and its first class, and the score of the label.
template <class T>
struct Leader {
    vec<T> top, first, label;
};

// `reference`: class 0 has no output, its score is 0.
template <bool reference, class T>
SX_INLINE Leader<T> find_leader(const LossLanes<T>& lane) {
    const vec<T> zero = {};
    const vec<T> start = reference ? zero : lane.at(0);
    Leader<T> found = {start, zero, start};
    vec<T> number = zero;
    for (std::int64_t k = reference ? 0 : 1; k < lane.outputs; ++k) {
        const vec<T> z = lane.at(k);
        number += T(1);
        found.first = select(z > found.top, number, found.first);
        found.top = select(z > found.top, z, found.top);
        found.label = select(number == lane.y, z, found.label);
    }
    return found;
}

// Problem    binary: max(0, margin - t z), t = +-1; else the sum over j != y of
//            max(0, margin + z_j - z_y); each term squared for the squared hinge.
// Given      the scores, the labels, the margin.
// On return  the loss; in the gradient a term that is exactly 0 counts as violated, or a model
//            that starts from zero would never move. NaN is not below 0, so it comes through.
// See        Weston and Watkins, Support vector machines for multi-class pattern recognition, 1999.
template <bool squared>
struct MarginLoss {
    template <class T>
    static SX_INLINE void binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0), t = sign_of<T>(lane.y);
        const vec<T> m = lane.margin - t * z;
        const vec<T> term = select(m < T(0), vec<T>{}, m);
        lane.loss = squared ? term * term : term;
        // With no margin a tie is class 1: the perceptron's rule has no mistake there.
        lane.hit = lane.margin == T(0) ? select(z >= T(0), lane.y, T(1) - lane.y)
                                       : binary_hit<T>(lane.y, z);
        if (!lane.gradient) return;
        const vec<T> slope = squared ? T(2) * term : one_where<T>(m >= T(0));
        lane.put(0, -t * slope * lane.weight);
    }

    template <class T>
    static SX_INLINE void multiclass(LossLanes<T>& lane) {
        const vec<T> zero = {};
        const Leader<T> leader = find_leader<false>(lane);
        vec<T> loss = zero, sum = zero, number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> m = lane.margin + (lane.at(k) - leader.label);
            const mask<T> spared = (m < T(0)) | (number == lane.y);
            const vec<T> term = select(spared, zero, m);
            const vec<T> slope = squared ? T(2) * term : select(spared, zero, broadcast<T>(1));
            loss += squared ? term * term : term;
            sum += slope;
            lane.put(k, slope * lane.weight);
        }
        lane.loss = loss;
        lane.hit = one_where<T>(leader.first == lane.y);
        if (!lane.gradient) return;
        number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.put(k, select(number == lane.y, -sum * lane.weight, lane.at(k)));
    }
};

// Problem    max over j != y of max(0, margin + z_j - z_y).
// Given      the scores, the labels, the margin.
// On return  the loss; the gradient stands on the first of the worst j and on y.
// See        Crammer and Singer, On the algorithmic implementation of multiclass kernel-based
//            vector machines, 2001.
struct CrammerSingerLoss {
    template <class T>
    static SX_INLINE void multiclass(LossLanes<T>& lane) {
        const vec<T> zero = {};
        const Leader<T> leader = find_leader<false>(lane);
        vec<T> worst = broadcast<T>(-T(__builtin_inf())), rival = zero, number = zero,
               broken = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> z = lane.at(k);
            const mask<T> worse = (z > worst) & (number != lane.y);
            worst = select(worse, z, worst);
            rival = select(worse, number, rival);
            broken = select(z == z, broken, z);  // a maximum passes over NaN: remember it
        }
        const vec<T> m = lane.margin + (worst - leader.label);
        lane.loss = select(m < T(0), zero, m) + broken;
        lane.hit = one_where<T>(leader.first == lane.y);
        if (!lane.gradient) return;
        const vec<T> step = select(m < T(0), zero, lane.weight);
        number = zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.put(k, select(number == lane.y, -step, select(number == rival, step, zero)));
    }
};

// The parts of a sigmoid at the signed score m = t z, from e = exp(-|m|) <= 1: nothing overflows.
template <class T>
struct Sigmoid {
    vec<T> t, m, e;
    vec<T> right, wrong;  // the probability of the label, and 1 minus it without cancellation
};

template <class T>
SX_INLINE Sigmoid<T> sigmoid(vec<T> y, vec<T> z) {
    const vec<T> t = sign_of<T>(y), m = t * z, one = broadcast<T>(1);
    const vec<T> e = exp<T>(-abs<T>(m));
    const vec<T> whole = one / (one + e), part = e * whole;
    return {t, m, e, select(m < T(0), part, whole), select(m < T(0), whole, part)};
}

// Problem    log(1 + exp(-t z)), t = +-1.
// Given      the scores and the labels.
// On return  the loss as max(0, -t z) + log1p(exp(-|z|)): accurate however small, never
// overflowing.
struct LogisticLoss {
    template <class T>
    static SX_INLINE void binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0);
        const Sigmoid<T> p = sigmoid<T>(lane.y, z);
        lane.loss = select(p.m < T(0), -p.m, vec<T>{}) + log1p<T>(p.e);
        lane.hit = binary_hit<T>(lane.y, z);
        if (lane.gradient) lane.put(0, -p.t * p.wrong * lane.weight);
    }
};

// Problem    (y - sigma(z))^2 / 2, which is (1 - p)^2 / 2 for the probability p of the label.
// Given      the scores and the labels.
// On return  the loss; not convex in z.
struct SigmoidMseLoss {
    template <class T>
    static SX_INLINE void binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0);
        const Sigmoid<T> p = sigmoid<T>(lane.y, z);
        lane.loss = T(0.5) * p.wrong * p.wrong;
        lane.hit = binary_hit<T>(lane.y, z);
        if (lane.gradient) lane.put(0, -p.t * p.wrong * p.wrong * p.right * lane.weight);
    }
};

// Problem    log(sum_j exp(z_j)) - z_y; with `reference`, class 0 has the score 0 and no output.
// Given      the scores and the labels.
// On return  the loss; the gradient p_j, and p_y - 1 at y. The sum over the classes other than y is
//            kept apart, so that neither the loss nor p_y - 1 loses its digits when y is all but
//            certain.
template <bool reference>
struct SoftmaxLoss {
    template <class T>
    static SX_INLINE void multiclass(LossLanes<T>& lane) {
        const vec<T> zero = {};
        const Leader<T> leader = find_leader<reference>(lane);
        vec<T> others = zero, label = zero, number = zero;
        if constexpr (reference) {
            const vec<T> e = exp<T>(-leader.top);
            others = select(lane.y == zero, zero, e);
            label = select(lane.y == zero, e, zero);
            number += T(1);
        }
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> e = exp<T>(lane.at(k) - leader.top);
            const mask<T> is_label = number == lane.y;
            others += select(is_label, zero, e);
            label = select(is_label, e, label);
            lane.put(k, e);
        }
        // The sum of all less 1, the leader's share: exact when the label leads; when it does not,
        // the loss is at least log 2 and the subtraction harmless.
        const vec<T> rest = select(leader.label == leader.top, others, (others - T(1)) + label);
        lane.loss = (leader.top - leader.label) + log1p<T>(rest);
        lane.hit = one_where<T>(leader.first == lane.y);
        if (!lane.gradient) return;
        const vec<T> share = lane.weight / (others + label);
        number = reference ? broadcast<T>(1) : zero;
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1))
            lane.put(k, share * select(number == lane.y, -others, lane.at(k)));
    }
};

// Problem    (t - z)^2 / 2 summed over the outputs; t = +-1 with one output, one-hot with more.
// Given      the scores and the labels.
// On return  the loss; the gradient z - t.
struct SquaredLoss {
    template <class T>
    static SX_INLINE void binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0);
        const vec<T> d = z - sign_of<T>(lane.y);
        lane.loss = T(0.5) * d * d;
        lane.hit = binary_hit<T>(lane.y, z);
        if (lane.gradient) lane.put(0, d * lane.weight);
    }

    template <class T>
    static SX_INLINE void multiclass(LossLanes<T>& lane) {
        const Leader<T> leader = find_leader<false>(lane);
        vec<T> sum = {}, number = {};
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            const vec<T> d = lane.at(k) - one_where<T>(number == lane.y);
            sum += d * d;
            lane.put(k, d * lane.weight);
        }
        lane.loss = T(0.5) * sum;
        lane.hit = one_where<T>(leader.first == lane.y);
    }
};

// Problem    the sum over the outputs k of a binary loss that tells class k from all others.
// Given      the scores and the class numbers.
// On return  the loss; the highest score (the first of equals) is the predicted class.
template <class Rule>
struct OneVsRest {
    template <class T>
    static SX_INLINE void multiclass(LossLanes<T>& lane) {
        const Leader<T> leader = find_leader<false>(lane);
        vec<T> sum = {}, number = {};
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            LossLanes<T> one = lane;
            one.scores = lane.scores + k * loss_tile;
            one.outputs = 1;
            one.y = one_where<T>(number == lane.y);
            Rule::binary(one);
            sum += one.loss;
        }
        lane.loss = sum;
        lane.hit = one_where<T>(leader.first == lane.y);
    }
};

// A sample without weight must leave no trace, whatever its scores: inf or NaN times 0 is NaN. Its
// scores are replaced by 0, and everything that follows is finite.
template <class T>
SX_INLINE void silence_unweighted(const LossTile<T>& tile, std::int64_t outputs, T* scores) {
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

// The rows of a single model as one row of many, which is read faster. Returns the stride of the
// scale.
template <class T>
SX_INLINE std::int64_t one_long_row(LossBlock<T>& block) {
    if (block.models != 1) return 1;
    block.models = block.rows;
    block.rows = 1;
    block.y_model = block.y_row;
    if (block.whose) block.s += block.whose[0];
    block.whose = nullptr;
    block.s_model = block.s_row;
    return 0;
}

template <class Rule, bool binary, class T>
void loss_over_tiles(LossBlock<T> block) {
    const std::int64_t scale_model = one_long_row(block);
    const std::int64_t total = block.rows * block.models;
    LossCursor next = {0, 0};
    LossTile<T> tile;
    for (std::int64_t first = 0; first < total; first += loss_tile) {
        const std::int64_t count = total - first < loss_tile ? total - first : loss_tile;
        T* Z = block.Z + first * block.outputs;
        // Single outputs need no turning, and scores that the gradient replaces need no copy.
        const bool in_place = binary && block.gradient && count == loss_tile;
        T* scores = in_place ? Z : block.scratch;
        read_labels(block, scale_model, count, next, tile);
        if (!in_place) turn_in(Z, count, block.outputs, scores);
        if (block.s) silence_unweighted(tile, block.outputs, scores);
        for (std::int64_t l = 0; l < loss_tile; l += lanes<T>) {
            LossLanes<T> lane = {scores + l,
                                 block.outputs,
                                 block.gradient,
                                 T(block.margin),
                                 load<T>(tile.y + l),
                                 load<T>(tile.weight + l),
                                 {},
                                 {}};
            if constexpr (binary)
                Rule::binary(lane);
            else
                Rule::multiclass(lane);
            store<T>(tile.loss + l, lane.loss);
            store<T>(tile.hit + l, lane.hit);
        }
        if (block.gradient && !in_place) turn_back(scores, count, block.outputs, Z);
        write_results(tile, count, block.value + first, block.hit + first);
    }
}

// Problem    the loss, its gradient and the hits for every (row, model) of a block.
// Given      a LossBlock; labels within the classes; one output for the binary form of `margin`,
//            `squared_hinge` and `squared`, always one for `logistic` and `sigmoid_mse`.
// On return  value, hit and, when asked, the gradient in place of Z. No NaN at scores of +-1e300
//            (float: +-1e30); inf only where the loss exceeds T. NaN scores give a NaN value.
template <class T>
void loss_block(Loss loss, const LossBlock<T>& block) {
    // A loss with a binary form, in that form, in its multiclass form, or one against the rest.
    const auto any = [&]<class Binary, class Multiclass>(Binary, Multiclass) {
        if (block.outputs == 1) return loss_over_tiles<Binary, true>(block);
        if (block.one_vs_rest) return loss_over_tiles<OneVsRest<Binary>, false>(block);
        loss_over_tiles<Multiclass, false>(block);
    };
    switch (loss) {
        case Loss::margin:
            return any(MarginLoss<false>(), MarginLoss<false>());
        case Loss::squared_hinge:
            return any(MarginLoss<true>(), MarginLoss<true>());
        case Loss::crammer_singer:
            return loss_over_tiles<CrammerSingerLoss, false>(block);
        case Loss::logistic:
            return any(LogisticLoss(), OneVsRest<LogisticLoss>());
        case Loss::softmax:
            return loss_over_tiles<SoftmaxLoss<false>, false>(block);
        case Loss::softmax_reference:
            return loss_over_tiles<SoftmaxLoss<true>, false>(block);
        case Loss::squared:
            return any(SquaredLoss(), SquaredLoss());
        case Loss::sigmoid_mse:
            return any(SigmoidMseLoss(), OneVsRest<SigmoidMseLoss>());
    }
}

}  // namespace SX_ISA
}  // namespace sx
