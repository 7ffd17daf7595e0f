// Two representations of the quadratic g.(x - w) + (x - w)^T H (x - w) / 2 of a subproblem: H
// applied by the columns of X, for wide data, or H as a matrix. Both compute the curvature and the
// slopes of a block of coordinates, update the slopes after a step, solve a linear system over a
// support, and compute how a step over a support changes the quadratic.
#pragma once

#include "coordinate/row_forms.hpp"
#include "gram/cholesky.hpp"

namespace sx {
inline namespace SX_ISA {

// H = sum_i [x_i; 1] H_i [x_i; 1]^T + diag(ridge). All outputs of a feature form a block.
template <class Columns, class Rows>
class ColumnForm {
  public:
    ColumnForm(const Columns& X, const RowCurvature& H, const double* ridge, const Subproblem& p)
        : X_(X),
          rows_(H),
          p_(p),
          ridge_(ridge),
          shift_invariant_(H.shift_invariant),
          K_(H.outputs),
          n_(H.rows),
          u_(H.rows * H.outputs),
          piece_(H.outputs) {}

    static constexpr bool written_out = false;
    index_t width() const { return Rows::single ? 1 : K_; }
    index_t blocks() const { return p_.features + 1; }

    // Computes the diagonal of H, and an upper bound on H within the block that makes it safe to
    // step all outputs at once.
    void curvature(index_t block, double* diagonal, double* bound) const {
        with_column(block, [&](const auto& column) { rows_.diagonal(column, diagonal); });
        for (index_t k = 0; k < width(); ++k) {
            const double ridge = ridge_[block * width() + k];
            bound[k] = Rows::overlap * diagonal[k] + ridge;
            diagonal[k] += ridge;
        }
    }

    void slopes(index_t block, double* out) const {
        for (index_t k = 0; k < width(); ++k) out[k] = without_rows(block * width() + k);
        with_column(block, [&](const auto& column) { rows_.add_slopes(column, out); });
    }

    // Whether adding a constant to all outputs of a feature leaves the losses unchanged; and the
    // slope and curvature of the quadratic along such a shift.
    bool shift_invariant() const { return shift_invariant_; }
    void shift_slope(index_t block, double* slope, double* curved) const {
        *slope = *curved = 0;
        for (index_t c = block * width(); c < (block + 1) * width(); ++c) {
            *slope += without_rows(c);
            *curved += ridge_[c];
        }
    }

    void move(index_t block, const double* delta) {
        with_column(block, [&](const auto& column) { rows_.move(column, delta); });
    }

    // Returns the change of the quadratic for the step dx over the coordinates `at`.
    double quadratic_change(const index_t* at, index_t count, const double* dx) {
        spread(at, count, dx);
        double sum = 0;
        for (index_t a = 0; a < count; ++a)
            sum += dx[a] * (without_rows(at[a]) + 0.5 * ridge_[at[a]] * dx[a]);
        return sum + rows_.quadratic_change(u_.get());
    }

    // Accepts the step that was last passed to `quadratic_change`.
    void accept() { rows_.accept(u_.get()); }

    // Solves H x = r over the coordinates `at` and writes x to r: conjugate gradients with a
    // diagonal preconditioner, until the norm of the residual has fallen by the factor `until`.
    void solve(const index_t* at, index_t m, const double* diagonal, double until, index_t steps,
               double* r) {
        if constexpr (Columns::listed) {
            RowProduct H(*this, at, m);
            conjugate_gradients(H, at, m, diagonal, until, steps, r);
        } else {
            conjugate_gradients([&](const double* p, double* out) { times(at, m, p, out); }, at, m,
                                diagonal, until, steps, r);
        }
    }

  private:
    template <class Product>
    static void conjugate_gradients(const Product& product, const index_t* at, index_t m,
                                    const double* diagonal, double until, index_t steps,
                                    double* r) {
        Scratch<double> x(m), p(m), Hp(m), over(m);
        double length = 0;
        for (index_t a = 0; a < m; ++a) {
            over[a] = diagonal[at[a]] > 0 ? 1 / diagonal[at[a]] : 0.0;
            p[a] = r[a] * over[a];
            length += r[a] * p[a];
        }
        const double enough = until * until * length;
        for (index_t step = 0; step < steps && length > enough; ++step) {
            product(p.get(), Hp.get());
            const double curved = dot(p.get(), Hp.get(), m);
            if (!(curved > 0)) break;
            const double by = length / curved;
            add_multiple(by, p.get(), x.get(), m);
            add_multiple(-by, Hp.get(), r, m);
            double next = 0;
            for (index_t a = 0; a < m; ++a) next += r[a] * r[a] * over[a];
            const double back = next / length;
            length = next;
            for (index_t a = 0; a < m; ++a) p[a] = r[a] * over[a] + back * p[a];
        }
        for (index_t a = 0; a < m; ++a) r[a] = x[a];
    }

    // H restricted to the coordinates `at`, as an operator. It copies their columns by rows, which
    // costs about as much as four products. A product then reads the entries once instead of twice,
    // and p and the result stay in the cache even if some columns are much longer than others.
    // Slabs of rows have separate results, so that threads can work in parallel.
    class RowProduct {
        static constexpr index_t least_rows = 2048, most_slabs = 8;

      public:
        RowProduct(const ColumnForm& form, const index_t* at, index_t count)
            : form_(form),
              at_(at),
              count_(count),
              blocks_(count),
              place_(count),
              n_blocks_(list_blocks()),
              size_((n_blocks_ + 1) * form.width()),
              slabs_(form.n_ < 2 * least_rows            ? 1
                     : form.n_ < most_slabs * least_rows ? form.n_ / least_rows
                                                         : most_slabs),
              rows_(form.X_, form.n_, blocks_.get(), n_blocks_),
              p_(size_),
              out_(slabs_ * size_),
              row_(slabs_ * 2 * form.width()) {}

        void operator()(const double* p, double* out) const {
            std::memset(p_.get(), 0, std::size_t(size_) * sizeof(double));
            for (index_t a = 0; a < count_; ++a) p_[place_[a]] = unit(a) * p[a];
            const Workers& workers = form_.p_.workers;
            workers.run(
                workers.engine, slabs_, 2.0 * double(rows_.entries() * form_.width()),
                [](const void* of, index_t slab) {
                    static_cast<const RowProduct*>(of)->multiply(slab);
                },
                this);
            for (index_t slab = 1; slab < slabs_; ++slab)
                add_multiple(1.0, out_.get() + slab * size_, out_.get(), size_);
            for (index_t a = 0; a < count_; ++a)
                out[a] = unit(a) * out_[place_[a]] + form_.ridge_[at_[a]] * p[a];
        }

      private:
        // The scale of the column of a coordinate. The bias comes last.
        double unit(index_t a) const {
            const index_t number = place_[a] / form_.width();
            return number < n_blocks_ ? rows_.unit(number) : 1.0;
        }

        void multiply(index_t slab) const {
            const index_t K = form_.width(), bias = size_ - K;
            double *out = out_.get() + slab * size_, *u = row_.get() + slab * 2 * K;
            std::memset(out, 0, std::size_t(size_) * sizeof(double));
            for (index_t i = form_.n_ * slab / slabs_; i < form_.n_ * (slab + 1) / slabs_; ++i) {
                const auto row = rows_.row(i);
                for (index_t k = 0; k < K; ++k) u[k] = p_[bias + k];
                form_.rows_.gather(row, p_.get(), u);
                form_.rows_.apply_hessian(i, u, u + K);
                form_.rows_.scatter(row, u, out);
                for (index_t k = 0; k < K; ++k) out[bias + k] += u[k];
            }
        }

        // Lists the features of the coordinates, and the place of each coordinate in this list.
        index_t list_blocks() {
            index_t found = 0;
            form_.each_block(at_, count_, [&](index_t block, index_t first, index_t last) {
                for (index_t a = first; a < last; ++a)
                    place_[a] = found * form_.width() + at_[a] - block * form_.width();
                if (block != form_.p_.features) blocks_[found++] = block;
            });
            return found;
        }

        const ColumnForm& form_;
        const index_t* at_;
        index_t count_;
        Scratch<index_t> blocks_, place_;
        index_t n_blocks_, size_, slabs_;
        ColumnsByRow rows_;
        Scratch<double> p_, out_, row_;
    };

    // The part of a coordinate's slope that does not depend on the rows: gradient and ridge.
    SX_INLINE double without_rows(index_t c) const {
        return p_.g[c] + ridge_[c] * (p_.x[c] - p_.w[c]);
    }

    template <class Run>
    SX_INLINE void with_column(index_t block, const Run& run) const {
        if (block == p_.features)
            run(OnesColumn{n_});
        else
            run(X_.column(block));
    }

    // out = H p over the coordinates `at`.
    void times(const index_t* at, index_t count, const double* p, double* out) {
        spread(at, count, p);
        for (index_t i = 0; i < n_; ++i)
            rows_.apply_hessian(i, u_.get() + i * width(), piece_.get());
        each_block(at, count, [&](index_t block, index_t first, index_t last) {
            for (index_t k = 0; k < width(); ++k) piece_[k] = 0;
            with_column(block,
                        [&](const auto& column) { rows_.gather(column, u_.get(), piece_.get()); });
            for (index_t a = first; a < last; ++a)
                out[a] = piece_[at[a] - block * width()] + ridge_[at[a]] * p[a];
        });
    }

    // u = X p over the coordinates `at`.
    void spread(const index_t* at, index_t count, const double* p) {
        std::memset(u_.get(), 0, std::size_t(n_ * width()) * sizeof(double));
        each_block(at, count, [&](index_t block, index_t first, index_t last) {
            for (index_t k = 0; k < width(); ++k) piece_[k] = 0;
            for (index_t a = first; a < last; ++a) piece_[at[a] - block * width()] = p[a];
            with_column(block,
                        [&](const auto& column) { rows_.scatter(column, piece_.get(), u_.get()); });
        });
    }

    // Calls run(block, first, last) for every block. The coordinates are sorted, so that those of
    // one block are adjacent.
    template <class Run>
    SX_INLINE void each_block(const index_t* at, index_t count, const Run& run) const {
        for (index_t first = 0, last; first < count; first = last) {
            const index_t block = at[first] / width(), end = (block + 1) * width();
            for (last = first + 1; last < count && at[last] < end;) ++last;
            run(block, first, last);
        }
    }

    const Columns X_;
    Rows rows_;
    const Subproblem& p_;
    const double* ridge_;
    bool shift_invariant_;
    index_t K_, n_;
    Scratch<double> u_, piece_;
};

// H as a matrix. Every coordinate is a block, and its slope is kept up to date.
class HessianForm {
  public:
    HessianForm(double* H, const Subproblem& p)
        : H_(H), m_((p.features + 1) * p.outputs), slope_(m_), change_(m_) {
        for (index_t a = 0; a < m_; ++a) {
            slope_[a] = p.g[a];
            for (index_t b = 0; b < a; ++b) H[b * m_ + a] = H[a * m_ + b];
        }
    }

    static constexpr bool written_out = true;
    static constexpr index_t width() { return 1; }
    index_t blocks() const { return m_; }

    void curvature(index_t c, double* diagonal, double* bound) const {
        *diagonal = *bound = H_[c * m_ + c];
    }
    void slopes(index_t c, double* out) const { *out = slope_[c]; }
    static constexpr bool shift_invariant() { return false; }
    static void shift_slope(index_t, double*, double*) {}
    void move(index_t c, const double* delta) {
        add_multiple(*delta, H_ + c * m_, slope_.get(), m_);
    }

    double quadratic_change(const index_t* at, index_t count, const double* dx) {
        for (index_t c = 0; c < m_; ++c) change_[c] = 0;
        double sum = 0;
        for (index_t a = 0; a < count; ++a) {
            sum += dx[a] * slope_[at[a]];
            add_multiple(dx[a], H_ + at[a] * m_, change_.get(), m_);
        }
        for (index_t a = 0; a < count; ++a) sum += 0.5 * dx[a] * change_[at[a]];
        return sum;
    }

    void accept() { add_multiple(1.0, change_.get(), slope_.get(), m_); }

    // Solves by Cholesky factorisation. Raises the diagonal slightly: in directions without
    // curvature, for example if some columns add up to another, only the thresholds then determine
    // the step, and x moves far.
    void solve(const index_t* at, index_t m, const double*, double, index_t, double* r) {
        constexpr double raised = 1e-10;
        Scratch<double> A(m * m), space(cholesky_space(m));
        Scratch<char> scratch(multiply_scratch_bytes<double>);
        for (index_t a = 0; a < m; ++a) {
            const double* row = H_ + at[a] * m_;
            for (index_t b = 0; b <= a; ++b) A[a * m + b] = row[at[b]];
            A[a * m + a] *= 1 + raised;
        }
        cholesky_factor(A.get(), m, space.get(), scratch.get());
        cholesky_solve(A.get(), m, r);
    }

  private:
    const double* H_;
    index_t m_;
    Scratch<double> slope_, change_;
};

}  // namespace SX_ISA
}  // namespace sx
