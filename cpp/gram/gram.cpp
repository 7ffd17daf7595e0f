// Compiled once for every instruction set. SX_ISA is the name of that set.
#include "gram/gram.hpp"

namespace sx {
inline namespace SX_ISA {

extern const GramKernels gram_kernels;
const GramKernels gram_kernels = {
    .widest = 4 * lanes<double>,
    .sparse = gram_sparse,
    .weigh = weigh_panels,
};

}  // namespace SX_ISA
}  // namespace sx
