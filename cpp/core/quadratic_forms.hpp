// The two ways to hold the quadratic g.p + p^T H p / 2 of a subproblem: by rows, for wide data, or
// by an explicit H. Each tells the slope of a block of coordinates, steps a block, solves a system
// over a support, and says what a step over a support would do.
#pragma once

#include "row_forms.hpp"

namespace sx {
inline namespace SX_ISA {

// H = sum_i [x_i; 1] H_i [x_i; 1]^T, never made: all outputs of a feature are a block.
template <class Columns, class Rows>
class ColumnForm {
  public:
    ColumnForm(const Columns& X, const RowCurvature& H, const Subproblem& p)
        : X_(X),
          rows_(H),
          g_(p.g),
          ridge_(p.ridge),
          features_(p.features),
          row_count_(H.rows),
          u_(H.rows * H.outputs),
          piece_(H.outputs) {}

    static constexpr double overlap = Rows::overlap;
    static constexpr bool exact = false;  // a solve is a number of conjugate gradient steps
    index_t width() const { return rows_.outputs(); }
    index_t blocks() const { return features_ + 1; }

    void diagonal(index_t block, double* out) const {
        with_column(block, [&](const auto& column) { rows_.diagonal(column, out); });
    }

    void slopes(index_t block, double* out) const {
        for (index_t k = 0; k < width(); ++k) out[k] = g_[block * width() + k];
        with_column(block, [&](const auto& column) { rows_.add_slopes(column, out); });
    }

    void move(index_t block, const double* delta) {
        with_column(block, [&](const auto& column) { rows_.move(column, delta); });
    }

    // What the step dx over the coordinates `at` would add to the quadratic.
    double rise(const index_t* at, index_t count, const double* dx) {
        spread(at, count, dx);
        double sum = 0;
        for (index_t a = 0; a < count; ++a) sum += g_[at[a]] * dx[a];
        return sum + rows_.rise(u_.get());
    }

    // Makes the step that `rise` has looked at last.
    void accept() { rows_.accept(u_.get()); }

    // out = (H + ridge) p over the coordinates `at`.
    void times(const index_t* at, index_t count, const double* p, double* out) {
        spread(at, count, p);
        rows_.bend(u_.get());
        each_block(at, count, [&](index_t block, index_t first, index_t last) {
            for (index_t k = 0; k < width(); ++k) piece_[k] = 0;
            with_column(block,
                        [&](const auto& column) { rows_.gather(column, u_.get(), piece_.get()); });
            for (index_t a = first; a < last; ++a)
                out[a] = piece_[at[a] % width()] + ridge_[at[a]] * p[a];
        });
    }

  private:
    template <class Run>
    SX_INLINE void with_column(index_t block, const Run& run) const {
        if (block == features_)
            run(OnesColumn{row_count_});
        else
            run(X_.column(block));
    }

    // The coordinates rise, so that those of a block are neighbours.
    template <class Run>
    void each_block(const index_t* at, index_t count, const Run& run) const {
        for (index_t first = 0, last; first < count; first = last) {
            const index_t block = at[first] / width();
            for (last = first + 1; last < count && at[last] / width() == block;) ++last;
            run(block, first, last);
        }
    }

    // u = X p
    void spread(const index_t* at, index_t count, const double* p) {
        for (index_t i = 0; i < row_count_ * width(); ++i) u_[i] = 0;
        each_block(at, count, [&](index_t block, index_t first, index_t last) {
            for (index_t k = 0; k < width(); ++k) piece_[k] = 0;
            for (index_t a = first; a < last; ++a) piece_[at[a] % width()] = p[a];
            with_column(block,
                        [&](const auto& column) { rows_.scatter(column, piece_.get(), u_.get()); });
        });
    }

    const Columns X_;
    Rows rows_;
    const double *g_, *ridge_;
    index_t features_, row_count_;
    Scratch<double> u_, piece_;
};

// H made of Gram matrices: every coordinate is a block, and its slope is kept up to date.
class GramForm {
  public:
    GramForm(const GramCurvature& H, const Subproblem& p)
        : H_(H), ridge_(p.ridge), slope_(blocks()), change_(blocks()) {
        for (index_t c = 0; c < blocks(); ++c) slope_[c] = p.g[c];
    }

    static constexpr double overlap = 1;
    static constexpr bool exact = true;
    static constexpr index_t width() { return 1; }
    index_t blocks() const { return H_.order * H_.outputs; }

    void diagonal(index_t c, double* out) const {
        const index_t k = c / H_.order, j = c % H_.order;
        *out = H_.at[k * H_.outputs + k][j * H_.order + j];
    }
    void slopes(index_t c, double* out) const { *out = slope_[c]; }
    void move(index_t c, const double* delta) { add_row(c, *delta, slope_.get()); }

    double rise(const index_t* at, index_t count, const double* dx) {
        for (index_t c = 0; c < blocks(); ++c) change_[c] = 0;
        double sum = 0;
        for (index_t a = 0; a < count; ++a) {
            sum += dx[a] * slope_[at[a]];
            add_row(at[a], dx[a], change_.get());
        }
        for (index_t a = 0; a < count; ++a) sum += 0.5 * dx[a] * change_[at[a]];
        return sum;
    }

    void accept() {
        for (index_t c = 0; c < blocks(); ++c) slope_[c] += change_[c];
    }

    // A (count, count), the upper half: H + ridge over the coordinates `at`, which rise.
    void take(const index_t* at, index_t count, double* A) const {
        const index_t order = H_.order;
        for (index_t a = 0; a < count; ++a) {
            const index_t k = at[a] / order, j = at[a] % order;
            index_t b = a;
            for (index_t l = k; l < H_.outputs; ++l) {
                const double* H = H_.at[k * H_.outputs + l];
                for (; b < count && at[b] < (l + 1) * order; ++b)
                    A[a * count + b] = H ? H[j * order + at[b] - l * order] : 0;
            }
            A[a * count + a] += ridge_[at[a]];
        }
    }

  private:
    // out += by H[c]
    void add_row(index_t c, double by, double* out) const {
        const index_t k = c / H_.order, j = c % H_.order, order = H_.order;
        for (index_t l = 0; l < H_.outputs; ++l) {
            const double* H = H_.at[k * H_.outputs + l];
            if (!H) continue;
            const double* __restrict row = H + j * order;
            double* __restrict to = out + l * order;
            for (index_t m = 0; m < order; ++m) to[m] += by * row[m];
        }
    }

    const GramCurvature H_;
    const double* ridge_;
    Scratch<double> slope_, change_;
};

}  // namespace SX_ISA
}  // namespace sx
