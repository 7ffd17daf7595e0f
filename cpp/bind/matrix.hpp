// X as Python holds it: a view, and the arrays behind it.
#pragma once

#include <vector>

#include "bind/arrays.hpp"
#include "matrix/data.hpp"

namespace sx {

struct Matrix {
    Data data;
    std::vector<Any> kept;

    static Matrix dense(Any X);
    static Matrix sparse(index_t rows, index_t columns);

    // Whether all entries of a sparse X are known to be 1.
    bool ones() const { return (data.has_samples ? data.by_sample : data.by_feature).ones; }

    // Whether the column numbers of every row are sorted, for an X stored by samples.
    bool ordered() const { return !data.sparse || data.by_sample.ordered; }

    void set(bool by_feature, Any start, Any index, Any value, bool ordered);
};

}  // namespace sx
