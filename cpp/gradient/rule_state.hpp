// The weights, the state and the parameters of a gradient rule, for all models of a batch.
#pragma once

#include <cmath>

#include "gradient/rule_step.hpp"

namespace sx {

// The state and parameters of a gradient rule for weights and biases together.
template <class T>
struct RuleState {
    Rule rule;
    T *W, *b;                                 // (features, N), (N)
    T *VW, *Vb;                               // v (momentum), u (nesterov), m (adam)
    T *MW, *Mb;                               // s (adam)
    const double *rate, *momentum, *l1, *l2;  // (models)
    const double *shift, *power;              // (models): step t has rate / (shift + t)^power
    T *AW, *Ab;                               // averages of W and b, or null
    const std::int64_t* average_from;         // (models): the first step that is averaged
    const T* factors;                         // null, (features) or (features, N)
    bool factors_per_column;
    double beta1, beta2, epsilon;
    bool free_bias;
    double bias_rate;  // the rate of the bias, as a multiple of the rate
    double* losses;    // (models), null, or sums of s loss of every batch before its step

    bool averages(index_t m) const { return AW && average_from[m] >= 0; }
    bool rate_changes(index_t m) const { return power && power[m] != 0.0; }

    // The number by which the rate is divided in step `count` (from 1).
    double rate_divisor(index_t m, std::int64_t count) const {
        return std::pow(shift[m] + double(count), power[m]);
    }

    // The share of the weights after step `count` in their average.
    T share_of_step(index_t m, std::int64_t count) const {
        const std::int64_t from = average_from[m];
        return from < 0 || count <= from ? T(1) : T(1.0 / double(count - from + 1));
    }
};

}  // namespace sx
