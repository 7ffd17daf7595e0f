// Sums over rows by blocks, and the largest absolute value of an array.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/engine.hpp"

namespace sx {

// The column sums of A (rows, width). Blocks of a fixed number of rows are summed separately, by
// whichever thread has them in its cache, and then added up in order. The bits do not depend on how
// many blocks are processed together.
class BlockedRowSums {
  public:
    // At most `blocks` blocks are added between two calls of `fold`.
    BlockedRowSums(const Engine& engine, index_t width, index_t blocks)
        : engine_(engine), width_(width), parts_(blocks * width), sums_(width, 0.0) {}

    // Sums the rows of one block.
    template <class T>
    void add(index_t block, const T* A, index_t rows) {
        engine_.kernels<T>().sum_columns(A, rows, width_, parts_.data() + block * width_);
    }

    // Adds the first `blocks` blocks to the sums.
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

// out = the column sums of A (rows, width).
template <class T>
void column_sums(const Engine& engine, const T* A, index_t rows, index_t width, double* out) {
    const index_t block = engine.kernels<T>().block_rows, blocks = (rows + block - 1) / block;
    BlockedRowSums sums(engine, width, blocks);
    engine.loop(blocks, double(rows) * width, [&](index_t task, int) {
        const index_t first = task * block;
        sums.add(task, A + first * width, std::min(block, rows - first));
    });
    sums.fold(blocks);
    std::fill_n(out, width, 0.0);
    sums.put(out);
}

// Whether all numbers are equal to the first one.
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

// Returns the largest |x|, NaN unless all numbers are finite.
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
