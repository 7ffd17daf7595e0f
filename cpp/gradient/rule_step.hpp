// The arguments of one step of a gradient rule, the same for every instruction set.
#pragma once

#include "matrix/views.hpp"

namespace sx {

// Number of columns that are measured together.
constexpr index_t measured_columns = 16;

enum class Rule : int { plain = 0, momentum = 1, nesterov = 2, adam = 3, lazy_adam = 4 };

template <class T>
struct RuleStep {
    Rule rule;
    index_t columns;  // models x outputs
    T* W;             // (rows, columns)
    T* V;             // (rows, columns): v, or m (adam); null for plain
    T* M;             // (rows, columns): s (adam); null for the others
    const T* G;       // (rows, ldg): gradient of the loss
    index_t ldg;
    const T *rate, *momentum, *l1, *l2;  // (columns)
    const T* factors;                    // null, (rows) or (rows, columns)
    index_t factor_row, factor_column;
    T beta1, beta2, epsilon;
    T correction1, correction2;  // 1 / (1 - beta^t)
};

}  // namespace sx
