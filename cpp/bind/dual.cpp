// The dual solver: its working copy of X, and its steps.
#include "dual/dual.hpp"

#include <nanobind/stl/vector.h>

#include <vector>

#include "bind/matrix.hpp"

namespace sx {
namespace {

// The working copy of X for the dual solver, and what is done with it.
template <class T>
struct Dual {
    DualCopy<T> copy;

    static DualCopy<T> copy_of(const std::vector<Matrix*>& parts, const In<std::int64_t>& order,
                               const Maybe<In<double>>& origin) {
        std::vector<const Data*> data;
        for (const Matrix* part : parts) data.push_back(&part->data);
        nb::gil_scoped_release release;
        return {engine(), data, order.data(), index_t(order.size()),
                origin ? origin->data() : nullptr};
    }

    Dual(std::vector<Matrix*> parts, In<std::int64_t> order, Maybe<In<double>> origin)
        : copy(copy_of(parts, order, origin)) {}

    void step(int form, double margin, In<std::int32_t> y, Maybe<In<double>> s, In<double> strength,
              In<double> bias_square, Maybe<In<T>> steps, std::uint64_t key, index_t epochs,
              bool fresh, bool blank, In<double> limit, double share, Maybe<Out<T>> W,
              Out<double> b, Out<double> U, Out<double> estimate, Maybe<In<std::int32_t>> whose) {
        nb::gil_scoped_release release;
        dual_step<T>(engine(), copy,
                     {.form = DualForm(form),
                      .margin = margin,
                      .models = index_t(b.shape(0)),
                      .outputs = index_t(b.shape(1)),
                      .labels = labels_of(y, s, strength, whose),
                      .bias_square = bias_square.data(),
                      .steps = steps ? steps->data() : nullptr,
                      .key = key,
                      .epochs = epochs,
                      .fresh = fresh,
                      .blank = blank,
                      .limit = limit.data(),
                      .share = share,
                      .W = pointer(W),
                      .b = b.data(),
                      .U = U.data(),
                      .estimate = estimate.data()});
    }
};

template <class T>
void bind_type(nb::module_& m, const char* name) {
    nb::class_<Dual<T>>(m, name, nb::is_weak_referenceable())
        .def(nb::init<std::vector<Matrix*>, In<std::int64_t>, Maybe<In<double>>>(), "parts"_a,
             "order"_a.noconvert(), "origin"_a.none().noconvert())
        .def("step", &Dual<T>::step, "form"_a, "margin"_a, "y"_a.noconvert(),
             "s"_a.none().noconvert(), "strength"_a.noconvert(), "bias_square"_a.noconvert(),
             "steps"_a.none().noconvert(), "key"_a, "epochs"_a, "fresh"_a, "blank"_a,
             "limit"_a.noconvert(), "share"_a, "W"_a.none().noconvert(), "b"_a.noconvert(),
             "U"_a.noconvert(), "estimate"_a.noconvert(),
             "whose"_a.none().noconvert() = nb::none());
}

}  // namespace

void bind_dual(nb::module_& m) {
    bind_type<float>(m, "DualF32");
    bind_type<double>(m, "DualF64");
}

}  // namespace sx
