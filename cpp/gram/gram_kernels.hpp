// What the kernels of weighted Gram matrices are given, the same for every instruction set.
#pragma once

#include "matrix/views.hpp"

namespace sx {

// Some columns of h and some rows of the lower triangle. The sums lie as [row][column][lane], rows
// of the triangle one after the other, with `width` lanes of which the last may be padding.
struct GramTile {
    const double* h;  // (rows of X, columns)
    index_t columns;
    index_t c;       // first column of the tile
    index_t width;   // lanes: 1 for a single column, else whole vectors
    index_t j0, j1;  // rows of the triangle; row d is that of the constant 1
    double* sums;
    const double* origin;  // null, or where every feature is seen from
    double* row;           // space for a row seen from there
};

struct GramKernels {
    index_t widest;  // lanes of the widest tile
    void (*sparse)(const CompressedView& X, const GramTile& tile);
    void (*weigh)(const DenseView& X, index_t first, index_t count, const double* h, index_t step,
                  const double* origin, index_t features, double* panels);
};

}  // namespace sx
