// Sums over rows, block of rows by block.
#pragma once

#include <vector>

#include "engine.hpp"

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

}  // namespace sx
