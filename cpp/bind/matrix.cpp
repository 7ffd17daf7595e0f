// Binds X, its products with many columns, and sums over arrays of the same shape.
#include "bind/matrix.hpp"

#include <stdexcept>

#include "matrix/canonical.hpp"
#include "matrix/products.hpp"
#include "matrix/row_sums.hpp"

namespace sx {
namespace {

Type type_of(const Any& x) {
    const auto is = [&](auto sample) { return x.dtype() == nb::dtype<decltype(sample)>(); };
    if (is(float())) return Type::f32;
    if (is(double())) return Type::f64;
    if (is(std::int8_t())) return Type::i8;
    if (is(std::int16_t())) return Type::i16;
    if (is(std::int32_t())) return Type::i32;
    if (is(std::int64_t())) return Type::i64;
    if (is(std::uint8_t())) return Type::u8;
    if (is(std::uint16_t())) return Type::u16;
    if (is(std::uint32_t())) return Type::u32;
    if (is(std::uint64_t())) return Type::u64;
    if (is(bool())) return Type::boolean;
    throw std::invalid_argument("The kernels do not support this element type.");
}

// Whether all values are 1. Checks the first value first, which usually rules it out.
bool all_ones(const Any& value) {
    const auto are = [&](auto one) {
        const auto* x = static_cast<const decltype(one)*>(value.data());
        return x[0] == 1 && all_equal(engine(), x, index_t(value.size()));
    };
    if (value.size() == 0) return false;
    return type_of(value) == Type::f32 ? are(float()) : are(double());
}

template <class T>
void scores(const Matrix& X, In<T> W, In<T> b, Out<T> Z) {
    nb::gil_scoped_release release;
    MatrixProducts<T>(engine(), X.data)
        .scores({W.data(), b.data(), 1, index_t(b.size())}, nullptr, 0, X.data.rows, Z.data());
}

template <class T>
void transpose_times(const Matrix& X, In<T> U, Out<T> G) {
    nb::gil_scoped_release release;
    MatrixProducts<T>(engine(), X.data)
        .transpose_times(U.data(), index_t(U.shape(1) * U.shape(2)), G.data());
}

// Writes the sums of the columns of A (rows, width) to out (width).
template <class T>
void bind_column_sums(In<T> A, Out<double> out) {
    nb::gil_scoped_release release;
    column_sums<T>(engine(), A.data(), index_t(A.shape(0)), index_t(A.shape(1)), out.data());
}

template <class T>
double max_abs_of(In<T> x) {
    nb::gil_scoped_release release;
    return max_abs_of_all<T>(engine(), x.data(), index_t(x.size()));
}

// Uses all threads: the first write to newly allocated memory is slow.
template <class T>
void fill_zeros(Out<T> out) {
    constexpr index_t piece = 1 << 15;
    nb::gil_scoped_release release;
    const index_t count = index_t(out.size());
    engine().loop((count + piece - 1) / piece, double(count), [&](index_t task, int) {
        std::fill_n(out.data() + task * piece, std::min(piece, count - task * piece), T(0));
    });
}

template <class Index, class Value>
void bind_sort_rows(nb::module_& m) {
    m.def(
        "sort_rows",
        [](In<Index> start, In<Index> index, In<Value> value, std::int64_t columns,
           Out<Index> new_start, Out<Index> new_index, Out<Value> new_value) {
            nb::gil_scoped_release release;
            return sort_rows(engine(), index_t(start.size()) - 1, columns, start.data(),
                             index.data(), value.data(), new_start.data(), new_index.data(),
                             new_value.data());
        },
        "start"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "columns"_a,
        "new_start"_a.noconvert(), "new_index"_a.noconvert(), "new_value"_a.noconvert());
}

template <class Index>
void bind_check_row_order(nb::module_& m) {
    m.def(
        "check_row_order",
        [](In<Index> start, In<Index> index, std::int64_t columns) {
            nb::gil_scoped_release release;
            return check_row_order(engine(), index_t(start.size()) - 1, columns,
                                   index_t(index.size()), start.data(), index.data());
        },
        "start"_a.noconvert(), "index"_a.noconvert(), "columns"_a);
}

template <class T>
void bind_type(nb::module_& m) {
    m.def("scores", &scores<T>, "X"_a.noconvert(), "W"_a.noconvert(), "b"_a.noconvert(),
          "Z"_a.noconvert());
    m.def("transpose_times", &transpose_times<T>, "X"_a.noconvert(), "U"_a.noconvert(),
          "G"_a.noconvert());
    m.def("column_sums", &bind_column_sums<T>, "A"_a.noconvert(), "out"_a.noconvert());
    m.def("max_abs", &max_abs_of<T>, "x"_a.noconvert());
    m.def("fill_zeros", &fill_zeros<T>, "out"_a.noconvert());
}

}  // namespace

Matrix Matrix::dense(Any X) {
    Matrix m;
    m.data.rows = static_cast<index_t>(X.shape(0));
    m.data.columns = static_cast<index_t>(X.shape(1));
    m.data.dense = {X.data(), type_of(X), m.data.rows, m.data.columns, X.stride(0), X.stride(1)};
    m.kept.push_back(std::move(X));
    return m;
}

Matrix Matrix::sparse(index_t rows, index_t columns) {
    Matrix m;
    m.data.sparse = true;
    m.data.rows = rows;
    m.data.columns = columns;
    return m;
}

void Matrix::set(bool by_feature, Any start, Any index, Any value, bool ordered) {
    CompressedView view{start.data(),
                        index.data(),
                        value.data(),
                        type_of(value),
                        start.dtype() == nb::dtype<std::int64_t>(),
                        by_feature ? data.columns : data.rows,
                        by_feature ? data.rows : data.columns,
                        all_ones(value),
                        ordered};
    (by_feature ? data.by_feature : data.by_sample) = view;
    (by_feature ? data.has_features : data.has_samples) = true;
    for (Any* array : {&start, &index, &value}) kept.push_back(std::move(*array));
}

void bind_matrix(nb::module_& m) {
    nb::class_<Matrix>(m, "Matrix")
        .def_static("dense", &Matrix::dense, "X"_a)
        .def_prop_ro("ones", &Matrix::ones)
        .def_prop_ro("ordered", &Matrix::ordered)
        .def_static("sparse", &Matrix::sparse, "rows"_a, "columns"_a)
        .def("set", &Matrix::set, "by_feature"_a, "start"_a, "index"_a, "value"_a, "ordered"_a)
        .def_prop_ro("has_samples", [](const Matrix& x) { return x.data.has_samples; })
        .def_prop_ro("has_features", [](const Matrix& x) { return x.data.has_features; });
    nb::enum_<RowOrder>(m, "RowOrder")
        .value("invalid", RowOrder::invalid)
        .value("duplicates", RowOrder::duplicates)
        .value("unsorted", RowOrder::unsorted)
        .value("sorted", RowOrder::sorted);
    bind_check_row_order<std::int32_t>(m);
    bind_check_row_order<std::int64_t>(m);
    bind_sort_rows<std::int32_t, float>(m);
    bind_sort_rows<std::int32_t, double>(m);
    bind_sort_rows<std::int64_t, float>(m);
    bind_sort_rows<std::int64_t, double>(m);
    bind_type<float>(m);
    bind_type<double>(m);
    m.attr("few_features") = Data::few_features;
}

}  // namespace sx
