// The machine that a call runs on: its threads, the kernels of its instruction set, its counters.
#pragma once

#include <atomic>

#include "engine/kernel_set.hpp"
#include "engine/threads.hpp"

namespace sx {

// How many rows of X the products with X and with X^T have read: what "one pass" is judged by.
struct RowsRead {
    std::atomic<std::int64_t> forward{0}, backward{0};
};

// The threads and kernels of one call: a copy of the settings, which may change meanwhile.
struct Engine {
    int threads;
    const KernelSet* set;
    const KernelSet* narrow;  // of half as many lanes and the same bits; null if there is none
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

    // Below about 50 microseconds of work, waking a thread costs more than it saves.
    template <class Body>
    void loop(index_t tasks, double multiply_adds, const Body& body) const {
        Team::of_process().run(tasks, multiply_adds < 4e5 ? 1 : threads, body);
    }
};

}  // namespace sx
