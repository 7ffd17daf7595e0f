// A step of the dual solver: distributes its units to tasks, which run on all threads.
#pragma once

#include <algorithm>
#include <vector>

#include "dual/run.hpp"

namespace sx {

// Units [first, first + units) of a step, and the kernels that solve them.
template <class T>
struct DualShare {
    index_t first, units;
    const DualKernels<T>* kernels;
};

// A task runs until its hardest unit is done. If the difficulty of the columns differs, or if there
// are few columns per thread, narrow tasks take less time in total. The last units start first: if
// columns are ordered by their strength C, it usually increases.
template <class T>
std::vector<DualShare<T>> shares_of(const Engine& engine, const WorkingCopy<T>& X,
                                    const DualProblem& problem) {
    constexpr double hard = 3.0, differ = 3.0;  // C |x|^2, and its ratio between columns
    const DualKernels<T>* wide = &Engine::dual_of<T>(*engine.set);
    const DualKernels<T>* narrow = nullptr;
    if (engine.narrow && problem.unit_outputs() == 1 && X.rows().start)
        narrow = &Engine::dual_of<T>(*engine.narrow);
    const index_t units = problem.units(), outputs = problem.unit_outputs();
    const index_t each = (units + engine.threads - 1) / engine.threads;
    const index_t lanes = outputs == 1 ? wide->lanes : 1;
    double squares = 0;
    for (const double square : X.squares()) squares += square;
    squares /= std::max<double>(1.0, double(X.squares().size()));
    const index_t most = std::clamp<index_t>(most_units / outputs, 1, most_units);
    const index_t full = std::min(most, (each + lanes - 1) / lanes * lanes);
    std::vector<DualShare<T>> out;
    for (index_t end = units; end > 0; end = out.back().first) {
        const DualKernels<T>* kernels = narrow && each <= narrow->lanes ? narrow : wide;
        index_t count = std::min(end, kernels == wide ? full : narrow->lanes);
        if (narrow && kernels == wide) {
            const double* scale = problem.labels.scale;
            const auto model = [&](index_t unit) { return unit / problem.outputs; };
            const auto [low, high] =
                std::minmax_element(scale + model(end - count), scale + model(end - 1) + 1);
            if (*high * squares > hard && *high > differ * *low) {
                kernels = narrow;
                count = std::min(end, narrow->lanes);
            }
        }
        out.push_back({end - count, count, kernels});
    }
    return out;
}

// Improves every unit until it meets the step's stopping criterion.
template <class T>
void dual_step(const Engine& engine, const WorkingCopy<T>& X, const DualStep<T>& step,
               const DualForm<T>& form) {
    constexpr double work_of_row = 1e2;  // multiply-adds per row and column in all epochs
    const std::vector<DualShare<T>> shares = shares_of(engine, X, step.problem);
    const Strength strength = step.arrays.inverse_squares
                                  ? Strength{}
                                  : find_strong(X.rows(), [](index_t) { return 1.0; });
    const double work = work_of_row * double(X.order().size()) * step.problem.N();
    engine.loop(index_t(shares.size()), work, [&](index_t task, int) {
        const DualShare<T>& share = shares[task];
        DualRun<T> run(*share.kernels, X, step, form, strength, share.first, share.units);
        const index_t rows = run.run();
        engine.read->forward += rows;
        engine.read->backward += rows;
    });
}

}  // namespace sx
