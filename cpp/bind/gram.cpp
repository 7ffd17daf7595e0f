// Binds Gram matrices and Cholesky factors.
#include "bind/matrix.hpp"
#include "gram/cholesky_pass.hpp"
#include "gram/gram_pass.hpp"

namespace sx {
namespace {

void cholesky_factor(Out<double> A) {
    nb::gil_scoped_release release;
    cholesky_factor_all(engine(), A.data(), index_t(A.shape(0)), index_t(A.shape(1)));
}

void cholesky_solve(In<double> L, Out<double> x) {
    nb::gil_scoped_release release;
    cholesky_solve_all(engine(), L.data(), index_t(L.shape(0)), index_t(L.shape(1)), x.data());
}

void gram(const Matrix& X, In<double> h, Maybe<In<double>> origin, Out<double> H) {
    nb::gil_scoped_release release;
    GramPass(engine(), X.data, origin ? origin->data() : nullptr)
        .run(h.data(), index_t(h.shape(1)), H.data());
}

}  // namespace

void bind_gram(nb::module_& m) {
    m.def("cholesky_factor", &cholesky_factor, "A"_a.noconvert());
    m.def("cholesky_solve", &cholesky_solve, "L"_a.noconvert(), "x"_a.noconvert());
    m.def("gram", &gram, "X"_a.noconvert(), "h"_a.noconvert(), "origin"_a.none().noconvert(),
          "H"_a.noconvert());
}

}  // namespace sx
