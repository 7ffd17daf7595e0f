// Compiled once for every instruction set. SX_ISA is the name of that set.
#include "engine/kernel_set.hpp"

#include "gradient/lazy_steps.hpp"
#include "gradient/rules.hpp"
#include "losses/probabilities.hpp"
#include "matrix/column_sums.hpp"
#include "matrix/dense_product.hpp"
#include "matrix/max_abs.hpp"
#include "matrix/sparse_product.hpp"
#include "simd/x_log_x.hpp"

namespace sx {
inline namespace SX_ISA {

#define SX_TEXT_OF(name) #name
#define SX_TEXT(name) SX_TEXT_OF(name)

template <class T>
constexpr Kernels<T> table() {
    return {
        .lanes = lanes<T>,
        .panel = tile * lanes<T>,
        .block_rows = block_rows,
        .scratch = multiply_scratch_bytes<T>,
        .pack = pack_panels<T>,
        .multiply = multiply_block<T>,
        .gather = gather_block<T>,
        .scatter = scatter_block<T>,
        .sum_columns = sum_columns<T>,
        .step = rule_block<T>,
        .measure = measure_columns<T>,
        .lazy_enter = lazy_enter<T>,
        .lazy_gradient = lazy_gradient<T>,
        .lazy_leave = lazy_leave<T>,
        .lazy_settle = lazy_settle<T>,
        .x_log_x = x_log_x<T>,
        .max_abs = max_abs<T>,
        .probabilities = probabilities<T>,
    };
}

extern const CoordinateKernels coordinate_kernels;
extern const GramKernels gram_kernels;
extern const LossKernels loss_kernels;
extern const HessianKernels hessian_kernels;
extern const CholeskyKernels cholesky_kernels;
extern const DualKernels<float> dual_f32;
extern const DualKernels<double> dual_f64;
extern const KernelSet kernel_set;
const KernelSet kernel_set = {
    .name = SX_TEXT(SX_ISA),
    .f32 = table<float>(),
    .f64 = table<double>(),
    .gram = &gram_kernels,
    .coordinate = &coordinate_kernels,
    .loss = &loss_kernels,
    .hessian = &hessian_kernels,
    .cholesky = &cholesky_kernels,
    .dual_f32 = &dual_f32,
    .dual_f64 = &dual_f64,
};

}  // namespace SX_ISA
}  // namespace sx
