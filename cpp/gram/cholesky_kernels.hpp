// The kernels of Cholesky factorisation, the same for every instruction set.
#pragma once

#include "matrix/views.hpp"

namespace sx {

struct CholeskyKernels {
    index_t (*space)(index_t m);  // doubles of workspace that a factorisation of order m needs
    index_t scratch;              // bytes of scratch
    void (*factor)(double* A, index_t m, double* space, void* scratch);
    void (*solve)(const double* L, index_t m, double* x);
};

}  // namespace sx
