// Binds splitting, joining and inner products of batched models.
#include "matrix/models.hpp"

#include <nanobind/stl/vector.h>

#include <vector>

#include "bind/arrays.hpp"
#include "matrix/inner_products.hpp"

namespace sx {
namespace {

template <class T>
void inner_products_of(In<T> W, In<T> b, In<T> V, In<T> c, Out<double> out) {
    nb::gil_scoped_release release;
    inner_products<T>(W.data(), b.data(), V.data(), c.data(), index_t(W.shape(0)),
                      index_t(b.shape(0)), index_t(b.shape(1)), out.data());
}

template <class T>
void split(In<T> W, In<std::int64_t> which, std::vector<Out<T>> out) {
    nb::gil_scoped_release release;
    std::vector<T*> each;
    for (const Out<T>& one : out) each.push_back(one.data());
    split_models<T>(engine(), W.data(), index_t(W.shape(0)), index_t(W.shape(1)),
                    index_t(W.shape(2)), which.data(), each);
}

template <class T>
void join(std::vector<In<T>> parts, Out<T> W) {
    nb::gil_scoped_release release;
    std::vector<const T*> each;
    std::vector<index_t> widths;
    for (const In<T>& part : parts) {
        each.push_back(part.data());
        widths.push_back(index_t(part.shape(1) * part.shape(2)));
    }
    join_models<T>(engine(), each, widths, index_t(W.shape(0)), W.data());
}

template <class T>
void bind_type(nb::module_& m) {
    m.def("split_models", &split<T>, "W"_a.noconvert(), "which"_a.noconvert(), "out"_a.noconvert());
    m.def("join_models", &join<T>, "parts"_a.noconvert(), "W"_a.noconvert());
    m.def("inner_products", &inner_products_of<T>, "W"_a.noconvert(), "b"_a.noconvert(),
          "V"_a.noconvert(), "c"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

void bind_models(nb::module_& m) {
    bind_type<float>(m);
    bind_type<double>(m);
}

}  // namespace sx
