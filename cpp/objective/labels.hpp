// The labels and weights of the rows of X, as blocks for the loss kernels.
#pragma once

#include "engine/buffer.hpp"
#include "losses/block.hpp"
#include "matrix/views.hpp"

namespace sx {

struct Labels {
    const std::int32_t* y;
    index_t y_row, y_model;
    const double* s;  // null: all ones
    index_t s_row, s_model;
    const std::int32_t* weight_column;  // (models) column of s; null: offset model * s_model
    const double* scale;                // (models)

    bool same_weights() const { return !s || (!weight_column && s_model == 0); }
    double weight(index_t i, index_t m) const {
        return s ? s[i * s_row + (weight_column ? index_t(weight_column[m]) : m * s_model)] : 1.0;
    }
    // The labels and weights of the models from `m` on.
    Labels from_model(index_t m) const {
        Labels out = *this;
        out.y += m * y_model;
        out.scale += m;
        if (weight_column)
            out.weight_column += m;
        else if (s)
            out.s += m * s_model;
        return out;
    }
};

// Memory for the labels and weights of listed rows.
struct ListedLabels {
    Buffer<std::int32_t> y;
    Buffer<double> s;

    // Gathers the labels and weights of the listed rows.
    Labels gather(const Labels& from, index_t models, const index_t* list, index_t count) {
        Labels out = from;
        const index_t y_width = from.y_model ? models : 1;
        const index_t s_width = from.same_weights() ? 1 : models;
        std::int32_t* y_to = y.reserve(count * y_width);
        double* s_to = from.s ? s.reserve(count * s_width) : nullptr;
        for (index_t i = 0; i < count; ++i) {
            for (index_t m = 0; m < y_width; ++m)
                y_to[i * y_width + m] = from.y[list[i] * from.y_row + m * from.y_model];
            for (index_t m = 0; from.s && m < s_width; ++m)
                s_to[i * s_width + m] = from.weight(list[i], m);
        }
        out.y = y_to;
        out.y_row = y_width;
        out.s = s_to;
        out.s_row = s_width;
        out.s_model = s_width == 1 ? 0 : 1;
        out.weight_column = nullptr;
        return out;
    }
};

// Returns the loss block of `rows` rows from `first` on, with scores Z (rows, models, outputs). The
// caller sets the outputs of the block.
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
    out.weight_column = labels.weight_column;
    out.scale = labels.scale;
    out.margin = form.margin;
    out.one_vs_rest = form.one_vs_rest;
    out.Z = Z;
    out.scratch = scratch;
    return out;
}

}  // namespace sx
