// Duals that depend only on the class of a row, for lower bounds without another pass over X.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "matrix/views.hpp"

namespace sx {

// Problem    e and class duals U_c with (1 - e) g + e sum_c share_c U_c = 0 for every model, and
//            V = sum_c mean_c U_c.
// Given      the sums g (models, outputs); for one group of rows, or one for each model, the share
//            (groups, classes) of the weight that every class has, and its part (features, groups,
//            classes) of the mean of the features. The duals are flows between classes, of which
//            `room` is the largest; with `one_vs_rest`, flows between every class and the rest.
// On return  e (models), U (classes, models, outputs) and V (features, models, outputs). U is NaN
//            if only a class without weight could balance g.
struct ClassDuals {
    index_t features, groups, classes, models, outputs;
    bool one_vs_rest;
    double room;
    const double *shares, *means, *g;
    double *e, *U, *V;

    void find() const {
        std::vector<double> flows(std::max(classes, outputs));
        for (index_t m = 0; m < models; ++m) {
            const double* share = shares + (groups == 1 ? 0 : m) * classes;
            if (one_vs_rest)
                against_rest(m, share, flows.data());
            else
                between_classes(m, share, flows.data());
        }
        for (index_t j = 0; j < features; ++j)
            for (index_t m = 0; m < models; ++m) {
                const double* mean = means + (j * groups + (groups == 1 ? 0 : m)) * classes;
                double* sum = V + (j * models + m) * outputs;
                std::fill_n(sum, outputs, 0.0);
                for (index_t c = 0; c < classes; ++c)
                    for (index_t k = 0; k < outputs; ++k) sum[k] += mean[c] * dual(c, m, k);
            }
    }

  private:
    double& dual(index_t c, index_t m, index_t k) const {
        return U[(c * models + m) * outputs + k];
    }

    // Sets e, and returns the factor that scales flows, of which `most` is the largest, to `room`.
    double scale(index_t m, double most) const {
        e[m] = most / (most + room);
        return most > 0 ? room / most : 0.0;
    }

    void against_rest(index_t m, const double* share, double* flows) const {
        const double* sum = g + m * outputs;
        double most = 0;
        for (index_t k = 0; k < outputs; ++k) {
            const double giving = sum[k] > 0 ? share[k] : 1.0 - share[k];
            flows[k] = sum[k] == 0 ? 0.0 : std::abs(sum[k]) / giving;
            most = larger(most, flows[k]);
        }
        const double factor = scale(m, most);
        for (index_t k = 0; k < outputs; ++k) {
            const bool leaves = sum[k] > 0;
            for (index_t c = 0; c < classes; ++c)
                dual(c, m, k) =
                    (c == k) != leaves ? 0.0 : (leaves ? -1.0 : 1.0) * flows[k] * factor;
        }
    }

    // Class c gives the flow out[c] per unit of its weight. Every class receives its part of it.
    void between_classes(index_t m, const double* share, double* out) const {
        const double* sum = g + m * outputs;
        const index_t lifted = classes - outputs;  // 1 if the first class has no output
        double first = 0, into = 0, most = 0;
        for (index_t k = 0; k < outputs; ++k) first -= sum[k];
        const auto sum_of = [&](index_t c) { return c < lifted ? first : sum[c - lifted]; };
        for (index_t c = 0; c < classes; ++c) {
            out[c] = sum_of(c) > 0 ? sum_of(c) / share[c] : 0.0;
            most = larger(most, out[c]);
            into += std::max(-sum_of(c), 0.0);
        }
        const double factor = scale(m, most);
        for (index_t c = 0; c < classes; ++c) {
            double total = 0;
            for (index_t j = 0; j < classes; ++j) {
                const double part = into > 0 ? std::max(-sum_of(j), 0.0) / into : 0.0;
                const double flow = out[c] * factor * part;
                total += flow;
                if (j != c && j >= lifted) dual(c, m, j - lifted) = flow;
            }
            if (c >= lifted) dual(c, m, c - lifted) = -total;
        }
    }

    // Returns NaN if one of them is NaN.
    static double larger(double a, double b) { return a >= b ? a : b > a ? b : a + b; }
};

}  // namespace sx
