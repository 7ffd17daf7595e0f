// The working copy of X for dual coordinate ascent.
//
// Consecutive rows of X are often similar (sorted by class, for example), which makes the method
// stall. The copy has the rows in random order, so that an epoch can still read memory in blocks of
// neighbouring rows. Features of a sparse X are numbered by decreasing frequency: most entries then
// refer to a part of W that stays in the cache. A dense X with few non-zero entries becomes sparse.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "dual/task.hpp"
#include "engine/engine.hpp"
#include "engine/huge_pages.hpp"
#include "matrix/data.hpp"

namespace sx {

// Copies some rows of a dense X of any type and strides to (count, columns).
template <class T>
void read_rows(const DenseView& X, index_t first, index_t count, T* out) {
    with_element_type(X.type, [&]<class Source>(Source) {
        const Source* from = static_cast<const Source*>(X.data) + first * X.row_stride;
        if (X.column_stride == 1) {
            for (index_t i = 0; i < count; ++i)
                for (index_t j = 0; j < X.columns; ++j)
                    out[i * X.columns + j] = static_cast<T>(from[i * X.row_stride + j]);
            return;
        }
        for (index_t j = 0; j < X.columns; ++j)
            for (index_t i = 0; i < count; ++i)
                out[i * X.columns + j] =
                    static_cast<T>(from[i * X.row_stride + j * X.column_stride]);
    });
}

// Returns the number of entries in a row of a dense X that are not 0 as a T.
template <class T>
index_t count_filled(const DenseView& X, index_t i) {
    index_t filled = 0;
    with_element_type(X.type, [&]<class Source>(Source) {
        const Source* row = static_cast<const Source*>(X.data) + i * X.row_stride;
        if (X.column_stride == 1)
            for (index_t j = 0; j < X.columns; ++j) filled += static_cast<T>(row[j]) != T(0);
        else
            for (index_t j = 0; j < X.columns; ++j)
                filled += static_cast<T>(row[j * X.column_stride]) != T(0);
    });
    return filled;
}

template <class T>
class WorkingCopy {
    static constexpr double sparse_below = 0.25;  // fraction of non-zero entries
    static constexpr index_t sample = 256;        // rows from which the fraction is estimated
    static constexpr index_t slab = 64;           // rows of one task
    static constexpr double work_of_row = 1e3;  // multiply-adds that cost as much as copying a row

  public:
    // `order` gives, for every row of the copy, its index in the concatenated parts. `origin`
    // (features), or null, is subtracted from the entries. It is 0 for features of a sparse X that
    // are missing in some rows.
    WorkingCopy(const Engine& engine, const std::vector<const Data*>& parts, const index_t* order,
                index_t rows, const double* origin)
        : features_(parts.front()->columns), order_(order, order + rows), squares_(rows) {
        origin_.assign(features_, 0.0);
        if (origin) std::copy_n(origin, features_, origin_.begin());
        if (features_ >= std::numeric_limits<std::int32_t>::max())
            throw std::invalid_argument("The dual solver supports fewer than 2^31 - 1 features.");
        std::vector<index_t> to(rows);  // the row of the copy for every row of the parts
        for (index_t i = 0; i < rows; ++i) to[order_[i]] = i;
        place_.resize(features_);
        std::iota(place_.begin(), place_.end(), 0);
        feature_ = place_;
        if (is_dense(parts)) {
            fill_dense(engine, parts, to);
            return;
        }
        start_.assign(rows + 1, 0);
        count_entries(engine, parts, to);
        for (index_t i = 0; i < rows; ++i) start_[i + 1] += start_[i];
        index_ = HugePages<std::int32_t>(start_[rows] + look_ahead_pad);
        values_ = HugePages<T>(start_[rows] + look_ahead_pad);
        std::fill_n(index_.data() + start_[rows], look_ahead_pad, 0);
        fill_sparse(engine, parts, to);
    }

    WorkingRows<T> rows() const {
        return {index_t(order_.size()), features_,      start_.empty() ? nullptr : start_.data(),
                index_.data(),          values_.data(), stride_};
    }
    const std::vector<index_t>& order() const { return order_; }
    const std::vector<std::int32_t>& place() const { return place_; }      // of each feature
    const std::vector<std::int32_t>& feature() const { return feature_; }  // at each place
    const std::vector<double>& squares() const { return squares_; }  // squared norms of the rows

  private:
    using Parts = std::vector<const Data*>;

    // Estimated from a sample of the rows if X is dense.
    bool is_dense(const Parts& parts) const {
        index_t seen = 0, filled = 0;
        for (const Data* part : parts) {
            if (part->sparse) return false;
            for (index_t i = 0; i < part->rows; i += std::max<index_t>(part->rows / sample, 1)) {
                seen += features_;
                filled += count_filled<T>(part->dense, i);
            }
        }
        return double(filled) >= sparse_below * double(seen);
    }

    // Calls rows(part, first row, count, row number over all parts) for slabs of rows.
    template <class Rows>
    void for_slabs(const Engine& engine, const Parts& parts, const Rows& rows) const {
        index_t before = 0;
        for (const Data* part : parts) {
            engine.loop((part->rows + slab - 1) / slab, work_of_row * double(part->rows),
                        [&](index_t task, int) {
                            const index_t i = task * slab;
                            rows(*part, i, std::min(slab, part->rows - i), before + i);
                        });
            before += part->rows;
        }
    }

    // Calls row(row number over all parts, features) for the rows of a dense part.
    template <class Row>
    void for_dense(const Data& part, index_t first, index_t count, index_t at,
                   const Row& row) const {
        std::vector<double> some(count * features_);
        read_rows(part.dense, first, count, some.data());
        for (index_t i = 0; i < count; ++i) row(at + i, some.data() + i * features_);
    }

    void fill_dense(const Engine& engine, const Parts& parts, const std::vector<index_t>& to) {
        const index_t V = engine.kernels<T>().lanes;
        stride_ = (features_ + V - 1) / V * V;
        values_ = HugePages<T>(order_.size() * stride_);
        for_slabs(engine, parts, [&](const Data& part, index_t first, index_t count, index_t at) {
            for_dense(part, first, count, at, [&](index_t i, const double* x) {
                T* row = values_.data() + to[i] * stride_;
                for (index_t j = 0; j < features_; ++j) row[j] = T(x[j] - origin_[j]);
                std::fill_n(row + features_, stride_ - features_, T(0));
                squares_[to[i]] = std::inner_product(row, row + features_, row, 0.0);
            });
        });
    }

    // Writes the number of entries of row i to start[i + 1], and numbers the features.
    void count_entries(const Engine& engine, const Parts& parts, const std::vector<index_t>& to) {
        bool all_sparse = true;
        for (const Data* part : parts) all_sparse &= part->sparse;
        for_slabs(engine, parts, [&](const Data& part, index_t first, index_t count, index_t at) {
            const CompressedView& A = part.by_sample;
            if (by_feature(part)) return;
            for (index_t i = 0; i < count; ++i)
                start_[to[at + i] + 1] = part.sparse ? A.offset(first + i + 1) - A.offset(first + i)
                                                     : count_filled<T>(part.dense, first + i);
        });
        index_t before = 0;
        for (const Data* part : parts) {
            if (by_feature(*part)) {
                std::vector<index_t> count(part->rows);
                count_columns(part->by_feature, count);
                for (index_t i = 0; i < part->rows; ++i) start_[to[before + i] + 1] = count[i];
            }
            before += part->rows;
        }
        if (all_sparse) number_features(parts);
    }

    static bool by_feature(const Data& part) { return part.sparse && !part.has_samples; }

    static void count_columns(const CompressedView& A, std::vector<index_t>& count) {
        with_types(A, [&]<class Index>(Index, auto) {
            const Index* index = static_cast<const Index*>(A.index);
            for (index_t k = A.offset(0); k < A.offset(A.rows); ++k) ++count[index[k]];
        });
    }

    void number_features(const Parts& parts) {
        std::vector<index_t> count(features_);
        for (const Data* part : parts) {
            const CompressedView& A = part->by_feature;
            if (!by_feature(*part))
                count_columns(part->by_sample, count);
            else
                for (index_t j = 0; j < features_; ++j) count[j] += A.offset(j + 1) - A.offset(j);
        }
        // A count is at most the number of rows: counting sort, highest count first.
        std::vector<index_t> first(order_.size() + 2);
        for (index_t c : count) ++first[order_.size() - c + 1];
        for (std::size_t c = 1; c < first.size(); ++c) first[c] += first[c - 1];
        for (index_t j = 0; j < features_; ++j) {
            place_[j] = std::int32_t(first[order_.size() - count[j]]++);
            feature_[place_[j]] = std::int32_t(j);
        }
    }

    void fill_sparse(const Engine& engine, const Parts& parts, const std::vector<index_t>& to) {
        index_t before = 0;
        for (const Data* part : parts) {
            if (by_feature(*part)) fill_by_feature(engine, *part, to.data() + before);
            before += part->rows;
        }
        for_slabs(engine, parts, [&](const Data& part, index_t first, index_t count, index_t at) {
            if (by_feature(part)) return;
            if (part.sparse) {
                for (index_t i = 0; i < count; ++i) copy_row(part.by_sample, first + i, to[at + i]);
                return;
            }
            // Entries are written unconditionally and kept if not 0, so there is no branch. This
            // needs room for one more.
            std::vector<std::int32_t> index(features_ + 1);
            std::vector<T> value(features_ + 1);
            for_dense(part, first, count, at, [&](index_t i, const double* x) {
                index_t k = 0;
                double square = 0;
                for (index_t j = 0; j < features_; ++j) {
                    index[k] = place_[j];
                    value[k] = T(x[j] - origin_[j]);
                    k += T(x[j]) != T(0);
                }
                for (index_t l = 0; l < k; ++l) square += double(value[l]) * double(value[l]);
                std::copy_n(index.data(), k, index_.data() + start_[to[i]]);
                std::copy_n(value.data(), k, values_.data() + start_[to[i]]);
                squares_[to[i]] = square;
            });
        });
    }

    // Copies the rows of a part to rows `to`, with one range of rows per thread.
    void fill_by_feature(const Engine& engine, const Data& part, const index_t* to) {
        const CompressedView& A = part.by_feature;
        const auto [kept, range] = part.row_ranges(engine.threads);
        const index_t* bounds = kept->data();
        std::vector<index_t> next(part.rows);
        std::vector<double> square(part.rows);
        for (index_t i = 0; i < part.rows; ++i) next[i] = start_[to[i]];
        with_types(A, [&]<class Index, class Source>(Index, Source) {
            const Index* row = static_cast<const Index*>(A.index);
            const Source* value = static_cast<const Source*>(A.value);
            const double work = 16.0 * double(A.offset(A.rows));
            engine.loop((part.rows + range - 1) / range, work, [&](index_t task, int) {
                const index_t* from = bounds + task * features_;
                for (index_t j = 0; j < features_; ++j)
                    for (index_t k = from[j]; k < from[features_ + j]; ++k) {
                        const index_t at = next[row[k]]++;
                        const double x = double(value[k]) - origin_[j];
                        index_[at] = place_[j];
                        values_[at] = T(x);
                        square[row[k]] += x * x;
                    }
            });
        });
        for (index_t i = 0; i < part.rows; ++i) squares_[to[i]] = square[i];
    }

    void copy_row(const CompressedView& A, index_t i, index_t to) {
        const index_t begin = A.offset(i), count = A.offset(i + 1) - begin;
        std::int32_t* index = index_.data() + start_[to];
        T* value = values_.data() + start_[to];
        with_types(A, [&]<class Index, class Source>(Index, Source) {
            const Index* columns = static_cast<const Index*>(A.index) + begin;
            const Source* values = static_cast<const Source*>(A.value) + begin;
            double square = 0;
            for (index_t k = 0; k < count; ++k) index[k] = place_[columns[k]];
            for (index_t k = 0; k < count; ++k) {
                const double x = double(values[k]) - origin_[columns[k]];
                value[k] = T(x);
                square += x * x;
            }
            squares_[to] = square;
        });
    }

    index_t features_, stride_ = 0;
    std::vector<index_t> order_, start_;
    std::vector<std::int32_t> place_, feature_;
    HugePages<std::int32_t> index_;
    HugePages<T> values_;
    std::vector<double> squares_, origin_;
};

}  // namespace sx
