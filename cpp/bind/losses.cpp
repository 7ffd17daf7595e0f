// Binds losses of scores, their conjugates, and sums of duals by pairs of classes.
#include "bind/arrays.hpp"
#include "engine/buffer.hpp"
#include "losses/class_duals.hpp"
#include "losses/conjugate.hpp"

namespace sx {
namespace {

template <class T>
void loss_values(int loss, double margin, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                 Out<T> Z, Out<double> value, Out<double> hits) {
    nb::gil_scoped_release release;
    const index_t outputs = Z.shape(2);
    const Labels labels = labels_of(y, s, scale);
    const LossForm form(loss, margin);
    const index_t rows = Z.shape(0), models = Z.shape(1), N = models * outputs;
    const Engine here = engine();
    for_slabs(here, rows, 16.0 * rows * N, [&](index_t, index_t i0, index_t i1) {
        Buffer<T> scratch;
        T* space = scratch.reserve(loss_scratch<T>(outputs));
        LossBlock<T> block =
            block_of(labels, form, i0, i1 - i0, models, outputs, Z.data() + i0 * N, space);
        block.value = value.data() + i0 * models;
        block.hit = hits.data() + i0 * models;
        block.gradient = true;
        here.set->loss->evaluate(form.loss, block);
    });
}

// Writes the softmax of Z (rows, models, outputs), and of one more score 0 if `lifted`, to P.
template <class T>
void bind_probabilities(bool lifted, In<T> Z, Out<T> P) {
    nb::gil_scoped_release release;
    const index_t outputs = Z.shape(2), classes = outputs + lifted;
    const index_t count = Z.shape(0) * Z.shape(1);
    const Engine here = engine();
    for_slabs(here, count, 16.0 * count * classes, [&](index_t, index_t first, index_t last) {
        Buffer<T> scratch;
        here.kernels<T>().probabilities(Z.data() + first * outputs, last - first, outputs, lifted,
                                        P.data() + first * classes,
                                        scratch.reserve(loss_scratch<T>(classes)));
    });
}

Duals duals_of(bool lifted, const In<std::int32_t>& y, const In<double>& U) {
    const bool own = y.ndim() == 2;
    const index_t width = own ? y.shape(1) : 1;
    return {index_t(U.shape(0)),
            index_t(U.shape(1)),
            index_t(U.shape(2)),
            lifted,
            y.data(),
            width,
            own ? 1 : 0,
            U.data()};
}

template <class T>
void bind_type(nb::module_& m) {
    m.def("loss_values", &loss_values<T>, "loss"_a, "margin"_a, "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "Z"_a.noconvert(), "value"_a.noconvert(),
          "hits"_a.noconvert());
    m.def("probabilities", &bind_probabilities<T>, "lifted"_a, "Z"_a.noconvert(),
          "P"_a.noconvert());
}

}  // namespace

void bind_losses(nb::module_& m) {
    bind_type<float>(m);
    bind_type<double>(m);
    m.def(
        "class_pair_sums",
        [](bool lifted, In<std::int32_t> y, In<double> s, In<double> U, Out<double> A) {
            nb::gil_scoped_release release;
            const bool each = s.ndim() == 2;
            class_pair_sums(engine(), duals_of(lifted, y, U), s.data(), each ? s.shape(1) : 1,
                            each ? 1 : 0, A.data());
        },
        "lifted"_a, "y"_a.noconvert(), "s"_a.noconvert(), "U"_a.noconvert(), "A"_a.noconvert());
    m.def(
        "scale_class_pairs",
        [](bool lifted, In<std::int32_t> y, In<double> U, In<double> F, Out<double> out) {
            nb::gil_scoped_release release;
            scale_class_pairs(engine(), duals_of(lifted, y, U), F.data(), out.data());
        },
        "lifted"_a, "y"_a.noconvert(), "U"_a.noconvert(), "F"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "class_duals",
        [](bool one_vs_rest, double room, In<double> shares, In<double> means, In<double> g,
           Out<double> e, Out<double> U, Out<double> V) {
            nb::gil_scoped_release release;
            ClassDuals{index_t(means.shape(0)),
                       index_t(shares.shape(0)),
                       index_t(shares.shape(1)),
                       index_t(g.shape(0)),
                       index_t(g.shape(1)),
                       one_vs_rest,
                       room,
                       shares.data(),
                       means.data(),
                       g.data(),
                       e.data(),
                       U.data(),
                       V.data()}
                .find();
        },
        "one_vs_rest"_a, "room"_a, "shares"_a.noconvert(), "means"_a.noconvert(), "g"_a.noconvert(),
        "e"_a.noconvert(), "U"_a.noconvert(), "V"_a.noconvert());
    m.def(
        "conjugate_values",
        [](int loss, double margin, bool lifted, double tolerance, In<std::int32_t> y, In<double> U,
           Out<double> cost) {
            nb::gil_scoped_release release;
            conjugate_values(engine(), duals_of(lifted, y, U), LossForm(loss, margin).loss, margin,
                             tolerance, cost.data());
        },
        "loss"_a, "margin"_a, "lifted"_a, "tolerance"_a, "y"_a.noconvert(), "U"_a.noconvert(),
        "cost"_a.noconvert());
}

}  // namespace sx
