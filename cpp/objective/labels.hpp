// The labels and weights of the rows of X, as blocks for the loss kernels.
#pragma once

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
