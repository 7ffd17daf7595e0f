// Conversions between the lanes of a mask and the bits of a word, and sums over lanes.
#pragma once

#include <cstdint>

#include "simd/vector.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace sx {
inline namespace SX_ISA {

// 0, 1, 2, ...
template <class T>
SX_INLINE vec<T> lane_numbers() {
    vec<T> x;
#pragma GCC unroll 16
    for (int l = 0; l < lanes<T>; ++l) x[l] = T(l);
    return x;
}

// Returns a mask in which lane l is true if bit l of the word is set.
template <class T>
SX_INLINE mask<T> lanes_of(std::uint32_t word) {
    using Bits = typename Format<T>::Bits;
    bits<T> own;
#pragma GCC unroll 16
    for (int l = 0; l < lanes<T>; ++l) own[l] = Bits(1) << l;
    return (mask<T>)((own & (Bits(word) - bits<T>{})) != 0);
}

// Returns a word in which bit l is set if lane l is true.
template <class T>
SX_INLINE std::uint32_t bits_of(mask<T> m) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 8)
        return _mm512_movepi64_mask((__m512i)m);
    else
        return _mm512_movepi32_mask((__m512i)m);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 8)
        return std::uint32_t(_mm256_movemask_pd((__m256d)m));
    else
        return std::uint32_t(_mm256_movemask_ps((__m256)m));
#elif defined(__SSE2__)
    if constexpr (sizeof(T) == 8)
        return std::uint32_t(_mm_movemask_pd((__m128d)m));
    else
        return std::uint32_t(_mm_movemask_ps((__m128)m));
#else
    std::uint32_t word = 0;
    for (int l = 0; l < lanes<T>; ++l) word |= m[l] ? 1u << l : 0u;
    return word;
#endif
}

template <class T, int half, class Join, int... j>
SX_INLINE T fold_lanes(vec<T> x, Join join, std::integer_sequence<int, j...> all) {
    const vec<T> other = __builtin_shufflevector(x, x, (j ^ half)...);
    const vec<T> joined = join(x, other);
    if constexpr (half > 1)
        return fold_lanes<T, half / 2>(joined, join, all);
    else
        return joined[0];
}

// Reduces all lanes by repeatedly adding the upper half to the lower half.
template <class T>
SX_INLINE T sum_lanes(vec<T> x) {
    return fold_lanes<T, lanes<T> / 2>(
        x, [](vec<T> a, vec<T> b) __attribute__((always_inline)) { return a + b; },
        std::make_integer_sequence<int, lanes<T>>{});
}

template <class T>
SX_INLINE T max_lanes(vec<T> x) {
    return fold_lanes<T, lanes<T> / 2>(
        x, [](vec<T> a, vec<T> b) __attribute__((always_inline)) { return max(a, b); },
        std::make_integer_sequence<int, lanes<T>>{});
}

}  // namespace SX_ISA
}  // namespace sx

#pragma GCC diagnostic pop
