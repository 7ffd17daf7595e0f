// One step of a gradient rule for many models, and the penalty and gradient norm of a step.
//
// Problem    min over w of F(w) + l1 |f w|_1 + l2/2 |f w|^2, with F smooth and gradient g, in the
//            scaled variables f w (f = 1 without penalty factors), by one of
//              plain     u = prox(w - rate g)                      w = u
//              momentum  u = prox(w + mu v - rate g)  v = u - w    w = u
//              nesterov  u = prox(w - rate g)         w = u + mu (u - v)   v = u
//              adam      m = b1 m + (1 - b1) g  s = b2 s + (1 - b2) g^2
//                        D = rate / (sqrt(s / (1 - b2^t)) + eps)   w = prox_D(w - D m / (1 - b1^t))
//            with rate the learning rate, mu the momentum, prox the soft threshold at rate l1
//            (adam: at D l1, in the metric of D), and g including the gradient of the L2 term.
//            Without l1, momentum is exactly v = mu v - rate g, w = w + v.
// Given      parameters per column, so that every model has its own. A row of W is a feature.
// See        Polyak 1964; Nesterov 1983; Beck and Teboulle 2009; Kingma and Ba 2015.
#pragma once

#include <cmath>

#include "gradient/rule_step.hpp"
#include "matrix/views.hpp"
#include "simd/scalar_or_vector.hpp"

namespace sx {
inline namespace SX_ISA {

// Returns sign(x) max(|x| - t, 0), and NaN for NaN: a diverged model must not look like zeros. For
// t = 0 this is exactly x, even -0.
template <class V>
SX_INLINE V soft_threshold(V x, V t) {
    return x - min(max(x, -t), t);
}

template <class T>
SX_INLINE vec<T> square_root(vec<T> x) {
    for (int i = 0; i < lanes<T>; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

// The parameters of one step, per lane.
template <class V>
struct StepSizes {
    V rate, momentum, l1, l2;
};

// Makes a step along g, the gradient of the loss and the L2 term, in the scaled variables. V is a
// vector or a single number, with the same rounding.
template <class T, class V>
SX_INLINE void move_weights(Rule rule, const StepSizes<V>& p, V g, V& w, V& v) {
    const V threshold = p.rate * p.l1, move = rounded<V>(p.rate * g);
    if (rule == Rule::momentum) {
        const V step = add_product<V>(-move, p.momentum, v);
        const V u = soft_threshold<V>(w + step, threshold);
        v = select(p.l1 > T(0), u - w, step);
        w = u;
        return;
    }
    const V u = soft_threshold<V>(w - move, threshold);
    w = rule == Rule::nesterov ? add_product<V>(u, p.momentum, u - v) : u;
    v = u;
}

// The lanes are neighbouring columns of one row or, for a single column (`lone`), neighbouring
// rows.
template <bool lone, class T>
SX_INLINE void step_lanes(const RuleStep<T>& p, T* w_at, T* v_at, T* m_at, const T* g_at,
                          const T* f_at, index_t c, int count) {
    const auto read = [&](const T* at, T rest) {
        return count == lanes<T> ? load<T>(at) : load_partial<T>(at, count, rest);
    };
    const auto write = [&](T* at, vec<T> x) {
        count == lanes<T> ? store<T>(at, x) : store_partial<T>(at, x, count);
    };
    const auto parameter = [&](const T* of) {
        return lone ? broadcast<T>(*of) : read(of + c, T(0));
    };
    const StepSizes<vec<T>> sizes = {parameter(p.rate), parameter(p.momentum), parameter(p.l1),
                                     parameter(p.l2)};
    vec<T> f = broadcast<T>(T(1)), inverse = f;
    if (f_at) {
        f = lone || p.factor_column ? read(f_at, T(1)) : broadcast<T>(*f_at);
        inverse = T(1) / f;
    }
    vec<T> w = read(w_at, T(0)) * f;
    vec<T> v = {};
    if (v_at) v = read(v_at, T(0));
    const vec<T> g = add_product<vec<T>>(rounded<vec<T>>(read(g_at, T(0)) * inverse), sizes.l2, w);
    if (m_at) {
        v = add_product<vec<T>>(rounded<vec<T>>((T(1) - p.beta1) * g), broadcast<T>(p.beta1), v);
        const vec<T> square = rounded<vec<T>>((T(1) - p.beta2) * g * g);
        const vec<T> s = add_product<vec<T>>(square, broadcast<T>(p.beta2), read(m_at, T(0)));
        const vec<T> metric = sizes.rate / (square_root<T>(s * p.correction2) + p.epsilon);
        const vec<T> move = rounded<vec<T>>(metric * (v * p.correction1));
        write(m_at, s);
        w = soft_threshold<vec<T>>(w - move, metric * sizes.l1);
    } else {
        move_weights<T, vec<T>>(p.rule, sizes, g, w, v);
    }
    if (v_at) write(v_at, v);
    write(w_at, w * inverse);
}

// Makes the step for rows [j0, j1) of W, in place.
template <class T>
void rule_block(const RuleStep<T>& p, index_t j0, index_t j1) {
    const auto step = [&]<bool lone>(index_t j, index_t c, index_t left) {
        const int count = left < lanes<T> ? int(left) : lanes<T>;
        const index_t at = j * p.columns + c;
        const T* f = p.factors ? p.factors + j * p.factor_row + c * p.factor_column : nullptr;
        step_lanes<lone, T>(p, p.W + at, p.V ? p.V + at : nullptr, p.M ? p.M + at : nullptr,
                            p.G + j * p.ldg + c, f, c, count);
    };
    if (p.columns == 1 && p.ldg == 1) {
        for (index_t j = j0; j < j1; j += lanes<T>) step.template operator()<true>(j, 0, j1 - j);
        return;
    }
    for (index_t j = j0; j < j1; ++j)
        for (index_t c = 0; c < p.columns; c += lanes<T>)
            step.template operator()<false>(j, c, p.columns - c);
}

// Adds the penalty and the squared norm of the smallest subgradient of every column, in double:
//   penalty += l1 f |w| + l2/2 f^2 w^2; NaN if w is not finite, even without a penalty, because
//              such a model has diverged
//   norm    += (g + l2 f^2 w + l1 f sign(w))^2, or max(|g| - l1 f, 0)^2 if w = 0
// Handles at most measured_columns columns, so that their sums stay in registers.
template <class T>
void measure_columns(const RuleStep<T>& p, index_t rows, index_t c0, index_t c1, double* penalty,
                     double* norm) {
    const index_t width = c1 - c0;
    double l1[measured_columns] = {}, l2[measured_columns] = {};
    double strength[measured_columns] = {}, square[measured_columns] = {};
    for (index_t c = 0; c < width; ++c) {
        l1[c] = p.l1[c0 + c];
        l2[c] = p.l2[c0 + c];
    }
    for (index_t j = 0; j < rows; ++j) {
        const T* W = p.W + j * p.columns + c0;
        const T* G = p.G + j * p.ldg + c0;
        const T* F = p.factors ? p.factors + j * p.factor_row + c0 * p.factor_column : nullptr;
        for (index_t c = 0; c < width; ++c) {
            const double f = F ? double(F[c * p.factor_column]) : 1.0;
            const double w = W[c], m1 = l1[c] * f, m2 = l2[c] * f * f;
            const double slope = double(G[c]) + m2 * w;
            const double outside = std::fabs(slope) - m1;
            // Written without branches so that the compiler can vectorise it. NaN passes the
            // comparison.
            const double inside = outside <= 0 ? 0.0 : outside;
            const double least = w > 0 ? slope + m1 : (w < 0 ? slope - m1 : inside);
            strength[c] += m1 * std::fabs(w) + 0.5 * m2 * w * w;
            square[c] += least * least;
        }
    }
    for (index_t c = 0; c < width; ++c) {
        penalty[c0 + c] += strength[c];
        norm[c0 + c] += square[c];
    }
}

}  // namespace SX_ISA
}  // namespace sx
