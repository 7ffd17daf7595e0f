// Binds the settings (threads, instruction set) and the counters of rows read.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <tuple>

#include "bind/arrays.hpp"
#include "engine/instruction_sets.hpp"

namespace sx {
namespace {

// Every call reads these again, so that a change takes effect immediately.
struct Settings {
    std::atomic<int> threads{1};
    std::atomic<const KernelSet*> set{runnable_kernels().front()};
    RowsRead read;
};

Settings& settings() {
    static Settings* one = new Settings;  // never destroyed: threads may outlive static objects
    return *one;
}

void use_instruction_set(const std::string& name) {
    for (const KernelSet* set : runnable_kernels())
        if (name == set->name) {
            settings().set = set;
            return;
        }
    throw std::invalid_argument("This processor cannot run the instruction set '" + name + "'.");
}

}  // namespace

// The symbol by which threadpoolctl recognises this library among others of the same file name.
extern "C" __attribute__((visibility("default"))) int separatrix_threads() {
    return settings().threads;
}

Engine engine() {
    const KernelSet* set = settings().set;
    return {settings().threads, set, half_width_kernels(set), &settings().read};
}

void bind_settings(nb::module_& m) {
    m.def("set_threads", [](int threads) { settings().threads = threads; }, "threads"_a);
    m.def("threads", [] { return settings().threads.load(); });
    m.def("instruction_set", [] { return std::string(engine().set->name); });
    m.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const KernelSet* set : runnable_kernels()) names.emplace_back(set->name);
        return names;
    });
    m.def("use_instruction_set", &use_instruction_set, "name"_a);
    m.def("rows_read", [] {
        return std::tuple<std::int64_t, std::int64_t>(settings().read.forward,
                                                      settings().read.backward);
    });
}

}  // namespace sx
