// Functions for both a vector of columns and a single column: V is vec<T> or T.
#pragma once

#include <cstdint>
#include <type_traits>

#include "simd/lane_bits.hpp"
#include "simd/vector.hpp"

namespace sx {
inline namespace SX_ISA {

template <class V>
using mask_of = decltype(V{} < V{});

template <class T, class V>
constexpr bool is_scalar = std::is_same_v<T, V>;

template <class T, class V>
SX_INLINE V load_as(const T* from) {
    if constexpr (is_scalar<T, V>)
        return *from;
    else
        return load<T>(from);
}

template <class T, class V>
SX_INLINE void store_as(T* to, V x) {
    if constexpr (is_scalar<T, V>)
        *to = x;
    else
        store<T>(to, x);
}

template <class T, class V>
SX_INLINE V broadcast_as(T x) {
    if constexpr (is_scalar<T, V>)
        return x;
    else
        return broadcast<T>(x);
}

// Returns a word in which bit l is set if lane l is true.
template <class T, class V>
SX_INLINE std::uint32_t word_of(mask_of<V> m) {
    if constexpr (is_scalar<T, V>)
        return m;
    else
        return bits_of<T>(m);
}

template <class T, class V>
SX_INLINE mask_of<V> mask_from(std::uint32_t word) {
    if constexpr (is_scalar<T, V>)
        return word & 1;
    else
        return lanes_of<T>(word);
}

template <class T, class V>
SX_INLINE V absolute(V x) {
    if constexpr (is_scalar<T, V>)
        return x < T(0) ? -x : x;
    else
        return abs<T>(x);
}

template <class V>
SX_INLINE V positive_part(V x) {
    return select(x < 0, V{}, x);
}

template <class T, class V>
SX_INLINE V exp_as(V x) {
    if constexpr (is_scalar<T, V>)
        return exp<T>(broadcast<T>(x))[0];
    else
        return exp<T>(x);
}

template <class T, class V>
SX_INLINE V log1p_as(V x) {
    if constexpr (is_scalar<T, V>)
        return log1p<T>(broadcast<T>(x))[0];
    else
        return log1p<T>(x);
}

}  // namespace SX_ISA
}  // namespace sx
