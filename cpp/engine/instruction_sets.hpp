// The instruction sets that the kernels were built for, and those that this processor can run.
#pragma once

#include <vector>

#include "engine/kernel_set.hpp"

namespace sx {

// The kernels this processor can run, best first.
std::vector<const KernelSet*> runnable_kernels();

// The kernels of half as many lanes that round as those of a set do; null if there are none.
const KernelSet* half_width_kernels(const KernelSet* set);

}  // namespace sx
