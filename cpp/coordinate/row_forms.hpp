// The second derivative of the loss, row by row, applied to columns of X.
//
// Both forms store t (rows, outputs) = H q, the product of the second derivative with q = X p,
// where p is the sum of all steps so far. The slope of a coordinate is then its initial slope plus
// sum_i x_ij t_i, and a step of one coordinate changes t only in the rows of its column.
#pragma once

#include "coordinate/columns.hpp"
#include "coordinate/kernels.hpp"

namespace sx {
inline namespace SX_ISA {

// One output: t = c q.
class SingleOutput {
  public:
    explicit SingleOutput(const RowCurvature& H) : n_(H.rows), c_(H.c), t_(H.rows) {}

    static constexpr bool single = true;
    static constexpr double overlap = 1;  // divisor that makes a step of all outputs at once safe

    template <class Column>
    SX_INLINE void diagonal(const Column& column, double* out) const {
        const double* c = c_;
        *out = sum_entries(column, [&](index_t e) {
            const double x = column.at(e);
            return x * x * c[column.row(e)];
        });
    }

    template <class Column>
    SX_INLINE void add_slopes(const Column& column, double* out) const {
        gather(column, t_.get(), out);
    }

    template <class Column>
    SX_INLINE void move(const Column& column, const double* delta) {
        double* __restrict t = t_.get();
        const double* __restrict c = c_;
        const double by = *delta;
        for (index_t e = 0; e < column.count; ++e) {
            const index_t i = column.row(e);
            t[i] += by * column.at(e) * c[i];
        }
    }

    // u += x p
    template <class Column>
    static SX_INLINE void scatter(const Column& column, const double* p, double* __restrict u) {
        const double by = *p;
        for (index_t e = 0; e < column.count; ++e) u[column.row(e)] += by * column.at(e);
    }

    // out += x^T u
    template <class Column>
    static SX_INLINE void gather(const Column& column, const double* u, double* out) {
        *out += sum_entries(column, [&](index_t e) { return column.at(e) * u[column.row(e)]; });
    }

    // Replaces u by H_i u for one row; `spare` is scratch for one number per output.
    SX_INLINE void apply_hessian(index_t i, double* u, double*) const { *u *= c_[i]; }

    // Returns sum u (t + H u / 2), the change of the quadratic for the step u.
    double quadratic_change(const double* u) const {
        return sum_entries(OnesColumn{n_},
                           [&](index_t i) { return u[i] * (t_[i] + 0.5 * c_[i] * u[i]); });
    }

    void accept(const double* __restrict u) {
        for (index_t i = 0; i < n_; ++i) t_[i] += c_[i] * u[i];
    }

  private:
    index_t n_;
    const double* c_;
    Scratch<double> t_;
};

// Several coupled outputs. H_i is the weighted Laplacian of a graph, or a part of one. It is at
// most twice its diagonal, so a step of all outputs of a feature with twice the diagonal is safe.
template <HessianCoupling coupling>
class ManyOutputs {
  public:
    explicit ManyOutputs(const RowCurvature& H)
        : n_(H.rows), K_(H.outputs), H_(H), t_(H.rows * H.outputs), row_(H.outputs) {}

    static constexpr bool single = false;
    static constexpr double overlap = 2;

    template <class Column>
    SX_INLINE void diagonal(const Column& column, double* out) const {
        for (index_t k = 0; k < K_; ++k) out[k] = 0;
        for (index_t e = 0; e < column.count; ++e) {
            const index_t i = column.row(e);
            const double x = column.at(e), by = x * x * H_.weight[i];
            const double* c = H_.c + i * K_;
            if constexpr (coupling == HessianCoupling::softmax) {
                for (index_t k = 0; k < K_; ++k) out[k] += by * c[k] * (1 - c[k]);
            } else {
                double leaves = 0;
                for (index_t k = 0; k < K_; ++k) {
                    out[k] += 2 * by * c[k];
                    leaves += c[k];
                }
                out[H_.own[i]] += 2 * by * leaves;
            }
        }
    }

    template <class Column>
    SX_INLINE void add_slopes(const Column& column, double* out) const {
        gather(column, t_.get(), out);
    }

    template <class Column>
    SX_INLINE void move(const Column& column, const double* delta) {
        for (index_t e = 0; e < column.count; ++e) {
            const index_t i = column.row(e);
            add_hessian_product(i, column.at(e), delta, t_.get() + i * K_);
        }
    }

    template <class Column>
    SX_INLINE void scatter(const Column& column, const double* p, double* u) const {
        for (index_t e = 0; e < column.count; ++e) {
            double* __restrict at = u + column.row(e) * K_;
            const double x = column.at(e);
            for (index_t k = 0; k < K_; ++k) at[k] += x * p[k];
        }
    }

    template <class Column>
    SX_INLINE void gather(const Column& column, const double* u, double* __restrict out) const {
        for (index_t e = 0; e < column.count; ++e) {
            const double* at = u + column.row(e) * K_;
            const double x = column.at(e);
            for (index_t k = 0; k < K_; ++k) out[k] += x * at[k];
        }
    }

    SX_INLINE void apply_hessian(index_t i, double* u, double* spare) const {
        hessian_product(i, u, spare);
        for (index_t k = 0; k < K_; ++k) u[k] = spare[k];
    }

    double quadratic_change(const double* u) const {
        double sum = 0;
        for (index_t i = 0; i < n_; ++i) {
            hessian_product(i, u + i * K_, row_.get());
            double own = 0;
            for (index_t k = 0; k < K_; ++k)
                own += u[i * K_ + k] * (t_[i * K_ + k] + 0.5 * row_[k]);
            sum += own;
        }
        return sum;
    }

    void accept(const double* u) {
        for (index_t i = 0; i < n_; ++i) add_hessian_product(i, 1.0, u + i * K_, t_.get() + i * K_);
    }

  private:
    // out = H_i v
    SX_INLINE void hessian_product(index_t i, const double* v, double* out) const {
        for (index_t k = 0; k < K_; ++k) out[k] = 0;
        add_hessian_product(i, 1.0, v, out);
    }

    // out += H_i x v
    SX_INLINE void add_hessian_product(index_t i, double x, const double* __restrict v,
                                       double* __restrict out) const {
        const double* __restrict c = H_.c + i * K_;
        const double by = x * H_.weight[i];
        if constexpr (coupling == HessianCoupling::softmax) {
            double mean = 0;
            for (index_t k = 0; k < K_; ++k) mean += c[k] * v[k];
            for (index_t k = 0; k < K_; ++k) out[k] += by * c[k] * (v[k] - mean);
        } else {
            const index_t own = H_.own[i];
            const double centre = v[own];
            double sum = 0;
            for (index_t k = 0; k < K_; ++k) {
                const double part = 2 * by * c[k] * (v[k] - centre);
                out[k] += part;
                sum += part;
            }
            out[own] -= sum;
        }
    }

    index_t n_, K_;
    RowCurvature H_;
    Scratch<double> t_;
    Scratch<double> row_;
};

}  // namespace SX_ISA
}  // namespace sx
