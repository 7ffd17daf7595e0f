// Binds the dual solver: the working copy of X, the problem, the options and the steps.
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <vector>

#include "bind/matrix.hpp"
#include "dual/step.hpp"

namespace sx {
namespace {

// The problem that every model of a batch solves. Keeps the arrays alive.
struct BoundProblem {
    int loss;
    double margin;
    In<std::int32_t> y;
    Maybe<In<double>> s;
    In<double> strength;     // (models): 1 / (S l2)
    In<double> bias_square;  // (models)
    Maybe<In<std::int32_t>> weight_column;

    DualProblem view(const Out<double>& b) const {
        return {.loss = LossForm(loss, margin),
                .models = index_t(b.shape(0)),
                .outputs = index_t(b.shape(1)),
                .labels = labels_of(y, s, strength, weight_column),
                .bias_square = bias_square.data()};
    }
};

struct BoundOptions {
    std::uint64_t seed;
    index_t max_epochs;
    bool first_step, from_zero;
    In<double> limit;  // (units)
    double loss_share;

    DualOptions view() const {
        return {.seed = seed,
                .max_epochs = max_epochs,
                .first_step = first_step,
                .from_zero = from_zero,
                .limit = limit.data(),
                .loss_share = loss_share};
    }
};

template <class T>
struct BoundCopy {
    WorkingCopy<T> copy;

    static WorkingCopy<T> copy_of(const std::vector<Matrix*>& parts, const In<std::int64_t>& order,
                                  const Maybe<In<double>>& origin) {
        std::vector<const Data*> data;
        for (const Matrix* part : parts) data.push_back(&part->data);
        nb::gil_scoped_release release;
        return {engine(), data, order.data(), index_t(order.size()), pointer(origin)};
    }

    BoundCopy(std::vector<Matrix*> parts, In<std::int64_t> order, Maybe<In<double>> origin)
        : copy(copy_of(parts, order, origin)) {}

    void step(const BoundProblem& problem, const BoundOptions& options,
              Maybe<In<T>> inverse_squares, Maybe<Out<T>> W, Out<double> b, Out<double> U,
              Out<double> estimate) {
        nb::gil_scoped_release release;
        const DualStep<T> step{
            problem.view(b),
            options.view(),
            {pointer(inverse_squares), pointer(W), b.data(), U.data(), estimate.data()}};
        const auto form = dual_form<T>(step.problem.loss, step.problem.outputs);
        if (!form) throw std::invalid_argument("The dual solver cannot be used with this loss.");
        dual_step<T>(engine(), copy, step, *form);
    }
};

// Marks the strong features of a sample of rows, whose squared values are given in float64. Returns
// whether they are few enough to be treated separately.
bool strong_features(const Matrix& squares, In<double> steps, Out<bool> strong) {
    nb::gil_scoped_release release;
    const Data& X = squares.data;
    const auto entries = [&](index_t i, const auto& take) {
        if (!X.sparse) {
            const double* row = static_cast<const double*>(X.dense.data) + i * X.dense.row_stride;
            for (index_t j = 0; j < X.columns; ++j) take(j, row[j * X.dense.column_stride]);
            return;
        }
        const CompressedView& A = X.by_sample;
        for (index_t k = A.offset(i); k < A.offset(i + 1); ++k)
            take(A.column(k), static_cast<const double*>(A.value)[k]);
    };
    const StrongSet set(X.rows, X.columns, entries, [&](index_t j) { return steps.data()[j]; }, 1);
    std::copy(set.is_strong.begin(), set.is_strong.end(), strong.data());
    return set.few;
}

template <class T>
void bind_type(nb::module_& m, const char* name) {
    using Copy = BoundCopy<T>;
    nb::class_<Copy>(m, name, nb::is_weak_referenceable())
        .def(nb::init<std::vector<Matrix*>, In<std::int64_t>, Maybe<In<double>>>(), "parts"_a,
             "order"_a.noconvert(), "origin"_a.none().noconvert())
        .def("step", &Copy::step, "problem"_a, "options"_a, "inverse_squares"_a.none().noconvert(),
             "W"_a.none().noconvert(), "b"_a.noconvert(), "U"_a.noconvert(),
             "estimate"_a.noconvert());
}

}  // namespace

void bind_dual(nb::module_& m) {
    using Form = DualForm<double>;
    nb::class_<Form>(m, "DualForm")
        .def_ro("coupled", &Form::coupled)
        .def_ro("entropy", &Form::entropy)
        .def_ro("shift_invariant", &Form::shift_invariant);
    m.def(
        "dual_form",
        [](int loss, index_t outputs) { return dual_form<double>(LossForm(loss, 0.0), outputs); },
        "loss"_a, "outputs"_a);
    m.def("strong_features", &strong_features, "squares"_a.noconvert(), "steps"_a.noconvert(),
          "strong"_a.noconvert());
    nb::class_<BoundProblem>(m, "DualProblem")
        .def(
            "__init__",
            [](BoundProblem* self, int loss, double margin, In<std::int32_t> y, Maybe<In<double>> s,
               In<double> strength, In<double> bias_square, Maybe<In<std::int32_t>> weight_column) {
                new (self) BoundProblem{loss, margin, y, s, strength, bias_square, weight_column};
            },
            nb::kw_only(), "loss"_a, "margin"_a, "y"_a.noconvert(), "s"_a.none().noconvert(),
            "strength"_a.noconvert(), "bias_square"_a.noconvert(),
            "weight_column"_a.none().noconvert());
    nb::class_<BoundOptions>(m, "DualOptions")
        .def(
            "__init__",
            [](BoundOptions* self, std::uint64_t seed, index_t max_epochs, bool first_step,
               bool from_zero, In<double> limit, double loss_share) {
                new (self) BoundOptions{seed, max_epochs, first_step, from_zero, limit, loss_share};
            },
            nb::kw_only(), "seed"_a, "max_epochs"_a, "first_step"_a, "from_zero"_a,
            "limit"_a.noconvert(), "loss_share"_a);
    bind_type<float>(m, "WorkingCopyF32");
    bind_type<double>(m, "WorkingCopyF64");
}

}  // namespace sx
