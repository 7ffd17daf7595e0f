// Binds the coordinate solver's steps.
#include <vector>

#include "bind/matrix.hpp"
#include "coordinate/step.hpp"

namespace sx {
namespace {

// The state of a batch from which the coordinate solver steps. Keeps the arrays alive.
struct BoundStep {
    CoordinateStep step{};
    std::vector<nb::object> kept;

    BoundStep(In<double> W, In<double> b, In<double> G, In<double> gb, In<double> value,
              In<double> l1, In<double> l2, In<double> bias_ridge, Maybe<In<double>> factors,
              bool free_bias, Out<double> PW, Out<double> pb, Out<double> decrease) {
        step = {index_t(W.shape(0)),
                index_t(W.shape(1)),
                index_t(W.shape(2)),
                W.data(),
                b.data(),
                G.data(),
                gb.data(),
                value.data(),
                l1.data(),
                l2.data(),
                bias_ridge.data(),
                factors ? factors->data() : nullptr,
                factors && factors->ndim() > 1,
                free_bias,
                PW.data(),
                pb.data(),
                decrease.data()};
        for (auto* array : {&W, &b, &G, &gb, &value, &l1, &l2, &bias_ridge})
            kept.push_back(nb::cast(*array));
        for (auto* array : {&PW, &pb, &decrease}) kept.push_back(nb::cast(*array));
        if (factors) kept.push_back(nb::cast(*factors));
    }

    // values has shape (n, models, outputs); see RowValues.
    void by_columns(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                    int loss, In<double> values, In<double> least, In<double> origin,
                    Maybe<In<std::int32_t>> weight_column) {
        nb::gil_scoped_release release;
        const RowValues from(values.data(), least.data(), X.data.rows, step.models, step.outputs,
                             labels_of(y, s, scale, weight_column), LossForm(loss, 0.0));
        step_by_columns(engine(), X.data, from, step, origin.data());
    }

    // H has shape (models, blocks, order, order) and is overwritten.
    void by_hessian(Out<double> H) {
        nb::gil_scoped_release release;
        step_by_hessian(engine(), index_t(H.shape(1)), H.data(), step);
    }
};

}  // namespace

void bind_coordinate(nb::module_& m) {
    nb::class_<BoundStep>(m, "CoordinateStep")
        .def(nb::init<In<double>, In<double>, In<double>, In<double>, In<double>, In<double>,
                      In<double>, In<double>, Maybe<In<double>>, bool, Out<double>, Out<double>,
                      Out<double>>(),
             "W"_a.noconvert(), "b"_a.noconvert(), "G"_a.noconvert(), "gb"_a.noconvert(),
             "value"_a.noconvert(), "l1"_a.noconvert(), "l2"_a.noconvert(),
             "bias_ridge"_a.noconvert(), "factors"_a.none().noconvert(), "free_bias"_a,
             "PW"_a.noconvert(), "pb"_a.noconvert(), "decrease"_a.noconvert())
        .def("by_columns", &BoundStep::by_columns, "X"_a.noconvert(), "y"_a.noconvert(),
             "s"_a.none().noconvert(), "scale"_a.noconvert(), "loss"_a, "values"_a.noconvert(),
             "least"_a.noconvert(), "origin"_a.noconvert(),
             "weight_column"_a.none().noconvert() = nb::none())
        .def("by_hessian", &BoundStep::by_hessian, "H"_a.noconvert());
}

}  // namespace sx
