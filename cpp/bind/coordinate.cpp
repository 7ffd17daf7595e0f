// Steps of the coordinate solver.
#include <vector>

#include "bind/matrix.hpp"
#include "coordinate/step.hpp"

namespace sx {
namespace {

// The state of a batch that the coordinate solver steps from, bound to its arrays.
struct Coordinates {
    CoordinateStep step{};
    std::vector<nb::object> kept;

    Coordinates(In<double> W, In<double> b, In<double> G, In<double> gb, In<double> value,
                In<double> l1, In<double> l2, In<double> bias_ridge, Maybe<In<double>> factors,
                bool free_bias, Out<double> PW, Out<double> pb, Out<double> fall) {
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
                fall.data()};
        for (auto* array : {&W, &b, &G, &gb, &value, &l1, &l2, &bias_ridge})
            kept.push_back(nb::cast(*array));
        for (auto* array : {&PW, &pb, &fall}) kept.push_back(nb::cast(*array));
        if (factors) kept.push_back(nb::cast(*factors));
    }

    // values (n, models, outputs): see RowValues.
    void by_columns(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                    int loss, In<double> values, In<double> least, In<double> origin,
                    Maybe<In<std::int32_t>> whose) {
        nb::gil_scoped_release release;
        const RowValues from(values.data(), least.data(), X.data.rows, step.models, step.outputs,
                             labels_of(y, s, scale, whose), LossForm(loss, 0.0));
        step_by_columns(engine(), X.data, from, step, origin.data());
    }

    // H (models, blocks, order, order) is written to.
    void by_hessian(Out<double> H) {
        nb::gil_scoped_release release;
        step_by_hessian(engine(), index_t(H.shape(1)), H.data(), step);
    }
};

}  // namespace

void bind_coordinate(nb::module_& m) {
    nb::class_<Coordinates>(m, "Coordinates")
        .def(nb::init<In<double>, In<double>, In<double>, In<double>, In<double>, In<double>,
                      In<double>, In<double>, Maybe<In<double>>, bool, Out<double>, Out<double>,
                      Out<double>>(),
             "W"_a.noconvert(), "b"_a.noconvert(), "G"_a.noconvert(), "gb"_a.noconvert(),
             "value"_a.noconvert(), "l1"_a.noconvert(), "l2"_a.noconvert(),
             "bias_ridge"_a.noconvert(), "factors"_a.none().noconvert(), "free_bias"_a,
             "PW"_a.noconvert(), "pb"_a.noconvert(), "fall"_a.noconvert())
        .def("by_columns", &Coordinates::by_columns, "X"_a.noconvert(), "y"_a.noconvert(),
             "s"_a.none().noconvert(), "scale"_a.noconvert(), "loss"_a, "values"_a.noconvert(),
             "least"_a.noconvert(), "origin"_a.noconvert(),
             "whose"_a.none().noconvert() = nb::none())
        .def("by_hessian", &Coordinates::by_hessian, "H"_a.noconvert());
}

}  // namespace sx
