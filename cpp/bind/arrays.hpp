// Shared by all files of the Python module: array types, settings, labels and weights.
//
// The calling Python code checks shapes. nanobind checks types and must never convert an array,
// because results would then be written to the copy. The functions here turn arrays into pointers
// and release the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "engine/engine.hpp"
#include "objective/labels.hpp"

namespace sx {

namespace nb = nanobind;
using namespace nb::literals;

using Any = nb::ndarray<nb::numpy, nb::ro>;
template <class T>
using In = nb::ndarray<nb::numpy, const T, nb::c_contig>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::c_contig>;
template <class T>
using Maybe = std::optional<T>;

template <class Array>
auto pointer(const Maybe<Array>& array) {
    return array ? array->data() : nullptr;
}

// The threads and kernels for one call, as currently set.
Engine engine();

// The weights of the rows, with one factor per model.
Labels weights_of(const Maybe<In<double>>& s, const Maybe<In<std::int32_t>>& weight_column,
                  const double* scale = nullptr);

Labels labels_of(const In<std::int32_t>& y, const Maybe<In<double>>& s, const In<double>& scale,
                 const Maybe<In<std::int32_t>>& weight_column = {});

// Each function adds one group of functions and classes to the module.
void bind_settings(nb::module_& m);
void bind_matrix(nb::module_& m);
void bind_models(nb::module_& m);
void bind_objective(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_gradient(nb::module_& m);
void bind_coordinate(nb::module_& m);
void bind_dual(nb::module_& m);
void bind_gram(nb::module_& m);
void bind_svmlight(nb::module_& m);

}  // namespace sx
