// Vectors of floating-point numbers, as wide as the instruction set allows, and elementary
// functions on them. Written with the vector extensions of GCC and Clang: the same source serves
// every architecture, and all lanes are computed by the same instructions.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_FMA)
#include <arm_neon.h>
#endif

#ifndef SX_ISA
#define SX_ISA baseline
#endif

#define SX_INLINE inline __attribute__((always_inline))

// All functions that take vectors are inlined, so no vector is ever passed in a call.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace sx {
inline namespace SX_ISA {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

template <class T>
struct Vector {
    typedef T type __attribute__((vector_size(vector_bytes)));
};

template <class T>
using vec = typename Vector<T>::type;
template <class T>
using mask = decltype(vec<T>{} < vec<T>{});
template <class T>
constexpr int lanes = vector_bytes / int(sizeof(T));

template <class T>
SX_INLINE vec<T> broadcast(T value) {
    return value - vec<T>{};  // value + 0 would lose the sign of -0
}

template <class T>
SX_INLINE vec<T> load(const T* from) {
    vec<T> x;
    std::memcpy(&x, from, sizeof x);
    return x;
}

template <class T>
SX_INLINE void store(T* to, vec<T> x) {
    std::memcpy(to, &x, sizeof x);
}

#if defined(__AVX512F__)
SX_INLINE __mmask8 first_lanes(double, int count) {
    return __mmask8((1u << count) - 1u);
}
SX_INLINE __mmask16 first_lanes(float, int count) {
    return __mmask16((1u << count) - 1u);
}
SX_INLINE vec<double> load_masked(const double* from, __mmask8 m, vec<double> rest) {
    return (vec<double>)_mm512_mask_loadu_pd((__m512d)rest, m, from);
}
SX_INLINE vec<float> load_masked(const float* from, __mmask16 m, vec<float> rest) {
    return (vec<float>)_mm512_mask_loadu_ps((__m512)rest, m, from);
}
SX_INLINE void store_masked(double* to, __mmask8 m, vec<double> x) {
    _mm512_mask_storeu_pd(to, m, (__m512d)x);
}
SX_INLINE void store_masked(float* to, __mmask16 m, vec<float> x) {
    _mm512_mask_storeu_ps(to, m, (__m512)x);
}
#endif

// Loads the first `count` lanes and sets the others to `rest`. Does not read beyond `count`. With
// few columns nearly every access is partial: with AVX-512 masks a stochastic step with ten outputs
// takes half as long as with copies of variable length.
template <class T>
SX_INLINE vec<T> load_partial(const T* from, int count, T rest) {
#if defined(__AVX512F__)
    return load_masked(from, first_lanes(T(), count), broadcast<T>(rest));
#else
    vec<T> x = broadcast<T>(rest);
    std::memcpy(&x, from, std::size_t(count) * sizeof(T));
    return x;
#endif
}

template <class T>
SX_INLINE void store_partial(T* to, vec<T> x, int count) {
#if defined(__AVX512F__)
    store_masked(to, first_lanes(T(), count), x);
#else
    std::memcpy(to, &x, std::size_t(count) * sizeof(T));
#endif
}

template <class M, class V>
SX_INLINE V select(M where, V yes, V no) {
    return where ? yes : no;
}

#if defined(__AVX512F__)
SX_INLINE vec<double> fused(vec<double> sum, vec<double> a, vec<double> b) {
    return (vec<double>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)sum);
}
SX_INLINE vec<float> fused(vec<float> sum, vec<float> a, vec<float> b) {
    return (vec<float>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)sum);
}
#elif defined(__FMA__)
SX_INLINE vec<double> fused(vec<double> sum, vec<double> a, vec<double> b) {
    return (vec<double>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)sum);
}
SX_INLINE vec<float> fused(vec<float> sum, vec<float> a, vec<float> b) {
    return (vec<float>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
}
#elif defined(__ARM_FEATURE_FMA)
SX_INLINE vec<double> fused(vec<double> sum, vec<double> a, vec<double> b) {
    return (vec<double>)vfmaq_f64((float64x2_t)sum, (float64x2_t)a, (float64x2_t)b);
}
SX_INLINE vec<float> fused(vec<float> sum, vec<float> a, vec<float> b) {
    return (vec<float>)vfmaq_f32((float32x4_t)sum, (float32x4_t)a, (float32x4_t)b);
}
#endif

// Returns sum + a b, rounded once if the instruction set has FMA. It is explicit because the
// compiler may round twice, for example if the product and the sum are in different branches.
template <class V>
SX_INLINE V add_product(V sum, V a, V b) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    if constexpr (std::is_same_v<V, float>)
        return __builtin_fmaf(a, b, sum);
    else if constexpr (std::is_same_v<V, double>)
        return __builtin_fma(a, b, sum);
    else
        return fused(sum, a, b);
#else
    return sum + a * b;
#endif
}

// Forces the product x to be rounded before it is added to anything. Otherwise the compiler may or
// may not use FMA, depending on how else x is used.
template <class V>
SX_INLINE V rounded(V x) {
#if defined(__AVX512F__)
    __asm__("" : "+v"(x));
#elif defined(__SSE2__)
    __asm__("" : "+x"(x));
#elif defined(__aarch64__)
    __asm__("" : "+w"(x));
#endif
    return x;
}

// If either argument is NaN, max and min return the second argument.
template <class V>
SX_INLINE V max(V a, V b) {
    return a > b ? a : b;
}

template <class V>
SX_INLINE V min(V a, V b) {
    return a < b ? a : b;
}

// Exchanges the off-diagonal blocks of `half` lanes between two rows of a square matrix.
template <int half, class T, int... j>
SX_INLINE void exchange_blocks(vec<T>& a, vec<T>& b, std::integer_sequence<int, j...>) {
    constexpr int V = lanes<T>;
    const vec<T> first = __builtin_shufflevector(a, b, ((j & half) ? V + j - half : j)...);
    b = __builtin_shufflevector(a, b, ((j & half) ? V + j : j + half)...);
    a = first;
}

// Transposes a matrix of lanes x lanes numbers by exchanging the quarters of 2 x 2 blocks,
// recursively.
template <class T, int half = lanes<T> / 2>
SX_INLINE void transpose(vec<T> (&row)[lanes<T>]) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes<T>; ++i)
        if (!(i & half))
            exchange_blocks<half, T>(row[i], row[i + half],
                                     std::make_integer_sequence<int, lanes<T>>{});
    if constexpr (half > 1) transpose<T, half / 2>(row);
}

// The memory layout of a type, and the constants of the functions below in its precision.
template <class T>
struct Format;

template <>
struct Format<double> {
    using Bits = std::uint64_t;
    static constexpr int digits = 52, bias = 1023;
    static constexpr Bits one = 0x3ff0000000000000u, sqrt_half = 0x3fe6a09e667f3bcdu;
    static constexpr double integers = 0x1p52;  // the spacing of doubles is 1 from here on
    static constexpr double log2_e = 1.4426950408889634;
    static constexpr double ln2_high =
        6.93147180369123816490e-01;  // 32 bits: n * ln2_high is exact
    static constexpr double ln2_low = 1.90821492927058770002e-10;
    static constexpr double exp_lowest = -708.0, exp_highest = 709.782712893384;
};

template <>
struct Format<float> {
    using Bits = std::uint32_t;
    static constexpr int digits = 23, bias = 127;
    static constexpr Bits one = 0x3f800000u, sqrt_half = 0x3f3504f3u;
    static constexpr float integers = 0x1p23f;
    static constexpr float log2_e = 1.44269504f;
    static constexpr float ln2_high = 6.9314575195e-01f;  // 15 bits
    static constexpr float ln2_low = 1.4286067653e-06f;
    static constexpr float exp_lowest = -87.0f, exp_highest = 88.7228317f;
};

template <class T>
using bits = vec<typename Format<T>::Bits>;

template <class T>
SX_INLINE vec<T> abs(vec<T> x) {
    constexpr typename Format<T>::Bits sign = 1;
    return (vec<T>)((bits<T>)x & ~(sign << (8 * sizeof(T) - 1)));
}

// Evaluates p x^k + q x^(k-1) + next x^(k-2) + ... Even and odd powers are summed separately by
// Horner's rule. This halves the chain of dependent operations, which determines the time.
template <class T>
SX_INLINE vec<T> polynomial(vec<T> x, vec<T>, vec<T> p, vec<T> q) {
    return p * x + q;
}

template <class T, class... Rest>
SX_INLINE vec<T> polynomial(vec<T> x, vec<T> square, vec<T> p, vec<T> q, T next, Rest... rest) {
    return polynomial<T>(x, square, q, p * square + next, rest...);
}

// exp(x) = 2^n exp(r), r = x - n ln 2, |r| <= ln(2) / 2.
//
// Given      any x.
// On return  exp(x) within 1.1 ulp; 0 if the result is below 1.5 times the smallest normal number,
//            inf if it is too large, NaN for NaN.
// See        Cody and Waite, Software manual for the elementary functions, 1980, chapter 6. The
//            polynomial interpolates (exp(r) - 1 - r) / r^2 at the Chebyshev points. The relative
//            error of exp(r) is 2e-17 (double) or 1e-8 (float).
template <class T>
SX_INLINE vec<T> exp(vec<T> x) {
    using F = Format<T>;
    constexpr T round = T(1.5) * F::integers;  // adding it puts n into the low bits
    const vec<T> shifted = x * F::log2_e + round;
    const vec<T> n = shifted - round;
    const vec<T> r = (x - n * F::ln2_high) - n * F::ln2_low;
    const vec<T> square = r * r;
    vec<T> tail;
    if constexpr (sizeof(T) == 8) {
        tail = polynomial<T>(r, square, broadcast<T>(2.510038549551032e-08),
                             broadcast<T>(2.7620088445409746e-07), 2.7557268459997064e-06,
                             2.4801521295954376e-05, 0.00019841269863053618, 0.0013888888917213717,
                             0.0083333333333300615, 0.041666666666624129, 0.16666666666666669,
                             0.50000000000000011);
    } else {
        tail = polynomial<T>(r, square, broadcast<T>(0.0013926184f), broadcast<T>(0.00836317893f),
                             0.0416665561f, 0.166665763f, 0.5f);
    }
    const vec<T> power = (square * tail + r) + T(1);
    const vec<T> scaled = (vec<T>)((bits<T>)power + ((bits<T>)shifted << F::digits));
    const vec<T> bounded = select(x < F::exp_lowest, vec<T>{}, scaled);
    // The remaining cases: x + inf is inf if x is too large, and NaN if x is NaN.
    return select(x <= F::exp_highest, bounded, x + T(__builtin_inf()));
}

// Returns k ln 2 + log(1 + f) for sqrt(1/2) <= 1 + f < sqrt(2), with full relative accuracy if
// k = 0. See fdlibm, e_log.c: with s = f / (2 + f),
//     log(1 + f) = 2 artanh(s) = f - f^2/2 + s (f^2/2 + R).
template <class T>
SX_INLINE vec<T> log_near_one(vec<T> f, vec<T> k) {
    using F = Format<T>;
    const vec<T> s = f / (f + T(2));
    const vec<T> z = s * s;
    vec<T> R;
    if constexpr (sizeof(T) == 8) {
        R = z * polynomial<T>(z, z * z, broadcast<T>(1.479819860511658591e-01),
                              broadcast<T>(1.531383769920937332e-01), 1.818357216161805012e-01,
                              2.222219843214978396e-01, 2.857142874366239149e-01,
                              3.999999999940941908e-01, 6.666666666666735130e-01);
    } else {
        R = z * polynomial<T>(z, z * z, broadcast<T>(0.24279078841f), broadcast<T>(0.28498786688f),
                              0.40000972152f, 0.66666662693f);
    }
    const vec<T> half_square = T(0.5) * f * f;
    return k * F::ln2_high + (f - (half_square - (s * (half_square + R) + k * F::ln2_low)));
}

// x = 2^k m with sqrt(1/2) <= m < sqrt(2).
template <class T>
struct Split {
    vec<T> m, k;
    vec<T> unscale;  // 2^-k
};

template <class T>
SX_INLINE Split<T> split(vec<T> x) {
    using F = Format<T>;
    constexpr typename F::Bits fraction = (typename F::Bits(1) << F::digits) - 1;
    const bits<T> moved = (bits<T>)x + (F::one - F::sqrt_half);
    const bits<T> biased = moved >> F::digits;  // k + bias
    // Writing a small integer into the low bits of 2^digits gives 2^digits plus that integer. This
    // avoids a conversion from integers, which not every instruction set has.
    const vec<T> counted = (vec<T>)(biased | (bits<T>)broadcast<T>(F::integers));
    return {(vec<T>)((moved & fraction) + F::sqrt_half), counted - (F::integers + T(F::bias)),
            (vec<T>)((typename F::Bits(2 * F::bias) - biased) << F::digits)};
}

// Given      x >= 0 and finite, or NaN.
// On return  log(1 + x) within 2 ulp for every x, however small; NaN for NaN.
// See        fdlibm, s_log1p.c. The rounding error of 1 + x is added to f, so that f equals x while
//            1 + x < sqrt(2).
template <class T>
SX_INLINE vec<T> log1p(vec<T> x) {
    const vec<T> sum = x + T(1);
    const vec<T> lost = select(x < T(1), x - (sum - T(1)), T(1) - (sum - x));
    const Split<T> u = split<T>(sum);
    return log_near_one<T>((u.m - T(1)) + lost * u.unscale, u.k);
}

}  // namespace SX_ISA
}  // namespace sx

#pragma GCC diagnostic pop
