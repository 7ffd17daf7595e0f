// The arrays of one task: some units of a step, copied from the batch in the layout of the kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dual/problem.hpp"
#include "dual/strong_features.hpp"
#include "dual/working_copy.hpp"

namespace sx {

// The weight of a strong feature in one unit. It has a centre, see proximal_centres.hpp.
struct StrongWeight {
    index_t at, unit;
    double step;                 // r, the square used in place of Q
    double own_step;             // Q = 1 / f^2
    double largest;              // largest absolute value of the feature
    std::vector<double> centre;  // (outputs)
};

template <class T>
struct TaskState {
    static constexpr T infinity = std::numeric_limits<T>::infinity();

    const DualKernels<T>& k;
    const WorkingCopy<T>& X;
    const DualStep<T>& step;
    const DualForm<T>& form;
    index_t first_unit, first_column;
    index_t n;  // rows
    const WorkingRows<T> rows;
    DualTask<T> task{};
    std::vector<index_t> model;       // of each unit
    std::vector<double> weight_sum;   // of each unit, over its rows
    std::vector<double> active_rows;  // of each unit: rows in its working set
    std::vector<double> rows_of;      // of each unit: rows with weight
    std::vector<double> dual_sums;    // (width): sum_i C_i U_i, updated by the kernels

    TaskState(const DualKernels<T>& kernels, const WorkingCopy<T>& copy, const DualStep<T>& step,
              const DualForm<T>& form, index_t first, index_t units)
        : k(kernels),
          X(copy),
          step(step),
          form(form),
          first_unit(first),
          first_column(first * step.problem.unit_outputs()),
          n(index_t(copy.order().size())),
          rows(copy.rows()) {
        const DualProblem& problem = step.problem;
        task.X = rows;
        task.loss = problem.loss.loss;
        task.coupled = form.coupled;
        task.margin = T(problem.loss.margin);
        task.units = units;
        task.outputs = problem.unit_outputs();
        task.columns = units * task.outputs;
        task.width = task.columns == 1 ? 1 : (task.columns + k.lanes - 1) / k.lanes * k.lanes;
        task.stride = task.width;
        for (index_t u = 0; u < units; ++u)
            model.push_back((first_column + u * task.outputs) / problem.outputs);
        read_rows();
        read_columns();
    }
    TaskState(const TaskState&) = delete;
    TaskState& operator=(const TaskState&) = delete;

    index_t padded_width() const { return task.width + k.lanes; }
    double bias_square(index_t unit) const { return step.problem.bias_square[model[unit]]; }
    bool has_free_bias(index_t unit) const { return std::isinf(bias_square(unit)); }
    double strength(index_t unit) const { return step.problem.labels.scale[model[unit]]; }

    double weight(index_t i, index_t unit) const {
        return step.problem.labels.weight(X.order()[i], model[unit]);
    }
    // The same from the task's arrays if these are exact: they are contiguous.
    double near_weight(index_t i, index_t unit) const {
        return exact_weights_ ? double(task.s.at[i * task.s.row + (task.s.each ? unit : 0)])
                              : weight(i, unit);
    }
    // The output of the true class among the outputs of the unit, -1 if there is none.
    index_t own_output(index_t i, index_t unit) const {
        const Labels& l = step.problem.labels;
        const std::int32_t y = l.y[X.order()[i] * l.y_row + model[unit] * l.y_model];
        if (form.coupled) return y - form.first_class;
        return y == std::int32_t(positive_class_[unit]) ? 0 : -1;
    }
    // Whether the true class is the positive class of a single output, from the task's arrays.
    bool is_positive(index_t i, index_t u) const {
        return task.y.at[i * task.y.row + (task.y.each ? u : 0)] == positive_class_[u];
    }
    const double* U_of(index_t i) const {
        return step.arrays.U + X.order()[i] * step.problem.N() + first_column;
    }
    double* U_of(index_t i) {
        return step.arrays.U + X.order()[i] * step.problem.N() + first_column;
    }

    // The feature at a place of the copy, and its 1 / f^2.
    index_t feature(index_t at) const { return rows.start ? X.feature()[at] : at; }
    double own_step(index_t at, index_t unit) const {
        if (!step.arrays.inverse_squares) return 1.0;
        return double(step.arrays.inverse_squares[feature(at) * step.problem.N() + first_column +
                                                  unit * task.outputs]);
    }
    // The index in the task's W of a weight: of a place in the copy and a column of the task.
    index_t spot(index_t at, index_t c) const {
        return rows.start ? at * task.width + c : c * rows.stride + at;
    }
    index_t place(index_t j, index_t c) const {
        return spot(rows.start ? index_t(X.place()[j]) : j, c);
    }

    void set_bias_square(index_t c, double square) { bias_square_[c] = T(square); }
    void set_bounds(index_t u, T high, T low) {
        high_[u] = high;
        low_[u] = low;
    }

    // Reads the data that depend on the strong features: the squared norms of the rows, and the
    // weights.
    void read_features(const std::vector<StrongWeight>& strong) {
        read_squares(strong);
        read_weights(strong);
    }

    // Reads the duals, in the form that the loss stores, and computes their sums.
    void read_duals() {
        duals_ = HugePages<T>(n * task.width + 2 * k.lanes);
        task.duals = duals_.data();
        std::fill_n(task.duals, n * task.width + 2 * k.lanes, T(0));
        T unmoved = 0;  // the stored form of U = 0, the same for every label
        const double zero = 0.0;
        if (!form.coupled) form.encode(0, 1, &zero, &unmoved);
        const auto is_unmoved = [&](const double* row) {
            return std::all_of(row, row + task.columns, [](double a) { return a == 0.0; });
        };
        for (index_t i = 0; i < n; ++i) {
            const double* row = U_of(i);
            if (!form.coupled && (step.options.from_zero || is_unmoved(row))) {
                std::fill_n(task.duals + i * task.width, task.columns, unmoved);
                continue;
            }
            for (index_t u = 0; u < task.units; ++u) {
                const index_t c = u * task.outputs;
                const double* U = row + c;
                form.encode(own_output(i, u), task.outputs, U, task.duals + i * task.width + c);
                const double C = weight(i, u) * strength(u);
                if (C > 0.0)
                    for (index_t j = 0; j < task.outputs; ++j) dual_sums[c + j] += C * U[j];
            }
        }
        if (!form.keeps_logit) return;
        alphas_ = HugePages<T>(n * task.width + 2 * k.lanes);
        task.alphas = alphas_.data();
        std::fill_n(task.alphas + n * task.width, 2 * k.lanes, T(0));
        k.alphas(task.duals, n * task.width, task.alphas);
    }

    // Marks the rows of each block that are in the working set of a live unit.
    void mark_blocks() {
        for (index_t b = 0; b < index_t(blocks_.size()); ++b) {
            unsigned word = 0;
            for (index_t r = 0; r < block_size && b * block_size + r < n; ++r)
                word |= unsigned((active_[b * block_size + r] & task.live) != 0) << r;
            blocks_[b] = std::uint8_t(word);
        }
    }
    index_t n_blocks() const { return index_t(blocks_.size()); }

    // Puts all rows back into the working set of a unit.
    void unshrink(index_t u) {
        active_rows[u] = rows_of[u];
        for (index_t i = 0; i < n; ++i)
            if (weight(i, u) > 0.0) active_[i] |= 1u << u;
        set_bounds(u, infinity, -infinity);
    }

  private:
    // Copies numbers of the rows, one per row or one per row and unit.
    template <class Number>
    PerRow<T> spread(bool each, std::vector<T>& to, const Number& number) {
        const index_t stride = each ? (form.coupled ? task.units : task.width) : 1;
        to.assign(n * stride + (each ? k.lanes : 0), T(0));
        for (index_t i = 0; i < n; ++i)
            for (index_t u = 0; u < (each ? task.units : 1); ++u)
                to[i * stride + u] = T(number(i, u));
        return {to.data(), stride, each};
    }

    void read_rows() {
        const Labels& l = step.problem.labels;
        task.y = spread(l.y_model != 0, y_, [&](index_t i, index_t u) {
            return l.y[X.order()[i] * l.y_row + model[u] * l.y_model];
        });
        active_.assign(n, 0);
        for (std::vector<double>* a : {&active_rows, &weight_sum}) a->assign(task.units, 0.0);
        const auto count = [&](index_t i, index_t u, double s) {
            if (!(s > 0.0)) return;
            active_[i] |= 1u << u;
            active_rows[u] += 1.0;
            weight_sum[u] += s;
        };
        task.s = spread(!l.same_weights(), s_, [&](index_t i, index_t u) {
            const double s = weight(i, u);
            exact_weights_ &= double(T(s)) == s;
            if (l.same_weights())
                for (index_t each = 0; each < task.units; ++each) count(i, each, s);
            else
                count(i, u, s);
            return s;
        });
        rows_of = active_rows;
        blocks_.assign((n + block_size - 1) / block_size, 0);
        task.active = active_.data();
        task.blocks = blocks_.data();
        task.live = task.units == most_units ? ~0u : (1u << task.units) - 1u;
    }

    void read_columns() {
        const index_t w = padded_width();
        for (std::vector<T>* a : {&strength_, &bias_square_, &positive_class_, &bias_})
            a->assign(w, T(0));
        high_.assign(w, infinity);
        low_.assign(w, -infinity);
        dual_sums.assign(w, 0.0);
        const index_t outputs = step.problem.outputs;
        for (index_t c = 0; c < task.columns; ++c) {
            strength_[c] = T(strength(c / task.outputs));
            positive_class_[c] = T(outputs == 1 ? 1 : (first_column + c) % outputs);
        }
        task.strength = strength_.data();
        task.bias_square = bias_square_.data();
        task.positive_class = positive_class_.data();
        task.bias = bias_.data();
        task.high = high_.data();
        task.low = low_.data();
        scratch_ = HugePages<T>(k.scratch(task.width, task.outputs));
        task.scratch = scratch_.data();
    }

    void read_squares(const std::vector<StrongWeight>& strong) {
        if (!step.arrays.inverse_squares && strong.empty()) {
            task.square =
                spread(false, square_, [this](index_t i, index_t) { return X.squares()[i]; });
            return;
        }
        std::vector<double> steps(task.units * rows.features);
        for (index_t u = 0; u < task.units; ++u)
            for (index_t j = 0; j < rows.features; ++j)
                steps[u * rows.features + j] = own_step(j, u);
        for (const StrongWeight& w : strong) steps[w.unit * rows.features + w.at] = w.step;
        task.square = spread(true, square_, [&](index_t i, index_t u) {
            double sum = 0;
            for_entries(rows, i,
                        [&](index_t j, double x) { sum += x * x * steps[u * rows.features + j]; });
            return sum;
        });
    }

    void read_weights(const std::vector<StrongWeight>& strong) {
        const index_t d = rows.features, N = step.problem.N();
        const index_t size = rows.start ? d * task.width : task.columns * rows.stride;
        const auto take = [&](const T* from, HugePages<T>& pages) {
            pages = HugePages<T>(size + k.lanes);
            T* to = pages.data();
            std::fill_n(to, size + k.lanes, T(0));
            for (index_t j = 0; from && j < d; ++j)
                for (index_t c = 0; c < task.columns; ++c)
                    to[place(j, c)] = from[j * N + first_column + c];
            return to;
        };
        task.W = take(step.options.from_zero ? nullptr : step.arrays.W, W_);
        if (!step.arrays.inverse_squares && strong.empty()) return;
        T* steps = take(step.arrays.inverse_squares, inverse_squares_);
        if (!step.arrays.inverse_squares) std::fill_n(steps, size, T(1));
        for (const StrongWeight& w : strong)
            for (index_t c = w.unit * task.outputs; c < (w.unit + 1) * task.outputs; ++c)
                steps[spot(w.at, c)] = T(w.step);
        task.inverse_squares = steps;
    }

    bool exact_weights_ = true;  // whether T represents all weights of the rows exactly
    std::vector<T> y_, s_, square_, strength_, bias_square_, positive_class_, bias_, high_, low_;
    std::vector<std::uint32_t> active_;
    std::vector<std::uint8_t> blocks_;
    HugePages<T> W_, inverse_squares_, duals_, alphas_, scratch_;
};

}  // namespace sx
