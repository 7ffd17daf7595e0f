// Conjugates of the losses that depend only on differences of scores.
//
// Problem    conjugate(U) = sup over z of U.z - loss(z), for every row and model. In terms of the
//            alphas of U it is a sum over them, a function of their sum, or an entropy.
// Given      duals that rounding may have moved out of the domain by `tolerance`.
// On return  the conjugates; infinity outside the domain.
#pragma once

#include <stdexcept>

#include "losses/class_pairs.hpp"
#include "losses/dispatch.hpp"

namespace sx {

// Returns the conjugate at the duals u (C) of one row of class c. For an entropy the caller adds x
// log x of u: u is replaced by the alphas and, at the true class, 1 minus their sum, from which
// rounding has removed `lost`.
template <class L, class Count>
double conjugate_of_row(double margin, double tolerance, index_t c, Count C, double* u,
                        double& lost) {
    double sum = 0, size = 1, lowest = 0, highest = 0, total = 0, result = 0;
    for (index_t j = 0; j < C; ++j) {
        sum += u[j];
        size = std::max(size, std::abs(u[j]));
        if (j == c) continue;
        lowest = std::min(lowest, u[j]);
        const double alpha = u[j] = std::max(u[j], 0.0);
        highest = std::max(highest, alpha);
        total += alpha;
        result += L::conjugate_term(alpha, margin);
    }
    result = L::conjugate_sum(result, total, margin);
    u[c] = std::max(1.0 - total, 0.0);
    lost = u[c] > 0 ? (1.0 - u[c]) - total : 0.0;
    const double extent = L::alpha_bound == AlphaBound::none   ? 0.0
                          : L::alpha_bound == AlphaBound::each ? highest
                                                               : total;
    const double allowed = tolerance * size, most = L::most_alpha + allowed;
    const bool inside = std::abs(sum) <= allowed && lowest >= -allowed && extent <= most;
    return inside ? result : std::numeric_limits<double>::infinity();
}

// value[i][m] = the conjugate of the loss at U.
template <class L>
void conjugates_of(const Engine& engine, const Duals& p, double margin, double tolerance,
                   double* value) {
    const index_t B = p.models;
    const double work = 16.0 * p.rows * B * p.classes();
    with_classes(p, [&](auto C) {
        for_slabs(engine, p.rows, work, [&](index_t, index_t first, index_t last) {
            constexpr index_t at_once = 512;  // pairs of row and model
            std::vector<double> u(at_once * C), lost(at_once);
            for (index_t pair = first * B; pair < last * B; pair += at_once) {
                const index_t here = std::min(at_once, last * B - pair);
                index_t i = pair / B, m = pair % B;
                for (index_t k = 0; k < here; ++k) {
                    p.spread(i, m, C, u.data() + k * C);
                    value[pair + k] = conjugate_of_row<L>(margin, tolerance, p.label(i, m), C,
                                                          u.data() + k * C, lost[k]);
                    if (++m == B) m = 0, ++i;
                }
                if (!L::entropy) continue;
                // The rounding error of 1 - total, times the slope of x log x near x = 1. Small
                // alphas need it.
                for (index_t k = 0; k < here; ++k) value[pair + k] += lost[k];
                engine.kernels<double>().x_log_x(u.data(), here * C);
                for (index_t k = 0; k < here; ++k)
                    for (index_t j = 0; j < C; ++j) value[pair + k] += u[k * C + j];
            }
        });
    });
}

inline void conjugate_values(const Engine& engine, const Duals& p, Loss loss, double margin,
                             double tolerance, double* value) {
    with_loss(loss, [&]<class L>(L) {
        if constexpr (L::has_conjugate)
            conjugates_of<L>(engine, p, margin, tolerance, value);
        else
            throw std::invalid_argument("This loss has no native conjugate.");
    });
}

}  // namespace sx
