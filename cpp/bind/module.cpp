// The Python module `separatrix._core`. Only this folder uses nanobind.
#include "bind/arrays.hpp"

NB_MODULE(_core, m) {
    using namespace sx;
    m.doc() = "The native kernels of Separatrix.";
    bind_settings(m);
    bind_matrix(m);
    bind_models(m);
    bind_objective(m);
    bind_losses(m);
    bind_gradient(m);
    bind_coordinate(m);
    bind_dual(m);
    bind_gram(m);
    bind_svmlight(m);
}
