// Cholesky factors and solutions of many systems in parallel, one thread per system.
#pragma once

#include <vector>

#include "engine/buffer.hpp"
#include "engine/engine.hpp"

namespace sx {

// Replaces the lower triangles of A (count, m, m) by their Cholesky factors.
inline void cholesky_factor_all(const Engine& engine, double* A, index_t count, index_t m) {
    const CholeskyKernels& k = *engine.set->cholesky;
    struct Space {
        Buffer<double> numbers;
        Buffer<char> scratch;
    };
    std::vector<Space> space(engine.threads);
    engine.loop(count, double(count) * m * m * m / 6, [&](index_t i, int worker) {
        Space& own = space[worker];
        k.factor(A + i * m * m, m, own.numbers.reserve(k.space(m)), own.scratch.reserve(k.scratch));
    });
}

// Replaces the right-hand sides x (count, m) by the solutions of L L^T y = x.
inline void cholesky_solve_all(const Engine& engine, const double* L, index_t count, index_t m,
                               double* x) {
    engine.loop(count, double(count) * m * m,
                [&](index_t i, int) { engine.set->cholesky->solve(L + i * m * m, m, x + i * m); });
}

}  // namespace sx
