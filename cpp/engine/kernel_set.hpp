// The kernels of one instruction set as a table of functions. Code that is built for a particular
// instruction set is called only through this table.
#pragma once

#include "coordinate/kernels.hpp"
#include "dual/task.hpp"
#include "gradient/lazy_batch.hpp"
#include "gradient/rule_step.hpp"
#include "gram/cholesky_kernels.hpp"
#include "gram/gram_kernels.hpp"
#include "losses/block.hpp"
#include "matrix/views.hpp"

namespace sx {

template <class T>
struct Kernels {
    index_t lanes;       // columns in one vector
    index_t panel;       // columns in one full panel
    index_t block_rows;  // largest number of rows in one call of multiply
    index_t scratch;     // bytes of scratch that multiply needs
    void (*pack)(const T* B, index_t ldb, index_t depth, index_t N, index_t c0, index_t c1, T* out);
    void (*multiply)(const DenseOperand& A, index_t i0, index_t i1, index_t depth, const T* panels,
                     index_t N, T* C, index_t ldc, void* scratch);
    void (*gather)(const CompressedOperand& P, index_t i0, index_t i1, const T* B, index_t ldb,
                   index_t c0, index_t c1, index_t N, T* C, index_t ldc);
    void (*scatter)(const CompressedOperand& P, index_t rows, const T* B, index_t ldb, index_t c0,
                    index_t c1, index_t N, T* C, index_t ldc);
    void (*sum_columns)(const T* A, index_t rows, index_t width, double* out);
    void (*step)(const RuleStep<T>& p, index_t j0, index_t j1);
    void (*measure)(const RuleStep<T>& p, index_t rows, index_t c0, index_t c1, double* penalty,
                    double* norm);
    void (*lazy_enter)(const LazyColumns<T>& g, const LazyBatch<T>& batch, index_t step, const T* b,
                       T* Z);
    void (*lazy_gradient)(const LazyColumns<T>& g, const LazyBatch<T>& batch, const T* U);
    void (*lazy_leave)(const LazyColumns<T>& g, const LazyBatch<T>& batch, index_t step);
    void (*lazy_settle)(const LazyColumns<T>& g, index_t features);
    void (*x_log_x)(T* x, index_t count);
    double (*max_abs)(const T* x, index_t count);
    void (*probabilities)(const T* Z, index_t count, index_t outputs, bool lifted, T* P,
                          T* scratch);

    index_t padded(index_t columns) const { return (columns + lanes - 1) / lanes * lanes; }
};

struct KernelSet {
    const char* name;
    Kernels<float> f32;
    Kernels<double> f64;
    const GramKernels* gram;
    const CoordinateKernels* coordinate;
    const LossKernels* loss;
    const HessianKernels* hessian;
    const CholeskyKernels* cholesky;
    const DualKernels<float>* dual_f32;
    const DualKernels<double>* dual_f64;
};

}  // namespace sx
