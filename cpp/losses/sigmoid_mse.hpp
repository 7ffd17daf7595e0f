// Half the squared error of a sigmoid: value, gradient and Hessian. It is not convex and has no
// dual.
#pragma once

#include "losses/lanes.hpp"
#include "losses/loss.hpp"
#include "losses/sigmoid.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    (y - sigma(z))^2 / 2, which is (1 - p)^2 / 2 for the probability p of the label.
// Given      the scores and the labels.
// On return  the loss, which is not convex in z. The Hessian is r^2 (1 - r) (2 - 3 r) with r = 1 -
//            p.
struct SigmoidMse : LossDescriptor {
    template <class T>
    static SX_INLINE void loss_binary(LossLanes<T>& lane) {
        const vec<T> z = lane.at(0);
        const Sigmoid<T> p = sigmoid<T>(lane.y, z);
        lane.loss = T(0.5) * p.wrong * p.wrong;
        lane.hit = binary_hit<T>(lane.y, z);
        if (lane.gradient) lane.put(0, -p.t * p.wrong * p.wrong * p.right * lane.weight);
    }

    template <class T>
    static SX_INLINE void hessian_binary(HessianLanes<T>& lane) {
        const Sigmoid<T> p = sigmoid<T>(lane.y, lane.at(0));
        const vec<T> second = p.wrong * p.wrong * p.right * (T(2) - T(3) * p.wrong);
        lane.put_product(0, second * lane.direction(0) * lane.weight);
    }
};

}  // namespace SX_ISA
}  // namespace sx
