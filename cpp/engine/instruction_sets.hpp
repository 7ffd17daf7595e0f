// The instruction sets that the kernels were built for, and the ones that this processor can run.
#pragma once

#include <vector>

#include "engine/kernel_set.hpp"

namespace sx {

// The kernels that this processor can run, fastest first.
std::vector<const KernelSet*> runnable_kernels();

// The kernels with half as many lanes and the same rounding as `set`; null if there are none.
const KernelSet* half_width_kernels(const KernelSet* set);

}  // namespace sx
