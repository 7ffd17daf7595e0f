// The sigmoid and its complement without overflow or cancellation.
#pragma once

#include "losses/lanes.hpp"

namespace sx {
inline namespace SX_ISA {

// The parts of a sigmoid at the signed score m = t z. e = exp(-|m|) <= 1, so nothing overflows.
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

}  // namespace SX_ISA
}  // namespace sx
