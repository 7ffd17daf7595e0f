// Sums over rows, block of rows by block, and the largest of all numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/engine.hpp"
#include "objective/labels.hpp"

namespace sx {

// The sums of the columns of A (rows, width). Blocks of a fixed number of rows are summed on their
// own, by whichever thread has them in its cache, and then added up in their order: the bits do not
// depend on how many blocks come at a time.
class RowSums {
  public:
    // Up to `blocks` blocks come between two calls of `fold`.
    RowSums(const Engine& engine, index_t width, index_t blocks)
        : engine_(engine), width_(width), parts_(blocks * width), sums_(width, 0.0) {}

    // The rows of one of the blocks.
    template <class T>
    void add(index_t block, const T* A, index_t rows) {
        engine_.kernels<T>().sum_columns(A, rows, width_, parts_.data() + block * width_);
    }

    // Adds up the first `blocks` of the blocks.
    void fold(index_t blocks) {
        for (index_t block = 0; block < blocks; ++block)
            for (index_t c = 0; c < width_; ++c) sums_[c] += parts_[block * width_ + c];
    }

    void put(double* sums) const {
        for (index_t c = 0; c < width_; ++c) sums[c] += sums_[c];
    }

  private:
    const Engine& engine_;
    index_t width_;
    std::vector<double> parts_, sums_;
};

// out = the sums of the columns of A (rows, width).
template <class T>
void sum_all_rows(const Engine& engine, const T* A, index_t rows, index_t width, double* out) {
    const index_t block = engine.kernels<T>().block_rows, blocks = (rows + block - 1) / block;
    RowSums sums(engine, width, blocks);
    engine.loop(blocks, double(rows) * width, [&](index_t task, int) {
        const index_t first = task * block;
        sums.add(task, A + first * width, std::min(block, rows - first));
    });
    sums.fold(blocks);
    std::fill_n(out, width, 0.0);
    sums.put(out);
}

// out = U (rows, models, outputs) times the weight of the row and a factor of the model; 0 in rows
// without weight, whatever U is there.
inline void weigh_rows(const Engine& engine, const Labels& labels, const double* U, index_t rows,
                       index_t models, index_t outputs, double* out) {
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

// out (models, outputs) = the sums over the rows of s U, or of s |U|; rows without weight count for
// nothing, whatever U is there.
inline void sum_weighed_rows(const Engine& engine, const Labels& labels, const double* U,
                             index_t rows, index_t models, index_t outputs, bool sizes,
                             double* out) {
    const index_t width = models * outputs, block = engine.kernels<double>().block_rows;
    const index_t blocks = (rows + block - 1) / block;
    RowSums sums(engine, width, blocks);
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
inline bool is_usable(const Engine& engine, const Labels& labels, const double* U, index_t rows,
                      index_t models, index_t outputs) {
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

// Whether all of some numbers are the first of them.
template <class T>
bool all_equal(const Engine& engine, const T* x, index_t count) {
    constexpr index_t piece = 1 << 14;
    const index_t pieces = (count + piece - 1) / piece;
    std::vector<char> differ(pieces);
    engine.loop(pieces, double(count), [&](index_t task, int) {
        const index_t first = task * piece, last = std::min(count, first + piece);
        bool other = false;
        for (index_t k = first; k < last; ++k) other |= x[k] != x[0];
        differ[task] = other;
    });
    return std::none_of(differ.begin(), differ.end(), [](char other) { return other; });
}

// The largest |x|, NaN unless all are finite.
template <class T>
double max_abs_of_all(const Engine& engine, const T* x, index_t count) {
    constexpr index_t piece = 1 << 15;
    std::vector<double> parts((count + piece - 1) / piece);
    engine.loop(index_t(parts.size()), double(count), [&](index_t task, int) {
        const index_t first = task * piece;
        parts[task] = engine.kernels<T>().max_abs(x + first, std::min(piece, count - first));
    });
    double most = 0;
    for (const double part : parts) {
        if (!(part >= 0)) return part;
        most = std::max(most, part);
    }
    return most;
}

}  // namespace sx
