// What a pass over X is given: the data, the labels, the columns of weights, and the machine.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "threads.hpp"

namespace sx {

// X in memory: dense, or compressed by samples, by features, or both. Scores are made from the
// samples where they are there, products with X^T over all rows from the features; with the same
// bits from the others.
struct Data {
    bool sparse = false;
    DenseView dense{};
    CompressedView by_sample{}, by_feature{};
    bool has_samples = false, has_features = false;
    index_t rows = 0, columns = 0;

    static constexpr index_t few_features = 1024;  // of which a thread can keep sums of its own

    using Bounds = std::shared_ptr<const std::vector<index_t>>;

    // Where, in the list of every feature, the entries of each chunk of rows begin: (chunks + 1,
    // columns). Found once and kept: searching for them costs as much as a product. A pass holds
    // on to its own, since another thread may ask for other chunks meanwhile.
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

    // The bounds for a range of rows for each of some threads, and how long the ranges are. They
    // are fewer where their bounds would take much memory beside X.
    std::pair<Bounds, index_t> row_ranges(int threads) const {
        const index_t entries = by_feature.offset(columns), fit = entries / (4 * columns + 1);
        const index_t range = rows / std::clamp<index_t>(fit, 1, threads) + 1;
        return {feature_bounds(range), range};
    }

    // Where, in every row, the entries of each of `parts` ranges of features begin: (parts + 1,
    // rows). The ranges hold about as many entries each, by a sample of the rows.
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

    // How many products of two entries of a row, the constant 1 counted as the last entry, have
    // their later entry in a feature before j: (columns + 2). What a Gram matrix of X costs.
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

    // A dense X with neighbouring rows side by side, made by make(memory, count) when first asked
    // for and then kept; `count` numbers of `type`.
    template <class Make>
    DenseView turned(Type type, const Make& make) const {
        std::lock_guard<std::mutex> lock(kept->guard);
        if (kept->turned.empty()) {
            std::vector<char> memory(rows * columns * (type == Type::f32 ? 4 : 8));
            make(memory.data());
            kept->turned = std::move(memory);
        }
        return {kept->turned.data(), type, rows, columns, 1, rows};
    }

  private:
    struct Kept {
        std::vector<char> turned;
        std::mutex guard;
        index_t chunk = 0, parts = 0;
        Bounds bounds, ranges, pairs;
    };
    std::shared_ptr<Kept> kept = std::make_shared<Kept>();
};

struct Labels {
    const std::int32_t* y;
    index_t y_row, y_model;
    const double* s;  // null: all ones
    index_t s_row, s_model;
    const std::int32_t* whose;  // (models) the column of s; null: s_model times the model
    const double* scale;        // (models)

    bool same_weights() const { return !s || (!whose && s_model == 0); }
    double weight(index_t i, index_t m) const {
        return s ? s[i * s_row + (whose ? index_t(whose[m]) : m * s_model)] : 1.0;
    }
};

template <class T>
struct Columns {
    const T* W;  // (features, N)
    const T* b;  // (N)
    index_t models, outputs;
    index_t N() const { return models * outputs; }
};

// A loss as it is asked for: which, its margin, and whether one class against the rest.
struct LossForm {
    Loss loss;
    double margin;
    bool one_vs_rest;

    LossForm(int number, double margin)
        : loss(Loss(number % sx::one_vs_rest)),
          margin(margin),
          one_vs_rest(number >= sx::one_vs_rest) {}
};

// `rows` rows from `first` on, with their scores Z (rows, models, outputs), as the kernels of the
// losses take them; what these are to leave is for the caller to add.
template <class T>
LossBlock<T> block_of(const Labels& labels, const LossForm& form, index_t first, index_t rows,
                      index_t models, index_t outputs, T* Z, T* scratch) {
    LossBlock<T> out{};
    out.rows = rows;
    out.models = models;
    out.outputs = outputs;
    out.y = labels.y + first * labels.y_row;
    out.y_row = labels.y_row;
    out.y_model = labels.y_model;
    out.s = labels.s ? labels.s + first * labels.s_row : nullptr;
    out.s_row = labels.s_row;
    out.s_model = labels.s_model;
    out.whose = labels.whose;
    out.scale = labels.scale;
    out.margin = form.margin;
    out.one_vs_rest = form.one_vs_rest;
    out.Z = Z;
    out.scratch = scratch;
    return out;
}

// How many rows of X the products with X and with X^T have read: what "one pass" is judged by.
struct RowsRead {
    std::atomic<std::int64_t> forward{0}, backward{0};
};

// The threads and kernels of one call: a copy of the settings, which may change meanwhile.
struct Engine {
    int threads;
    const KernelSet* set;
    const KernelSet* narrow;  // of half as many lanes and the same bits; null if there is none
    RowsRead* read;

    template <class T>
    const Kernels<T>& kernels() const {
        if constexpr (sizeof(T) == 4)
            return set->f32;
        else
            return set->f64;
    }

    template <class T>
    static const DualKernels<T>& dual_of(const KernelSet& set) {
        if constexpr (sizeof(T) == 4)
            return *set.dual_f32;
        else
            return *set.dual_f64;
    }

    // Below about 50 microseconds of work, waking a thread costs more than it saves.
    template <class Body>
    void loop(index_t tasks, double multiply_adds, const Body& body) const {
        Team::of_process().run(tasks, multiply_adds < 4e5 ? 1 : threads, body);
    }
};

// Memory that grows to what is asked for, and shrinks again from more than 64 MiB.
template <class T>
class Buffer {
    static constexpr std::size_t most_kept = std::size_t(1) << 26;

  public:
    T* reserve(index_t count) {
        if (count > size_ || size_ * sizeof(T) > most_kept) {
            memory_.reset();
            size_ = 0;
            memory_.reset(
                static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 127) / 64 * 64)));
            if (!memory_) throw std::bad_alloc();
            size_ = count;
        }
        return memory_.get();
    }

  private:
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T, Free> memory_;
    index_t size_ = 0;
};

}  // namespace sx
