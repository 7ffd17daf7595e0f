// The working copy of X that dual coordinate ascent runs over.
//
// Rows that follow each other in X are often alike (sorted by class, say), which makes the method
// stall: the copy has them in random order, so that an epoch can still read memory from one end to
// the other, a few neighbours at a time. Features are numbered by falling frequency: most entries
// then lie in a part of W that stays in the cache.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "dual_task.hpp"
#include "engine.hpp"

namespace sx {

// Calls entry(feature, value) for every entry of a row; those of a dense X that are 0 as well.
template <class Entry>
void for_entries(const Data& X, index_t i, const Entry& entry) {
    if (!X.sparse) {
        with_element_type(X.dense.type, [&]<class Source>(Source) {
            const Source* from = static_cast<const Source*>(X.dense.data) + i * X.dense.row_stride;
            for (index_t j = 0; j < X.columns; ++j)
                entry(j, static_cast<double>(from[j * X.dense.column_stride]));
        });
        return;
    }
    const CompressedView& A = X.by_sample;
    const auto with_types = [&](const auto* index, const auto* value) {
        for (index_t k = A.offset(i); k < A.offset(i + 1); ++k)
            entry(index_t(index[k]), static_cast<double>(value[k]));
    };
    const auto with_index = [&](const auto* index) {
        if (A.type == Type::f32)
            with_types(index, static_cast<const float*>(A.value));
        else
            with_types(index, static_cast<const double*>(A.value));
    };
    if (A.wide)
        with_index(static_cast<const std::int64_t*>(A.index));
    else
        with_index(static_cast<const std::int32_t*>(A.index));
}

template <class T>
class DualCopy {
  public:
    static constexpr double sparse_below = 0.25;  // share of entries that are not 0

    // `order` holds, for every row of the copy, its place in the parts one after the other.
    DualCopy(const Engine& engine, std::vector<const Data*> parts, const index_t* order,
             index_t rows)
        : features_(parts.front()->columns), order_(order, order + rows), squares_(rows) {
        if (features_ >= std::numeric_limits<std::int32_t>::max())
            throw std::invalid_argument("the dual solver takes fewer than 2^31 features");
        parts_ = std::move(parts);
        for (const Data* part : parts_)
            ends_.push_back((ends_.empty() ? 0 : ends_.back()) + part->rows);
        place_.resize(features_);
        std::iota(place_.begin(), place_.end(), 0);
        feature_ = place_;
        if (is_dense())
            fill_dense(engine);
        else
            fill_sparse(engine);
        parts_.clear();
    }

    DualRows<T> rows() const {
        return {index_t(order_.size()), features_,      start_.empty() ? nullptr : start_.data(),
                index_.data(),          values_.data(), stride_};
    }
    const std::vector<index_t>& order() const { return order_; }
    const std::vector<std::int32_t>& place() const { return place_; }      // of each feature
    const std::vector<std::int32_t>& feature() const { return feature_; }  // at each place
    const std::vector<double>& squares() const { return squares_; }        // norms of the rows

  private:
    template <class Entry>
    void entries(index_t row, const Entry& entry) const {
        const index_t at = order_[row];
        const index_t part = std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin();
        for_entries(*parts_[part], part ? at - ends_[part - 1] : at, entry);
    }

    // By a sample of the rows, where X is dense.
    bool is_dense() const {
        for (const Data* part : parts_)
            if (part->sparse) return false;
        const index_t n = order_.size(), step = std::max<index_t>(n / 256, 1);
        index_t seen = 0, filled = 0;
        for (index_t i = 0; i < n; i += step) {
            seen += features_;
            entries(i, [&](index_t, double x) { filled += x != 0.0; });
        }
        return double(filled) >= sparse_below * double(seen);
    }

    void fill_dense(const Engine& engine) {
        const index_t V = engine.kernels<T>().lanes, n = order_.size();
        stride_ = (features_ + V - 1) / V * V;
        values_.resize(n * stride_);
        slabs(engine, [&](index_t i) {
            T* row = values_.data() + i * stride_;
            double square = 0;
            entries(i, [&](index_t j, double x) {
                row[j] = T(x);
                square += x * x;
            });
            squares_[i] = square;
        });
    }

    void fill_sparse(const Engine& engine) {
        const index_t n = order_.size();
        start_.assign(n + 1, 0);
        slabs(engine, [&](index_t i) {
            index_t count = 0;
            entries(i, [&](index_t, double x) { count += x != 0.0; });
            start_[i + 1] = count;
        });
        for (index_t i = 0; i < n; ++i) start_[i + 1] += start_[i];
        index_.resize(start_[n] + dual_look_ahead);
        values_.resize(start_[n] + dual_look_ahead);
        number_features();
        slabs(engine, [&](index_t i) {
            index_t at = start_[i];
            double square = 0;
            entries(i, [&](index_t j, double x) {
                if (x == 0.0) return;
                index_[at] = place_[j];
                values_[at++] = T(x);
                square += x * x;
            });
            squares_[i] = square;
        });
    }

    void number_features() {
        std::vector<index_t> count(features_);
        for (index_t i = 0; i < index_t(order_.size()); ++i)
            entries(i, [&](index_t j, double x) { count[j] += x != 0.0; });
        std::stable_sort(feature_.begin(), feature_.end(),
                         [&](std::int32_t a, std::int32_t b) { return count[a] > count[b]; });
        for (index_t k = 0; k < features_; ++k) place_[feature_[k]] = std::int32_t(k);
    }

    template <class Row>
    void slabs(const Engine& engine, const Row& row) const {
        constexpr index_t slab = 512;
        const index_t n = order_.size();
        engine.loop((n + slab - 1) / slab, 1e3 * double(n), [&](index_t task, int) {
            for (index_t i = task * slab; i < std::min(n, (task + 1) * slab); ++i) row(i);
        });
    }

    std::vector<const Data*> parts_;
    std::vector<index_t> ends_;
    index_t features_, stride_ = 0;
    std::vector<index_t> order_, start_;
    std::vector<std::int32_t> place_, feature_, index_;
    std::vector<T> values_;
    std::vector<double> squares_;
};

}  // namespace sx
