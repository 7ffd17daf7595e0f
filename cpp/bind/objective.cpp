// Binds the value and gradient of the objective, and products of its Hessian with directions.
#include "bind/matrix.hpp"
#include "objective/pass.hpp"
#include "objective/weighted_rows.hpp"

namespace sx {
namespace {

template <class T>
void value_gradient(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                    int loss, double margin, In<T> W, In<T> b, Out<double> value, Out<double> hits,
                    Maybe<Out<T>> G, Out<double> gb, Maybe<In<std::int32_t>> weight_column,
                    Maybe<Out<T>> scores) {
    nb::gil_scoped_release release;
    const ModelColumns<T> w{W.data(), b.data(), index_t(b.shape(0)), index_t(b.shape(1))};
    ObjectivePass<T>(engine(), X.data)
        .value_gradient(w, labels_of(y, s, scale, weight_column), LossForm(loss, margin), nullptr,
                        X.data.rows,
                        {value.data(), hits.data(), pointer(G), w.N(), gb.data(), pointer(scores)});
}

template <class T>
void hessian_times(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                   int loss, double margin, In<T> Z, In<T> VW, In<T> Vb, Out<T> G, Out<double> gb,
                   Maybe<In<std::int32_t>> weight_column) {
    nb::gil_scoped_release release;
    const ModelColumns<T> v{VW.data(), Vb.data(), index_t(Vb.shape(0)), index_t(Vb.shape(1))};
    ObjectivePass<T>(engine(), X.data)
        .hessian_times(v, labels_of(y, s, scale, weight_column), LossForm(loss, margin), Z.data(),
                       G.data(), gb.data());
}

// Replaces V by d2loss(Z) V for every row. With of_ones, V is first filled with ones.
template <class T>
void apply_loss_hessian(int loss, double margin, In<std::int32_t> y, Maybe<In<double>> s,
                        In<double> scale, In<T> Z, Out<T> V, Maybe<In<std::int32_t>> weight_column,
                        bool of_ones) {
    nb::gil_scoped_release release;
    const index_t rows = Z.shape(0), models = Z.shape(1), outputs = Z.shape(2);
    const Labels labels = labels_of(y, s, scale, weight_column);
    const LossForm form(loss, margin);
    const Engine machine = engine();
    constexpr index_t block = 256, cost = 16;  // multiply-adds that cost as much as one exponential
    const index_t need = hessian_scratch<T>(outputs), N = models * outputs;
    Buffer<T> scratch;
    T* space = scratch.reserve(need * machine.threads);
    machine.loop(
        (rows + block - 1) / block, double(cost) * rows * N, [&](index_t task, int worker) {
            const index_t first = task * block, count = std::min(block, rows - first);
            if (of_ones) std::fill_n(V.data() + first * N, count * N, T(1));
            T* scores = const_cast<T*>(Z.data() + first * N);  // only read
            ObjectivePass<T>::apply_loss_hessian(machine, form.loss,
                                                 block_of(labels, form, first, count, models,
                                                          outputs, scores, space + worker * need),
                                                 V.data() + first * N);
        });
}

template <class T>
void bind_type(nb::module_& m) {
    m.def("value_gradient", &value_gradient<T>, "X"_a.noconvert(), "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "loss"_a, "margin"_a, "W"_a.noconvert(),
          "b"_a.noconvert(), "value"_a.noconvert(), "hits"_a.noconvert(), "G"_a.none().noconvert(),
          "gb"_a.noconvert(), "weight_column"_a.none().noconvert() = nb::none(),
          "scores"_a.none().noconvert() = nb::none());
    m.def("hessian_times", &hessian_times<T>, "X"_a.noconvert(), "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "loss"_a, "margin"_a, "Z"_a.noconvert(),
          "VW"_a.noconvert(), "Vb"_a.noconvert(), "G"_a.noconvert(), "gb"_a.noconvert(),
          "weight_column"_a.none().noconvert() = nb::none());
    m.def("apply_loss_hessian", &apply_loss_hessian<T>, "loss"_a, "margin"_a, "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "Z"_a.noconvert(), "V"_a.noconvert(),
          "weight_column"_a.none().noconvert() = nb::none(), "of_ones"_a = false);
}

}  // namespace

// The weights of the rows, with one factor per model.
Labels weights_of(const Maybe<In<double>>& s, const Maybe<In<std::int32_t>>& weight_column,
                  const double* scale) {
    Labels out{nullptr, 0, 0, nullptr, 0, 0, nullptr, scale};
    if (!s) return out;
    const bool each = s->ndim() == 2;
    out.s = s->data();
    out.s_row = each ? s->shape(1) : 1;
    out.s_model = each ? 1 : 0;
    if (weight_column) out.weight_column = weight_column->data();
    return out;
}

Labels labels_of(const In<std::int32_t>& y, const Maybe<In<double>>& s, const In<double>& scale,
                 const Maybe<In<std::int32_t>>& weight_column) {
    Labels out = weights_of(s, weight_column, scale.data());
    out.y = y.data();
    out.y_row = y.ndim() == 2 ? y.shape(1) : 1;
    out.y_model = y.ndim() == 2 ? 1 : 0;
    return out;
}

void bind_objective(nb::module_& m) {
    bind_type<float>(m);
    bind_type<double>(m);
    m.def(
        "multiply_weights",
        [](In<double> U, Maybe<In<double>> s, In<double> factors, Out<double> out,
           Maybe<In<std::int32_t>> weight_column) {
            nb::gil_scoped_release release;
            multiply_weights(engine(), weights_of(s, weight_column, factors.data()), U.data(),
                             index_t(U.shape(0)), index_t(U.shape(1)), index_t(U.shape(2)),
                             out.data());
        },
        "U"_a.noconvert(), "s"_a.none().noconvert(), "factors"_a.noconvert(), "out"_a.noconvert(),
        "weight_column"_a.none().noconvert() = nb::none());
    m.def(
        "weighted_sums",
        [](In<double> U, Maybe<In<double>> s, bool sizes, Out<double> out,
           Maybe<In<std::int32_t>> weight_column) {
            nb::gil_scoped_release release;
            weighted_sums(engine(), weights_of(s, weight_column), U.data(), index_t(U.shape(0)),
                          index_t(U.shape(1)), index_t(U.shape(2)), sizes, out.data());
        },
        "U"_a.noconvert(), "s"_a.none().noconvert(), "sizes"_a, "out"_a.noconvert(),
        "weight_column"_a.none().noconvert() = nb::none());
    m.def(
        "are_valid_duals",
        [](In<double> U, Maybe<In<double>> s, Maybe<In<std::int32_t>> weight_column) {
            nb::gil_scoped_release release;
            return are_valid_duals(engine(), weights_of(s, weight_column), U.data(),
                                   index_t(U.shape(0)), index_t(U.shape(1)), index_t(U.shape(2)));
        },
        "U"_a.noconvert(), "s"_a.none().noconvert(),
        "weight_column"_a.none().noconvert() = nb::none());
}

}  // namespace sx
