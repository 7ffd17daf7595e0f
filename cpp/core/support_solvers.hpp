// Systems (H + ridge) x = r over the coordinates of a support.
#pragma once

#include "quadratic_forms.hpp"

namespace sx {
inline namespace SX_ISA {

constexpr double damping = 1e-10;
constexpr double lost_pivot = 1e-13;  // of a diagonal entry: what is left of it is rounding

// Problem    A x = r by Cholesky, A = U^T U.
// Given      A (m, m), of which the upper half is read, positive semidefinite up to rounding; r.
// On return  x in place of r; 0 in coordinates that depend on those before them, so that x is one
//            of many solutions, if there is any.
inline void solve_cholesky(double* A, index_t m, double* r) {
    constexpr index_t together = 4;  // pivots at a time: fewer passes over the rest of A
    Scratch<double> diagonal(m);
    for (index_t i = 0; i < m; ++i) diagonal[i] = A[i * m + i];
    for (index_t p0 = 0; p0 < m; p0 += together) {
        const index_t p1 = p0 + together < m ? p0 + together : m;
        for (index_t p = p0; p < p1; ++p) {
            double* __restrict row = A + p * m;
            for (index_t q = p0; q < p; ++q) {
                const double* __restrict above = A + q * m;
                const double by = above[p];
                for (index_t j = p; j < m; ++j) row[j] -= by * above[j];
            }
            const double pivot = row[p];
            const double inverse =
                pivot > lost_pivot * diagonal[p] ? 1 / __builtin_sqrt(pivot) : 0.0;
            for (index_t j = p; j < m; ++j) row[j] *= inverse;
        }
        for (index_t i = p1; i < m; ++i) {
            double* __restrict row = A + i * m;
            if (p1 - p0 == together) {
                const double* __restrict a = A + p0 * m, * __restrict b = a + m, * __restrict c = b + m, * __restrict d = c + m;
                const double by[] = {a[i], b[i], c[i], d[i]};
                for (index_t j = i; j < m; ++j)
                    row[j] -= (by[0] * a[j] + by[1] * b[j]) + (by[2] * c[j] + by[3] * d[j]);
            }
        }
    }
    for (index_t p = 0; p < m; ++p) {
        const double* __restrict row = A + p * m;
        r[p] = row[p] > 0 ? r[p] / row[p] : 0;
        for (index_t j = p + 1; j < m; ++j) r[j] -= row[j] * r[p];
    }
    for (index_t p = m - 1; p >= 0; --p) {
        const double* row = A + p * m;
        const double inner = sum_entries(OnesColumn{m - p - 1},
                                         [&](index_t e) { return row[p + 1 + e] * r[p + 1 + e]; });
        r[p] = row[p] > 0 ? (r[p] - inner) / row[p] : 0;
    }
}

// By conjugate gradients from 0, with the diagonal as preconditioner, until the residual has fallen
// to `rtol` of its first length or `most` steps have been made.
template <class Form>
void solve_support(Form& form, const index_t* at, index_t m, const double* diagonal, double rtol,
                   index_t most, double* r) {
    if constexpr (Form::exact) {
        Scratch<double> A(m * m);
        form.take(at, m, A.get());
        for (index_t a = 0; a < m; ++a) A[a * m + a] *= 1 + damping;
        solve_cholesky(A.get(), m, r);
    } else {
        Scratch<double> x(m), p(m), Ap(m);
        const auto over = [&](index_t a) {
            return diagonal[at[a]] > 0 ? 1 / diagonal[at[a]] : 0.0;
        };
        double length = 0;
        for (index_t a = 0; a < m; ++a) {
            p[a] = r[a] * over(a);
            length += r[a] * p[a];
        }
        const double enough = rtol * rtol * length;
        for (index_t step = 0; step < most && length > enough; ++step) {
            form.times(at, m, p.get(), Ap.get());
            double curved = 0;
            for (index_t a = 0; a < m; ++a) curved += p[a] * Ap[a];
            if (!(curved > 0)) break;
            const double by = length / curved;
            double next = 0;
            for (index_t a = 0; a < m; ++a) {
                x[a] += by * p[a];
                r[a] -= by * Ap[a];
                next += r[a] * r[a] * over(a);
            }
            const double back = next / length;
            length = next;
            for (index_t a = 0; a < m; ++a) p[a] = r[a] * over(a) + back * p[a];
        }
        for (index_t a = 0; a < m; ++a) r[a] = x[a];
    }
}

}  // namespace SX_ISA
}  // namespace sx
