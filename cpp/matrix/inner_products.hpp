// Inner products of many models.
#pragma once

#include <vector>

#include "matrix/views.hpp"

namespace sx {

// Problem    out[m] = sum_jk V[j][m][k] W[j][m][k] + sum_k c[m][k] b[m][k], in double.
// Given      V, W (features, models, outputs) and b, c (models, outputs), C order.
// On return  entry e of a model was added to partial sum e mod 8. Additions to different partial
//            sums overlap, and the bits do not depend on the number of models.
template <class T>
void inner_products(const T* W, const T* b, const T* V, const T* c, index_t features,
                    index_t models, index_t outputs, double* out) {
    constexpr index_t ways = 8;
    std::vector<double> parts(ways * models, 0.0);
    double* part = parts.data();
    if (models == 1) {
        const index_t count = features * outputs;
        index_t e = 0;
        for (; e + ways <= count; e += ways)
            for (index_t k = 0; k < ways; ++k) part[k] += double(W[e + k]) * double(V[e + k]);
        for (; e < count; ++e) part[e % ways] += double(W[e]) * double(V[e]);
    } else {
        for (index_t j = 0; j < features; ++j)
            for (index_t k = 0; k < outputs; ++k) {
                double* to = part + (j * outputs + k) % ways * models;
                const index_t first = j * models * outputs + k;
                for (index_t m = 0; m < models; ++m)
                    to[m] += double(W[first + m * outputs]) * double(V[first + m * outputs]);
            }
    }
    for (index_t m = 0; m < models; ++m) {
        double half[ways / 2], biases = 0;
        for (index_t k = 0; k < ways / 2; ++k)
            half[k] = part[k * models + m] + part[(k + ways / 2) * models + m];
        for (index_t k = 0; k < outputs; ++k)
            biases += double(b[m * outputs + k]) * double(c[m * outputs + k]);
        out[m] = (half[0] + half[2]) + (half[1] + half[3]) + biases;
    }
}

}  // namespace sx
