// Vectors of (row, model) pairs on which the losses work, and the sum of binary losses of one class
// against the rest.
#pragma once

#include <cstdint>

#include "losses/block.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

// One vector of lanes. Output k is at scores[k * loss_tile], and its gradient replaces it.
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

// With `reference`, class 0 has no output and its score is 0.
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

// One vector of lanes. Output k has its score at scores[k * loss_tile] and its direction at
// directions[k * loss_tile]. The product replaces the direction.
template <class T>
struct HessianLanes : LossLanes<T> {
    T* directions;

    SX_INLINE vec<T> direction(std::int64_t k) const { return load<T>(directions + k * loss_tile); }
    SX_INLINE void put_product(std::int64_t k, vec<T> x) const {
        store<T>(directions + k * loss_tile, x);
    }
};

// Problem    the sum over the outputs k of a binary loss that separates class k from all others.
// Given      the scores and the class numbers.
// On return  the loss. The predicted class is the one with the highest score (the first in a tie).
template <class BinaryLoss>
struct OneVsRest {
    template <class T>
    static SX_INLINE void loss_multiclass(LossLanes<T>& lane) {
        const Leader<T> leader = find_leader<false>(lane);
        vec<T> sum = {}, number = {};
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            LossLanes<T> one = lane;
            one.scores = lane.scores + k * loss_tile;
            one.outputs = 1;
            one.y = one_where<T>(number == lane.y);
            BinaryLoss::loss_binary(one);
            sum += one.loss;
        }
        lane.loss = sum;
        lane.hit = one_where<T>(leader.first == lane.y);
    }

    template <class T>
    static SX_INLINE void hessian_multiclass(HessianLanes<T>& lane) {
        vec<T> number = {};
        for (std::int64_t k = 0; k < lane.outputs; ++k, number += T(1)) {
            HessianLanes<T> one = lane;
            one.scores = lane.scores + k * loss_tile;
            one.directions = lane.directions + k * loss_tile;
            one.outputs = 1;
            one.y = one_where<T>(number == lane.y);
            BinaryLoss::hessian_binary(one);
        }
    }
};

}  // namespace SX_ISA
}  // namespace sx
