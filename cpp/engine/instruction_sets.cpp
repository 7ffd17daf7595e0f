#include "engine/instruction_sets.hpp"

namespace sx {
inline namespace baseline {
extern const KernelSet kernel_set;
}
#if defined(SX_HAVE_AVX2)
inline namespace avx2 {
extern const KernelSet kernel_set;
}
#endif
#if defined(SX_HAVE_AVX512)
inline namespace avx512 {
extern const KernelSet kernel_set;
}
#endif

std::vector<const KernelSet*> runnable_kernels() {
    std::vector<const KernelSet*> sets;
#if defined(SX_HAVE_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        sets.push_back(&avx512::kernel_set);
#endif
#if defined(SX_HAVE_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        sets.push_back(&avx2::kernel_set);
#endif
    sets.push_back(&baseline::kernel_set);
    return sets;
}

const KernelSet* half_width_kernels([[maybe_unused]] const KernelSet* set) {
#if defined(SX_HAVE_AVX512) && defined(SX_HAVE_AVX2)
    if (set == &avx512::kernel_set) return &avx2::kernel_set;
#endif
    return nullptr;
}

}  // namespace sx
