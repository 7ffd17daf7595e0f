// Built once for every instruction set, with SX_ISA naming it.
#include "core/kernels.hpp"

#include "core/compressed.hpp"
#include "core/dense.hpp"
#include "core/entropy.hpp"
#include "core/losses.hpp"
#include "core/rules.hpp"

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
        .loss = loss_block<T>,
        .step = rule_block<T>,
        .measure = measure_columns<T>,
        .times_log = times_log<T>,
    };
}

extern const CoordinateKernels coordinate_kernels;
extern const GramKernels gram_kernels;
extern const KernelSet kernel_set;
const KernelSet kernel_set = {SX_TEXT(SX_ISA), table<float>(), table<double>(), &gram_kernels,
                              &coordinate_kernels};

}  // namespace SX_ISA
}  // namespace sx
