// The probabilities that a softmax gives the classes.
#pragma once

#include "losses/lanes.hpp"
#include "objective/loss_tiles.hpp"

namespace sx {
inline namespace SX_ISA {

// Problem    p_k = exp(z_k) / sum_j exp(z_j), for `count` lanes, that is (row, model) pairs.
// Given      the scores Z (count, outputs). If `lifted`, there is one class more than outputs: the
//            first, whose score is 0. The scratch has loss_scratch<T>(classes) numbers.
// On return  P (count, classes). The exponential of the highest score is exactly 1, so nothing
//            overflows, and the bits of a lane do not depend on its neighbours.
template <class T>
void probabilities(const T* Z, std::int64_t count, std::int64_t outputs, bool lifted, T* P,
                   T* scratch) {
    const std::int64_t classes = outputs + lifted;
    for (std::int64_t first = 0; first < count; first += loss_tile) {
        const std::int64_t here = count - first < loss_tile ? count - first : loss_tile;
        if (lifted)
            for (std::int64_t l = 0; l < loss_tile; ++l) scratch[l] = 0;
        transpose_in(Z + first * outputs, here, outputs, scratch + lifted * loss_tile);
        for (std::int64_t l = 0; l < loss_tile; l += lanes<T>) {
            const LossLanes<T> lane = {scratch + l, classes, false, T(0), {}, {}, {}, {}};
            const Leader<T> leader = find_leader<false>(lane);
            const vec<T> one = broadcast<T>(1);
            vec<T> rest = {}, number = {};
            for (std::int64_t k = 0; k < classes; ++k, number += T(1)) {
                const vec<T> e = exp<T>(lane.at(k) - leader.top);
                const mask<T> leads = number == leader.first;
                rest += select(leads, vec<T>{}, e);
                lane.put(k, select(leads, one, e));
            }
            const vec<T> total = one + rest;
            for (std::int64_t k = 0; k < classes; ++k) lane.put(k, lane.at(k) / total);
        }
        transpose_out(scratch, here, classes, P + first * classes);
    }
}

}  // namespace SX_ISA
}  // namespace sx
