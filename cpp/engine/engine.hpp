// The environment of a call: threads, the kernels of the instruction set, and counters.
#pragma once

#include <atomic>

#include "engine/kernel_set.hpp"
#include "engine/threads.hpp"

namespace sx {

// Counts the rows of X that products with X (forward) and X^T (backward) have read. Tests use it to
// verify that a computation makes only one pass.
struct RowsRead {
    std::atomic<std::int64_t> forward{0}, backward{0};
};

// The threads and kernels of one call. A copy, because the settings may change during the call.
struct Engine {
    int threads;
    const KernelSet* set;
    const KernelSet* narrow;  // half as many lanes, same rounding; null if there is none
    RowsRead* read;

    template <class T>
    const Kernels<T>& kernels() const {
        if constexpr (sizeof(T) == 4)
            return set->f32;
        else
            return set->f64;
    }

    template <class T>
    static const DualKernels<T>& dual_of(const KernelSet& set) {
        if constexpr (sizeof(T) == 4)
            return *set.dual_f32;
        else
            return *set.dual_f64;
    }

    // With less than about 50 microseconds of work, waking a thread costs more than it saves.
    template <class Body>
    void loop(index_t tasks, double multiply_adds, const Body& body) const {
        ThreadPool::of_process().run(tasks, multiply_adds < 4e5 ? 1 : threads, body);
    }
};

}  // namespace sx
