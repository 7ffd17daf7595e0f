// Binds the steps of the gradient rules and the perceptron.
#include <vector>

#include "bind/matrix.hpp"
#include "gradient/descent.hpp"
#include "gradient/perceptron.hpp"

namespace sx {
namespace {

// The state of a gradient rule for one batch of models. Keeps the arrays alive.
template <class T>
struct GradientRule {
    RuleState<T> p{};
    index_t features = 0, models = 0, outputs = 0;
    std::vector<nb::object> kept;

    GradientRule(int rule, Out<T> W, Out<T> b, Maybe<Out<T>> VW, Maybe<Out<T>> Vb, Maybe<Out<T>> MW,
                 Maybe<Out<T>> Mb, In<double> rate, In<double> momentum, In<double> l1,
                 In<double> l2, Maybe<In<T>> factors, double beta1, double beta2, double epsilon,
                 bool free_bias, Maybe<In<double>> shift, Maybe<In<double>> power, Maybe<Out<T>> AW,
                 Maybe<Out<T>> Ab, Maybe<In<std::int64_t>> average_from, double bias_rate) {
        features = W.shape(0);
        models = b.shape(0);
        outputs = b.shape(1);
        p = {.rule = Rule(rule),
             .W = W.data(),
             .b = b.data(),
             .VW = pointer(VW),
             .Vb = pointer(Vb),
             .MW = pointer(MW),
             .Mb = pointer(Mb),
             .rate = rate.data(),
             .momentum = momentum.data(),
             .l1 = l1.data(),
             .l2 = l2.data(),
             .shift = pointer(shift),
             .power = pointer(power),
             .AW = pointer(AW),
             .Ab = pointer(Ab),
             .average_from = pointer(average_from),
             .factors = pointer(factors),
             .factors_per_column = factors && factors->ndim() > 1,
             .beta1 = beta1,
             .beta2 = beta2,
             .epsilon = epsilon,
             .free_bias = free_bias,
             .bias_rate = bias_rate};
        const auto keep = [&](auto& array) { kept.push_back(nb::cast(array)); };
        keep(W), keep(b), keep(rate), keep(momentum), keep(l1), keep(l2);
        for (auto* array : {&VW, &Vb, &MW, &Mb, &AW, &Ab})
            if (*array) keep(**array);
        for (auto* array : {&shift, &power})
            if (*array) keep(**array);
        if (factors) keep(*factors);
        if (average_from) keep(*average_from);
    }

    void step(In<T> G, In<T> gb, std::int64_t count, Maybe<In<bool>> moving) {
        nb::gil_scoped_release release;
        RuleStepper<T>(engine(), p, features, models, outputs)
            .step(G.data(), models * outputs, gb.data(), count, pointer(moving));
    }

    std::int64_t epoch(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                       int loss, double margin, In<std::int64_t> order, index_t batch,
                       std::int64_t steps, Maybe<In<std::int32_t>> weight_column,
                       Maybe<Out<double>> losses) {
        nb::gil_scoped_release release;
        p.losses = pointer(losses);
        return descend_epoch<T>(engine(), X.data, labels_of(y, s, scale, weight_column),
                                LossForm(loss, margin), p, models, outputs, order.data(),
                                index_t(order.size()), batch, steps);
    }
};

// Adds the penalty and the squared gradient norm of each model to penalty and norm (models).
template <class T>
void penalty_and_gradient_norm(In<T> W, In<T> G, In<T> gb, In<double> l1, In<double> l2,
                               Maybe<In<T>> factors, bool free_bias, Out<double> penalty,
                               Out<double> norm) {
    nb::gil_scoped_release release;
    const index_t models = gb.shape(0), outputs = gb.shape(1);
    RuleState<T> p{};
    p.W = const_cast<T*>(W.data());  // only read
    p.l1 = l1.data();
    p.l2 = l2.data();
    p.factors = factors ? factors->data() : nullptr;
    p.factors_per_column = factors && factors->ndim() > 1;
    p.free_bias = free_bias;
    std::vector<double> column_penalty(models * outputs), column_norm(models * outputs);
    RuleStepper<T>(engine(), p, index_t(W.shape(0)), models, outputs)
        .measure(G.data(), gb.data(), column_penalty.data(), column_norm.data());
    for (index_t c = 0; c < models * outputs; ++c) {
        penalty.data()[c / outputs] += column_penalty[c];
        norm.data()[c / outputs] += column_norm[c];
    }
}

template <class T>
void perceptron(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                In<std::int64_t> order, Out<T> W, Out<T> b, bool free_bias,
                Out<std::int64_t> mistakes, Maybe<In<std::int32_t>> weight_column) {
    nb::gil_scoped_release release;
    perceptron_epoch<T>(engine(), X.data, labels_of(y, s, scale, weight_column), order.data(),
                        W.data(), b.data(), index_t(b.shape(0)), index_t(b.shape(1)), free_bias,
                        mistakes.data());
}

template <class T>
void bind_type(nb::module_& m, const char* rules) {
    m.def("perceptron_epoch", &perceptron<T>, "X"_a.noconvert(), "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "order"_a.noconvert(), "W"_a.noconvert(),
          "b"_a.noconvert(), "free_bias"_a, "mistakes"_a.noconvert(),
          "weight_column"_a.none().noconvert() = nb::none());
    m.def("penalty_and_gradient_norm", &penalty_and_gradient_norm<T>, "W"_a.noconvert(),
          "G"_a.noconvert(), "gb"_a.noconvert(), "l1"_a.noconvert(), "l2"_a.noconvert(),
          "factors"_a.none().noconvert(), "free_bias"_a, "penalty"_a.noconvert(),
          "norm"_a.noconvert());
    nb::class_<GradientRule<T>>(m, rules)
        .def(nb::init<int, Out<T>, Out<T>, Maybe<Out<T>>, Maybe<Out<T>>, Maybe<Out<T>>,
                      Maybe<Out<T>>, In<double>, In<double>, In<double>, In<double>, Maybe<In<T>>,
                      double, double, double, bool, Maybe<In<double>>, Maybe<In<double>>,
                      Maybe<Out<T>>, Maybe<Out<T>>, Maybe<In<std::int64_t>>, double>(),
             "rule"_a, "W"_a.noconvert(), "b"_a.noconvert(), "VW"_a.none().noconvert(),
             "Vb"_a.none().noconvert(), "MW"_a.none().noconvert(), "Mb"_a.none().noconvert(),
             "rate"_a.noconvert(), "momentum"_a.noconvert(), "l1"_a.noconvert(), "l2"_a.noconvert(),
             "factors"_a.none().noconvert(), "beta1"_a, "beta2"_a, "epsilon"_a, "free_bias"_a,
             "shift"_a.none().noconvert() = nb::none(), "power"_a.none().noconvert() = nb::none(),
             "AW"_a.none().noconvert() = nb::none(), "Ab"_a.none().noconvert() = nb::none(),
             "average_from"_a.none().noconvert() = nb::none(), "bias_rate"_a = 1.0)
        .def("step", &GradientRule<T>::step, "G"_a.noconvert(), "gb"_a.noconvert(), "count"_a,
             "moving"_a.none().noconvert() = nb::none())
        .def("epoch", &GradientRule<T>::epoch, "X"_a.noconvert(), "y"_a.noconvert(),
             "s"_a.none().noconvert(), "scale"_a.noconvert(), "loss"_a, "margin"_a,
             "order"_a.noconvert(), "batch"_a, "steps"_a,
             "weight_column"_a.none().noconvert() = nb::none(),
             "losses"_a.none().noconvert() = nb::none());
}

}  // namespace

void bind_gradient(nb::module_& m) {
    bind_type<float>(m, "GradientRuleF32");
    bind_type<double>(m, "GradientRuleF64");
}

}  // namespace sx
