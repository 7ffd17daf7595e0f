// The largest absolute value.
#pragma once

#include "matrix/views.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

// Returns the largest |x|; 0 if there are no numbers, NaN unless all of them are finite.
template <class T>
double max_abs(const T* x, index_t count) {
    constexpr int ways = 4;
    vec<T> most[ways] = {}, nothing[ways] = {};
    for (index_t i = 0; i < count; i += ways * lanes<T>)
        for (int k = 0; k < ways; ++k) {
            const index_t left = count - i - k * lanes<T>;
            const vec<T> a = left >= lanes<T> ? load<T>(x + i + k * lanes<T>)
                             : left > 0 ? load_partial<T>(x + i + k * lanes<T>, int(left), T(0))
                                        : vec<T>{};
            most[k] = max(abs<T>(a), most[k]);
            nothing[k] += a - a;  // NaN if not finite
        }
    T out = 0;
    for (int k = 0; k < ways; ++k)
        for (int lane = 0; lane < lanes<T>; ++lane) {
            if (nothing[k][lane] != 0) return double(nothing[k][lane]);
            if (most[k][lane] > out) out = most[k][lane];
        }
    return double(out);
}

}  // namespace SX_ISA
}  // namespace sx
