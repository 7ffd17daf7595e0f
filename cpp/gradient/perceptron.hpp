// Rosenblatt's perceptron, one example at a time.
//
// Problem    find w, b such that every example lies on the correct side of the hyperplane.
// Given      the examples in `order`; labels 0 and 1, or class numbers with one output per class.
// On return  each model has seen every example once. With one output, a positive example with w.x +
//            b < 0 is added to w, and a negative one with w.x + b >= 0 is subtracted. With several
//            outputs, if another class has the highest score (the first one in a tie), the example
//            is added to the weights of its own class and subtracted from those of the other.
//            Weights act as repetitions: an example of weight 2.5 is presented twice fully and once
//            by half, in succession, until it is correct. `mistakes` counts the updates.
// See        Rosenblatt 1958; Duda and Hart 1973, section 5.12 (Kesler's construction).
#pragma once

#include <algorithm>
#include <vector>

#include "engine/engine.hpp"
#include "matrix/data.hpp"
#include "objective/labels.hpp"

namespace sx {

template <class T, class Source>
void read_row(const DenseView& X, index_t i, T* out) {
    const Source* from = static_cast<const Source*>(X.data) + i * X.row_stride;
    for (index_t j = 0; j < X.columns; ++j) out[j] = static_cast<T>(from[j * X.column_stride]);
}

// One example as (index, value) pairs, for dense and sparse X.
template <class T>
class Example {
  public:
    explicit Example(const Data& X) : X_(X), index_(X.sparse ? 0 : X.columns), value_(X.columns) {
        for (index_t j = 0; j < index_t(index_.size()); ++j) index_[j] = j;
    }

    void read(index_t i) {
        if (!X_.sparse) {
            with_element_type(X_.dense.type, [&]<class Source>(Source) {
                read_row<T, Source>(X_.dense, i, value_.data());
            });
            return;
        }
        const CompressedView& A = X_.by_sample;
        const index_t begin = A.offset(i), count = A.offset(i + 1) - begin;
        index_.resize(count);
        value_.resize(count);
        for (index_t k = 0; k < count; ++k) {
            index_[k] = A.column(begin + k);
            value_[k] = A.type == Type::f32 ? T(static_cast<const float*>(A.value)[begin + k])
                                            : T(static_cast<const double*>(A.value)[begin + k]);
        }
    }

    T dot(const T* w) const {
        T sum = 0;
        for (std::size_t k = 0; k < index_.size(); ++k) sum += value_[k] * w[index_[k]];
        return sum;
    }

    void add_to(T* w, T times) const {
        for (std::size_t k = 0; k < index_.size(); ++k) w[index_[k]] += times * value_[k];
    }

  private:
    const Data& X_;
    std::vector<index_t> index_;
    std::vector<T> value_;
};

template <class T>
void perceptron_model(const Data& X, const Labels& labels, const index_t* order, T* W, T* b,
                      index_t model, index_t models, index_t outputs, bool free_bias,
                      std::int64_t& mistakes) {
    const index_t d = X.columns, N = models * outputs;
    std::vector<T> w(d * outputs);
    for (index_t k = 0; k < outputs; ++k)
        for (index_t j = 0; j < d; ++j) w[k * d + j] = W[j * N + model * outputs + k];
    T* bias = b + model * outputs;
    Example<T> example(X);
    const auto add = [&](index_t k, T times) {
        example.add_to(w.data() + k * d, times);
        if (free_bias) bias[k] += times;
    };
    const auto score = [&](index_t k) { return example.dot(w.data() + k * d) + bias[k]; };
    // Presents the example once. Returns whether to present it again, which is useful only if the
    // example was wrong and its score changed. Without a bias, an empty example never changes its
    // score.
    const auto show = [&](index_t y, T times) {
        if (outputs == 1) {
            const T z = score(0);
            if ((z >= T(0)) == (y == 1)) return false;
            add(0, y == 1 ? times : -times);
            ++mistakes;
            return score(0) != z;
        }
        index_t best = 0;
        T highest = score(0);
        for (index_t k = 1; k < outputs; ++k) {
            const T z = score(k);
            if (z > highest) {
                best = k;
                highest = z;
            }
        }
        if (best == y) return false;
        add(y, times);
        add(best, -times);
        ++mistakes;
        return score(best) != highest;
    };
    for (index_t t = 0; t < X.rows; ++t) {
        const index_t i = order[t];
        const index_t y = labels.y[i * labels.y_row + model * labels.y_model];
        // In double: in float, 2^24 + 1 - 1 would not be exact.
        double left = labels.weight(i, model);
        if (left == 0.0) continue;
        example.read(i);
        for (; left > 0.0 && show(y, T(std::min(left, 1.0))); left -= 1.0) {
        }
    }
    for (index_t k = 0; k < outputs; ++k)
        for (index_t j = 0; j < d; ++j) W[j * N + model * outputs + k] = w[k * d + j];
}

// Trains each model in its own task.
template <class T>
void perceptron_epoch(const Engine& engine, const Data& X, const Labels& labels,
                      const index_t* order, T* W, T* b, index_t models, index_t outputs,
                      bool free_bias, std::int64_t* mistakes) {
    const double work = double(X.rows) * X.columns * models * outputs;
    engine.loop(models, work, [&](index_t model, int) {
        perceptron_model<T>(X, labels, order, W, b, model, models, outputs, free_bias,
                            mistakes[model]);
    });
}

}  // namespace sx
