// x log x of many numbers. It dominates the cost of the conjugates of cross-entropies.
#pragma once

#include "matrix/views.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

// Given      x in [0, 1].
// On return  x log x in place, within a few ulp; 0 if x is below `smallest`.
template <class T>
void x_log_x(T* x, index_t count) {
    constexpr T smallest = sizeof(T) == 8 ? T(1e-300) : T(1e-35f);
    for (index_t i = 0; i < count; i += lanes<T>) {
        const int here = count - i < lanes<T> ? int(count - i) : lanes<T>;
        const vec<T> p = load_partial<T>(x + i, here, T(1));
        const vec<T> safe = select(p > smallest, p, broadcast<T>(T(1)));
        const Split<T> u = split<T>(safe);
        store_partial<T>(x + i, safe * log_near_one<T>(u.m - T(1), u.k), here);
    }
}

}  // namespace SX_ISA
}  // namespace sx
