// Reads the rows of a mini-batch as entries, and numbers the features that occur in them.
#pragma once

#include <numeric>
#include <type_traits>
#include <vector>

#include "gradient/lazy_batch.hpp"
#include "matrix/data.hpp"

namespace sx {

template <class T>
class BatchReader {
  public:
    BatchReader(const Data& X, bool skip_zeros) : X_(X), skip_zeros_(skip_zeros) {}

    // The batch of the listed rows, until the next call.
    LazyBatch<T> read(const index_t* rows, index_t count) {
        reserve(rows, count);
        const bool alone = count == 1 && !skip_zeros_;
        if (!alone && slot_of_.empty()) slot_of_.assign(X_.columns, -1);
        entries_ = slots_ = 0;
        for (index_t r = 0; r < count; ++r) {
            start_[r] = entries_;
            if (X_.sparse)
                with_types(X_.by_sample, [&]<class Index, class Source>(Index, Source) {
                    read_sparse<Index, Source>(rows[r], alone);
                });
            else
                with_element_type(X_.dense.type, [&]<class Source>(Source) {
                    read_dense<Source>(rows[r], alone);
                });
        }
        start_[count] = entries_;
        if (!alone)
            for (index_t p = 0; p < slots_; ++p) slot_of_[feature_[p]] = -1;
        const index_t* slot = alone ? numbers_.data() : slot_.data();
        const index_t* feature = alone && !X_.sparse ? numbers_.data() : feature_.data();
        return {count, slots_, start_.data(), slot, value_.data(), feature};
    }

    // Asks for the entries of rows that will be read soon. Their order is random, so that the
    // processor cannot guess it.
    void fetch(const index_t* rows, index_t count) const {
        if (!X_.sparse) return;
        const CompressedView& A = X_.by_sample;
        constexpr index_t line = 64;  // bytes
        const index_t index_size = A.wide ? 8 : 4, value_size = A.type == Type::f32 ? 4 : 8;
        for (index_t r = 0; r < count; ++r) {
            const index_t begin = A.offset(rows[r]), end = A.offset(rows[r] + 1);
            const char* index = static_cast<const char*>(A.index);
            for (index_t at = begin * index_size; at < end * index_size; at += line)
                __builtin_prefetch(index + at);
            const char* value = static_cast<const char*>(A.value);
            for (index_t at = begin * value_size; at < end * value_size && !A.ones; at += line)
                __builtin_prefetch(value + at);
        }
    }

  private:
    void reserve(const index_t* rows, index_t count) {
        index_t most = 0;
        for (index_t r = 0; r < count; ++r)
            most += X_.sparse ? X_.by_sample.offset(rows[r] + 1) - X_.by_sample.offset(rows[r])
                              : X_.columns;
        if (count >= index_t(start_.size())) start_.resize(count + 1);
        if (most <= index_t(value_.size())) return;
        for (auto* list : {&slot_, &feature_, &numbers_}) list->resize(2 * most);
        value_.resize(2 * most);
        std::iota(numbers_.begin(), numbers_.end(), index_t(0));
    }

    // The entries of a single row are features of their own, so that their numbers are their slots.
    template <class Index, class Source>
    void read_sparse(index_t row, bool alone) {
        const CompressedView& A = X_.by_sample;
        const Index* start = static_cast<const Index*>(A.start);
        const Index* index = static_cast<const Index*>(A.index);
        const Source* value = static_cast<const Source*>(A.value);
        const index_t begin = start[row], count = start[row + 1] - begin;
        if (!alone) {
            for (index_t k = begin; k < begin + count; ++k)
                add(index[k], A.ones ? T(1) : T(value[k]));
            return;
        }
        for (index_t k = 0; k < count; ++k) feature_[k] = index[begin + k];
        for (index_t k = 0; k < count; ++k) value_[k] = A.ones ? T(1) : T(value[begin + k]);
        entries_ = slots_ = count;
    }

    template <class Source>
    void read_dense(index_t row, bool alone) {
        const Source* from = static_cast<const Source*>(X_.dense.data) + row * X_.dense.row_stride;
        if (alone) {
            for (index_t j = 0; j < X_.columns; ++j)
                value_[j] = T(from[j * X_.dense.column_stride]);
            entries_ = slots_ = X_.columns;
            return;
        }
        for (index_t j = 0; j < X_.columns; ++j) add(j, T(from[j * X_.dense.column_stride]));
    }

    void add(index_t feature, T value) {
        if (skip_zeros_ && value == T(0)) return;
        std::int32_t& slot = slot_of_[feature];
        if (slot < 0) {
            slot = std::int32_t(slots_);
            feature_[slots_++] = feature;
        }
        slot_[entries_] = slot;
        value_[entries_++] = value;
    }

    const Data& X_;
    const bool skip_zeros_;
    index_t entries_ = 0, slots_ = 0;
    std::vector<std::int32_t> slot_of_;  // (features), -1 outside a call
    std::vector<index_t> start_, slot_, feature_, numbers_;
    std::vector<T> value_;
};

}  // namespace sx
