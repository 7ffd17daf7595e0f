// Sums over rows that do not wait for each other.
#pragma once

#include <algorithm>
#include <vector>

#include "engine.hpp"

namespace sx {

// The sums of the columns of A (rows, width), whose rows come in order, some at a time. Row i goes
// to the part i mod `ways` of its column: additions to different parts overlap, and the bits depend
// neither on the width nor on how many rows come at a time.
class RowSums {
    static constexpr index_t ways = 8, block = 64;

  public:
    explicit RowSums(index_t width) : width_(width), parts_(ways * width, 0.0) {}

    // Adds rows [first, first + count).
    template <class Entry>
    void add(const Engine& engine, const Entry* A, index_t first, index_t count) {
        const double work = double(count) * width_;
        engine.loop((width_ + block - 1) / block, work, [&](index_t task, int) {
            const index_t c0 = task * block, c1 = std::min(width_, c0 + block);
            const auto add_row = [&](index_t i) {
                double* to = parts_.data() + (first + i) % ways * width_;
                for (index_t c = c0; c < c1; ++c) to[c] += double(A[i * width_ + c]);
            };
            index_t i = 0;
            if (width_ == 1) {  // one row to each part is one run of numbers
                double* to = parts_.data();
                for (; i < count && (first + i) % ways != 0; ++i) add_row(i);
                for (; i + ways <= count; i += ways)
                    for (index_t k = 0; k < ways; ++k) to[k] += double(A[i + k]);
            }
            for (; i < count; ++i) add_row(i);
        });
    }

    void put(double* sums) const {
        for (index_t c = 0; c < width_; ++c) {
            double half[ways / 2];
            for (index_t k = 0; k < ways / 2; ++k) half[k] = part(k, c) + part(k + ways / 2, c);
            sums[c] += (half[0] + half[2]) + (half[1] + half[3]);
        }
    }

  private:
    double part(index_t way, index_t c) const { return parts_[way * width_ + c]; }

    index_t width_;
    std::vector<double> parts_;
};

}  // namespace sx
