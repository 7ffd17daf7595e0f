// Sums of duals by pairs of classes, for losses that depend only on differences of scores.
//
// Such a dual U (rows, models, outputs) has an alpha_j >= 0 for every wrong class j: U_j = alpha_j,
// and U_y = -sum_j alpha_j for the true class y. In the lifted form there is one class more than
// outputs: the score of class 0 is fixed at 0, and its dual is minus the sum of the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "engine/engine.hpp"

namespace sx {

struct Duals {
    index_t rows, models, outputs;
    bool lifted;
    const std::int32_t* y;
    index_t y_row, y_model;
    const double* U;

    index_t classes() const { return outputs + lifted; }
    index_t label(index_t i, index_t m) const { return y[i * y_row + m * y_model]; }
    const double* row(index_t i, index_t m) const { return U + (i * models + m) * outputs; }

    // Writes the duals of all classes of one row and model, true class included, to out (C).
    template <class Count>
    void spread(index_t i, index_t m, Count C, double* out) const {
        const double* u = row(i, m);
        const index_t shift = C - outputs;
        double sum = 0;
        for (index_t j = shift; j < C; ++j) sum += out[j] = u[j - shift];
        if (shift) out[0] = -sum;
    }
};

// Calls run with the number of classes, which is a compile-time constant if there are two.
template <class Run>
void with_classes(const Duals& p, const Run& run) {
    if (p.classes() == 2)
        run(std::integral_constant<index_t, 2>());
    else
        run(p.classes());
}

// Calls body(slab, first, last) for slabs of rows. They depend only on the number of rows.
constexpr index_t slab_rows = 1024;

inline index_t slabs_of(index_t rows) {
    return (rows + slab_rows - 1) / slab_rows;
}

template <class Body>
void for_slabs(const Engine& engine, index_t rows, double work, const Body& body) {
    engine.loop(slabs_of(rows), work, [&](index_t slab, int) {
        body(slab, slab * slab_rows, std::min(rows, (slab + 1) * slab_rows));
    });
}

// Calls take(model, true class, wrong class, weight, alpha) for every alpha > 0 of rows [first,
// last).
template <class Count, class Take>
void for_alphas(const Duals& p, Count C, const double* s, index_t s_row, index_t s_model,
                index_t first, index_t last, const Take& take) {
    std::vector<double> u(C);
    for (index_t i = first; i < last; ++i)
        for (index_t m = 0; m < p.models; ++m) {
            const double weight = s[i * s_row + m * s_model];
            if (!(weight > 0.0)) continue;
            p.spread(i, m, C, u.data());
            const index_t c = p.label(i, m);
            for (index_t j = 0; j < C; ++j)
                if (j != c && u[j] > 0.0) take(m, c, j, weight, u[j]);
        }
}

// Returns the power of two that scales a number close to 1.
inline double to_unit(double largest) {
    return largest > 0.0 ? std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1022, 1022)) : 1.0;
}

// A[m][c][j] += the sum of s alpha_j over the rows of class c. For each model the sum is divided by
// its largest weight times its largest alpha (rounded to powers of two), so that no sum overflows.
inline void class_pair_sums(const Engine& engine, const Duals& p, const double* s, index_t s_row,
                            index_t s_model, double* A) {
    const index_t B = p.models, size = B * p.classes() * p.classes(), slabs = slabs_of(p.rows);
    const double work = 8.0 * p.rows * B * p.classes();
    std::vector<double> largest(slabs * B, 0.0), unit(B, 0.0), sums(slabs * size, 0.0);
    std::vector<double> heaviest(slabs * B, 0.0), heavy(B, 0.0);
    with_classes(p, [&](auto C) {
        for_slabs(engine, p.rows, work, [&](index_t slab, index_t first, index_t last) {
            double* most = largest.data() + slab * B;
            double* weighty = heaviest.data() + slab * B;
            for_alphas(p, C, s, s_row, s_model, first, last,
                       [&](index_t m, index_t, index_t, double weight, double alpha) {
                           most[m] = std::max(most[m], alpha);
                           weighty[m] = std::max(weighty[m], weight);
                       });
        });
        for (index_t k = 0; k < slabs * B; ++k) {
            unit[k % B] = std::max(unit[k % B], largest[k]);
            heavy[k % B] = std::max(heavy[k % B], heaviest[k]);
        }
        for (index_t m = 0; m < B; ++m) {
            unit[m] = to_unit(unit[m]);
            heavy[m] = to_unit(heavy[m]);
        }
        for_slabs(engine, p.rows, work, [&](index_t slab, index_t first, index_t last) {
            double* mine = sums.data() + slab * size;
            for_alphas(p, C, s, s_row, s_model, first, last,
                       [&](index_t m, index_t c, index_t j, double weight, double alpha) {
                           mine[(m * C + c) * C + j] += weight * heavy[m] * (alpha * unit[m]);
                       });
        });
    });
    for (index_t k = 0; k < slabs * size; ++k) A[k % size] += sums[k];
}

// out = the duals with the alpha_j of every row of class c multiplied by F[m][c][j].
inline void scale_class_pairs(const Engine& engine, const Duals& p, const double* F, double* out) {
    const index_t B = p.models, K = p.outputs;
    const double work = 4.0 * p.rows * B * p.classes();
    with_classes(p, [&](auto C) {
        for_slabs(engine, p.rows, work, [&](index_t, index_t first, index_t last) {
            std::vector<double> u(C);
            for (index_t i = first; i < last; ++i)
                for (index_t m = 0; m < B; ++m) {
                    p.spread(i, m, C, u.data());
                    const index_t c = p.label(i, m);
                    const double* factor = F + (m * C + c) * C;
                    double sum = 0;
                    for (index_t j = 0; j < C; ++j) {
                        u[j] = j == c ? 0.0 : factor[j] * std::max(u[j], 0.0);
                        sum += u[j];
                    }
                    u[c] = -sum;
                    for (index_t k = 0; k < K; ++k) out[(i * B + m) * K + k] = u[k + (C - K)];
                }
        });
    });
}

}  // namespace sx
