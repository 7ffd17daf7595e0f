// Duals and gradients of the rows (rows, models, outputs), combined with the weights of the rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "matrix/row_sums.hpp"
#include "objective/labels.hpp"

namespace sx {

// out = U (rows, models, outputs) times the weight of the row and the factor of the model. Rows
// without weight give 0, even if U is not finite there.
inline void multiply_weights(const Engine& engine, const Labels& labels, const double* U,
                             index_t rows, index_t models, index_t outputs, double* out) {
    const index_t width = models * outputs, block = engine.kernels<double>().block_rows;
    engine.loop((rows + block - 1) / block, 2.0 * rows * width, [&](index_t task, int) {
        const index_t last = std::min(rows, (task + 1) * block);
        for (index_t i = task * block; i < last; ++i)
            for (index_t m = 0, c = i * width; m < models; ++m) {
                const double weight = labels.weight(i, m);
                const double factor = weight * labels.scale[m];
                for (index_t k = 0; k < outputs; ++k, ++c)
                    out[c] = weight > 0.0 ? U[c] * factor : 0.0;
            }
    });
}

// out (models, outputs) = the sums over the rows of s U, or of s |U| if `sizes`. Rows without
// weight are skipped, even if U is not finite there.
inline void weighted_sums(const Engine& engine, const Labels& labels, const double* U, index_t rows,
                          index_t models, index_t outputs, bool sizes, double* out) {
    const index_t width = models * outputs, block = engine.kernels<double>().block_rows;
    const index_t blocks = (rows + block - 1) / block;
    BlockedRowSums sums(engine, width, blocks);
    std::vector<double> space(engine.threads * block * width);
    engine.loop(blocks, 4.0 * rows * width, [&](index_t task, int worker) {
        double* weighed = space.data() + worker * block * width;
        const index_t first = task * block, here = std::min(block, rows - first);
        for (index_t i = first, c = 0; i < first + here; ++i)
            for (index_t m = 0; m < models; ++m) {
                const double weight = labels.weight(i, m);
                for (index_t k = 0; k < outputs; ++k, ++c) {
                    const double u = U[first * width + c];
                    weighed[c] = weight > 0.0 ? weight * (sizes ? std::abs(u) : u) : 0.0;
                }
            }
        sums.add(task, weighed, here);
    });
    sums.fold(blocks);
    std::fill_n(out, width, 0.0);
    sums.put(out);
}

// Whether U is finite, and 0 in rows without weight.
inline bool are_valid_duals(const Engine& engine, const Labels& labels, const double* U,
                            index_t rows, index_t models, index_t outputs) {
    const index_t width = models * outputs, block = engine.kernels<double>().block_rows;
    std::vector<char> bad((rows + block - 1) / block);
    engine.loop(index_t(bad.size()), double(rows) * width, [&](index_t task, int) {
        const index_t last = std::min(rows, (task + 1) * block);
        bool found = false;
        for (index_t i = task * block; i < last; ++i)
            for (index_t m = 0, c = i * width; m < models; ++m) {
                const double most =
                    labels.weight(i, m) > 0.0 ? std::numeric_limits<double>::max() : 0.0;
                for (index_t k = 0; k < outputs; ++k, ++c) found |= !(std::abs(U[c]) <= most);
            }
        bad[task] = found;
    });
    return std::none_of(bad.begin(), bad.end(), [](char found) { return found; });
}

}  // namespace sx
