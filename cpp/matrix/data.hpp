// The data matrix X as the passes use it, and the columns that X is multiplied by.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "matrix/views.hpp"

namespace sx {

// X in memory: dense, or compressed by samples, by features, or both. Scores use the samples if
// available, and products with X^T over all rows use the features. The other representation gives
// the same bits.
struct Data {
    bool sparse = false;
    DenseView dense{};
    CompressedView by_sample{}, by_feature{};
    bool has_samples = false, has_features = false;
    index_t rows = 0, columns = 0;

    static constexpr index_t few_features = 1024;  // up to here each thread has its own sums

    using Bounds = std::shared_ptr<const std::vector<index_t>>;

    // The positions, in the list of every feature, at which each chunk of rows begins: (chunks + 1,
    // columns). Computed once and kept, because searching for them costs as much as a product. A
    // pass holds its own reference, since another thread may request other chunks.
    Bounds feature_bounds(index_t chunk) const {
        std::lock_guard<std::mutex> lock(kept->guard);
        if (kept->chunk == chunk) return kept->bounds;
        const index_t chunks = (rows + chunk - 1) / chunk;
        auto bounds = std::make_shared<std::vector<index_t>>((chunks + 1) * columns);
        for (index_t j = 0; j < columns; ++j) {
            index_t at = by_feature.offset(j);
            const index_t end = by_feature.offset(j + 1);
            for (index_t c = 0; c <= chunks; ++c) {
                at = c == chunks ? end : by_feature.first_from(at, end, c * chunk);
                (*bounds)[c * columns + j] = at;
            }
        }
        kept->chunk = chunk;
        kept->bounds = std::move(bounds);
        return kept->bounds;
    }

    // The bounds for one range of rows per thread, and the length of the ranges. There are fewer
    // ranges if their bounds would need much memory compared with X.
    std::pair<Bounds, index_t> row_ranges(int threads) const {
        const index_t entries = by_feature.offset(columns), fit = entries / (4 * columns + 1);
        const index_t range = rows / std::clamp<index_t>(fit, 1, threads) + 1;
        return {feature_bounds(range), range};
    }

    // The positions, in every row, at which each of `parts` ranges of features begins: (parts + 1,
    // rows). The ranges have about equally many entries, estimated from a sample of the rows.
    Bounds range_bounds(index_t parts) const {
        std::lock_guard<std::mutex> lock(kept->guard);
        if (kept->parts == parts) return kept->ranges;
        std::vector<index_t> seen;
        for (index_t i = 0; i < rows; i += 1 + rows / 1024)
            for (index_t k = by_sample.offset(i); k < by_sample.offset(i + 1); ++k)
                seen.push_back(by_sample.column(k));
        auto bounds = std::make_shared<std::vector<index_t>>((parts + 1) * rows);
        for (index_t i = 0; i < rows; ++i) {
            (*bounds)[i] = by_sample.offset(i);
            (*bounds)[parts * rows + i] = by_sample.offset(i + 1);
        }
        for (index_t p = 1; p < parts; ++p) {
            const auto cut = seen.begin() + index_t(seen.size()) * p / parts;
            std::nth_element(seen.begin(), cut, seen.end());
            const index_t first = seen.empty() ? 0 : *cut;
            for (index_t i = 0; i < rows; ++i)
                (*bounds)[p * rows + i] =
                    by_sample.first_from(by_sample.offset(i), by_sample.offset(i + 1), first);
        }
        kept->parts = parts;
        kept->ranges = std::move(bounds);
        return kept->ranges;
    }

    // For every j, the number of pairs of entries within a row whose later entry belongs to a
    // feature before j: (columns + 2). The constant 1 counts as the last entry. This is the cost of
    // a Gram matrix of X.
    Bounds pair_counts() const {
        std::lock_guard<std::mutex> lock(kept->guard);
        if (kept->pairs) return kept->pairs;
        auto pairs = std::make_shared<std::vector<index_t>>(columns + 2);
        for (index_t i = 0; i < rows; ++i) {
            const index_t begin = by_sample.offset(i), count = by_sample.offset(i + 1) - begin;
            for (index_t k = 0; k < count; ++k) (*pairs)[by_sample.column(begin + k) + 1] += k + 1;
            (*pairs)[columns + 1] += count + 1;
        }
        for (index_t j = 0; j <= columns; ++j) (*pairs)[j + 1] += (*pairs)[j];
        kept->pairs = std::move(pairs);
        return kept->pairs;
    }

    // A copy of a dense X in column-major order, made by make(memory, count) at the first request
    // and then kept; `count` numbers of `type`.
    template <class Make>
    DenseView column_major_copy(Type type, const Make& make) const {
        std::lock_guard<std::mutex> lock(kept->guard);
        if (kept->column_major_copy.empty()) {
            std::vector<char> memory(rows * columns * (type == Type::f32 ? 4 : 8));
            make(memory.data());
            kept->column_major_copy = std::move(memory);
        }
        return {kept->column_major_copy.data(), type, rows, columns, 1, rows};
    }

  private:
    struct Kept {
        std::vector<char> column_major_copy;
        std::mutex guard;
        index_t chunk = 0, parts = 0;
        Bounds bounds, ranges, pairs;
    };
    std::shared_ptr<Kept> kept = std::make_shared<Kept>();
};

// The weights and biases of many models, with one column per output and model.
template <class T>
struct ModelColumns {
    const T* W;  // (features, N)
    const T* b;  // (N)
    index_t models, outputs;
    index_t N() const { return models * outputs; }
};

}  // namespace sx
