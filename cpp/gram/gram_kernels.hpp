// The arguments of the kernels of weighted Gram matrices, the same for every instruction set.
#pragma once

#include "matrix/views.hpp"

namespace sx {

// Some columns of h and some rows of the lower triangle. The sums are stored as
// [row][column][lane], with `width` lanes. The last lanes may be padding.
struct GramTile {
    const double* h;  // (rows of X, columns)
    index_t columns;
    index_t c;       // first column of the tile
    index_t width;   // lanes: 1 for a single column, otherwise whole vectors
    index_t j0, j1;  // rows of the triangle; row d belongs to the constant 1
    double* sums;
    const double* origin;  // null, or subtracted from every row
    double* row;           // space for one row minus the origin
};

struct GramKernels {
    index_t widest;  // lanes of the widest tile
    void (*sparse)(const CompressedView& X, const GramTile& tile);
    void (*weigh)(const DenseView& X, index_t first, index_t count, const double* h, index_t step,
                  const double* origin, index_t features, double* panels);
};

}  // namespace sx
