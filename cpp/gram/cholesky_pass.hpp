// Many symmetric systems at once, each on one thread.
#pragma once

#include <vector>

#include "engine/buffer.hpp"
#include "engine/engine.hpp"

namespace sx {

// The lower triangles of A (count, m, m) become their Cholesky factors.
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

// x (count, m) becomes the solutions of L L^T x = x.
inline void cholesky_solve_all(const Engine& engine, const double* L, index_t count, index_t m,
                               double* x) {
    engine.loop(count, double(count) * m * m,
                [&](index_t i, int) { engine.set->cholesky->solve(L + i * m * m, m, x + i * m); });
}

}  // namespace sx
