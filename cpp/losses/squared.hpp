// Half the squared error: value, gradient and Hessian.
#pragma once

#include "losses/lanes.hpp"
#include "losses/loss.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    (t - z)^2 / 2 summed over the outputs; t = +-1 with one output, one-hot with more.
// Given      the scores and the labels.
// On return  the loss. The gradient is z - t, and the Hessian 1.
struct Squared : LossDescriptor {
    static constexpr bool separable_outputs = true;

    template <class T>
    static SX_INLINE void loss_binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0);
        const vec<T> d = z - sign_of<T>(lane.y);
        lane.loss = T(0.5) * d * d;
        lane.hit = binary_hit<T>(lane.y, z);
        if (lane.gradient) lane.put(0, d * lane.weight);
    }

    template <class T>
    static SX_INLINE void loss_multiclass(LossLanes<T>& lane) {
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

    template <class T>
    static SX_INLINE void hessian_binary(HessianLanes<T>& lane) {
        lane.put_product(0, lane.direction(0) * lane.weight);
    }

    template <class T>
    static SX_INLINE void hessian_multiclass(HessianLanes<T>& lane) {
        for (std::int64_t k = 0; k < lane.outputs; ++k)
            lane.put_product(k, lane.direction(k) * lane.weight);
    }
};

}  // namespace SX_ISA
}  // namespace sx
