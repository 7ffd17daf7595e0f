// The Python module `separatrix._core`: the only file that knows nanobind. Shapes are checked by
// the Python that calls, types by nanobind, which must not convert: it would write results into a
// copy. Here arrays become pointers, and the GIL is released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "core/canonical.hpp"
#include "core/cholesky_pass.hpp"
#include "core/coordinate_pass.hpp"
#include "core/descent.hpp"
#include "core/dots.hpp"
#include "core/dual.hpp"
#include "core/flows.hpp"
#include "core/gram_pass.hpp"
#include "core/models.hpp"
#include "core/perceptron.hpp"
#include "core/svmlight.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace sx {
inline namespace baseline {
extern const KernelSet kernel_set;
}
#if defined(SX_HAVE_AVX2)
inline namespace avx2 {
extern const KernelSet kernel_set;
}
#endif
#if defined(SX_HAVE_AVX512)
inline namespace avx512 {
extern const KernelSet kernel_set;
}
#endif

namespace {

using Any = nb::ndarray<nb::numpy, nb::ro>;
template <class T>
using In = nb::ndarray<nb::numpy, const T, nb::c_contig>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::c_contig>;
template <class T>
using Maybe = std::optional<T>;

// The kernels this processor can run, best first.
std::vector<const KernelSet*> runnable() {
    std::vector<const KernelSet*> sets;
#if defined(SX_HAVE_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        sets.push_back(&avx512::kernel_set);
#endif
#if defined(SX_HAVE_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        sets.push_back(&avx2::kernel_set);
#endif
    sets.push_back(&baseline::kernel_set);
    return sets;
}

// What the user has set, read anew by every call.
struct Settings {
    std::atomic<int> threads{1};
    std::atomic<const KernelSet*> set{runnable().front()};
    RowsRead read;
};

Settings& settings() {
    static Settings* one = new Settings;  // never destroyed: threads may outlive static objects
    return *one;
}

// The kernels of half as many lanes that round as those of a set do.
const KernelSet* half_of(const KernelSet* set) {
#if defined(SX_HAVE_AVX512) && defined(SX_HAVE_AVX2)
    if (set == &avx512::kernel_set) return &avx2::kernel_set;
#endif
    return nullptr;
}

Engine engine() {
    const KernelSet* set = settings().set;
    return {settings().threads, set, half_of(set), &settings().read};
}

void use_instruction_set(const std::string& name) {
    for (const KernelSet* set : runnable())
        if (name == set->name) {
            settings().set = set;
            return;
        }
    throw std::invalid_argument("this processor cannot run the instruction set '" + name + "'");
}

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
    throw std::invalid_argument("this element type is not one the kernels read");
}

// Whether all of some values are 1. Mostly the first tells that they are not.
bool all_ones(const Any& value) {
    const auto are = [&](auto one) {
        const auto* x = static_cast<const decltype(one)*>(value.data());
        return x[0] == 1 && all_equal(engine(), x, index_t(value.size()));
    };
    if (value.size() == 0) return false;
    return type_of(value) == Type::f32 ? are(float()) : are(double());
}

// X, and the arrays it is a view of.
struct Matrix {
    Data data;
    std::vector<Any> kept;

    static Matrix dense(Any X) {
        Matrix m;
        m.data.rows = static_cast<index_t>(X.shape(0));
        m.data.columns = static_cast<index_t>(X.shape(1));
        m.data.dense = {X.data(),       type_of(X),  m.data.rows,
                        m.data.columns, X.stride(0), X.stride(1)};
        m.kept.push_back(std::move(X));
        return m;
    }

    static Matrix sparse(index_t rows, index_t columns) {
        Matrix m;
        m.data.sparse = true;
        m.data.rows = rows;
        m.data.columns = columns;
        return m;
    }

    // Whether all entries of a sparse X are known to be 1.
    bool ones() const { return (data.has_samples ? data.by_sample : data.by_feature).ones; }

    // Whether the entries of every row of X by samples are sorted.
    bool ordered() const { return !data.sparse || data.by_sample.ordered; }

    void set(bool by_feature, Any start, Any index, Any value, bool ordered) {
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
};

// The weights of the rows, with a factor of every model.
Labels weights_of(const Maybe<In<double>>& s, const Maybe<In<std::int32_t>>& whose,
                  const double* scale = nullptr) {
    Labels out{nullptr, 0, 0, nullptr, 0, 0, nullptr, scale};
    if (!s) return out;
    const bool each = s->ndim() == 2;
    out.s = s->data();
    out.s_row = each ? s->shape(1) : 1;
    out.s_model = each ? 1 : 0;
    if (whose) out.whose = whose->data();
    return out;
}

Labels labels_of(const In<std::int32_t>& y, const Maybe<In<double>>& s, const In<double>& scale,
                 const Maybe<In<std::int32_t>>& whose = {}) {
    Labels out = weights_of(s, whose, scale.data());
    out.y = y.data();
    out.y_row = y.ndim() == 2 ? y.shape(1) : 1;
    out.y_model = y.ndim() == 2 ? 1 : 0;
    return out;
}

template <class T>
T* pointer(const Maybe<Out<T>>& array) {
    return array ? array->data() : nullptr;
}

template <class T>
void scores(const Matrix& X, In<T> W, In<T> b, Out<T> Z) {
    nb::gil_scoped_release release;
    Pass<T>(engine(), X.data)
        .scores({W.data(), b.data(), 1, index_t(b.size())}, nullptr, 0, X.data.rows, Z.data());
}

template <class T>
void transpose_times(const Matrix& X, In<T> U, Out<T> G) {
    nb::gil_scoped_release release;
    Pass<T>(engine(), X.data).transpose_times(U.data(), index_t(U.shape(1) * U.shape(2)), G.data());
}

void factor(Out<double> A) {
    nb::gil_scoped_release release;
    factor_all(engine(), A.data(), index_t(A.shape(0)), index_t(A.shape(1)));
}

void solve(In<double> L, Out<double> x) {
    nb::gil_scoped_release release;
    solve_all(engine(), L.data(), index_t(L.shape(0)), index_t(L.shape(1)), x.data());
}

void gram(const Matrix& X, In<double> h, Maybe<In<double>> origin, Out<double> H) {
    nb::gil_scoped_release release;
    GramPass(engine(), X.data, origin ? origin->data() : nullptr)
        .run(h.data(), index_t(h.shape(1)), H.data());
}

template <class T>
void value_gradient(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                    int loss, double margin, In<T> W, In<T> b, Out<double> value, Out<double> hits,
                    Maybe<Out<T>> G, Out<double> gb, Maybe<In<std::int32_t>> whose,
                    Maybe<Out<T>> seen) {
    nb::gil_scoped_release release;
    const Columns<T> w{W.data(), b.data(), index_t(b.shape(0)), index_t(b.shape(1))};
    Pass<T>(engine(), X.data)
        .value_gradient(w, labels_of(y, s, scale, whose), LossForm(loss, margin), nullptr,
                        X.data.rows, value.data(), hits.data(), pointer(G), w.N(), gb.data(),
                        pointer(seen));
}

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
        here.kernels<T>().loss(form.loss, block);
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
void hessian_times(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                   int loss, double margin, In<T> Z, In<T> VW, In<T> Vb, Out<T> G, Out<double> gb,
                   Maybe<In<std::int32_t>> whose) {
    nb::gil_scoped_release release;
    const Columns<T> v{VW.data(), Vb.data(), index_t(Vb.shape(0)), index_t(Vb.shape(1))};
    Pass<T>(engine(), X.data)
        .hessian_times(v, labels_of(y, s, scale, whose), LossForm(loss, margin), Z.data(), G.data(),
                       gb.data());
}

// The second derivatives at Z times V, or times ones, in place of V, for every row alone.
template <class T>
void bend(int loss, double margin, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
          In<T> Z, Out<T> V, Maybe<In<std::int32_t>> whose, bool of_ones) {
    nb::gil_scoped_release release;
    const index_t rows = Z.shape(0), models = Z.shape(1), outputs = Z.shape(2);
    const Labels labels = labels_of(y, s, scale, whose);
    const LossForm form(loss, margin);
    const Engine machine = engine();
    constexpr index_t block = 256, cost = 16;  // multiply-adds that an exponential is worth
    const index_t need = curvature_scratch<T>(outputs), N = models * outputs;
    Buffer<T> scratch;
    T* space = scratch.reserve(need * machine.threads);
    machine.loop(
        (rows + block - 1) / block, double(cost) * rows * N, [&](index_t task, int worker) {
            const index_t first = task * block, count = std::min(block, rows - first);
            if (of_ones) std::fill_n(V.data() + first * N, count * N, T(1));
            Pass<T>::bend(machine, models, outputs, labels, form, first, count,
                          Z.data() + first * N, V.data() + first * N, space + worker * need);
        });
}

// Everything a gradient rule needs, bound to the arrays of one batch of models.
template <class T>
struct Rules {
    Descent<T> p{};
    index_t features = 0, models = 0, outputs = 0;
    std::vector<nb::object> kept;

    Rules(int rule, Out<T> W, Out<T> b, Maybe<Out<T>> VW, Maybe<Out<T>> Vb, Maybe<Out<T>> MW,
          Maybe<Out<T>> Mb, In<double> rate, In<double> momentum, In<double> l1, In<double> l2,
          Maybe<In<T>> factors, double beta1, double beta2, double epsilon, bool free_bias) {
        features = W.shape(0);
        models = b.shape(0);
        outputs = b.shape(1);
        p = {Rule(rule),
             W.data(),
             b.data(),
             pointer(VW),
             pointer(Vb),
             pointer(MW),
             pointer(Mb),
             rate.data(),
             momentum.data(),
             l1.data(),
             l2.data(),
             factors ? factors->data() : nullptr,
             factors && factors->ndim() > 1,
             beta1,
             beta2,
             epsilon,
             free_bias};
        const auto keep = [&](auto& array) { kept.push_back(nb::cast(array)); };
        keep(W), keep(b), keep(rate), keep(momentum), keep(l1), keep(l2);
        for (auto* array : {&VW, &Vb, &MW, &Mb})
            if (*array) keep(**array);
        if (factors) keep(*factors);
    }

    void step(In<T> G, In<T> gb, std::int64_t count) {
        nb::gil_scoped_release release;
        Stepper<T>(engine(), p, features, models, outputs)
            .step(G.data(), models * outputs, gb.data(), count);
    }

    std::int64_t epoch(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                       int loss, double margin, In<std::int64_t> order, index_t batch,
                       std::int64_t steps, Maybe<In<std::int32_t>> whose) {
        nb::gil_scoped_release release;
        return descend_epoch<T>(engine(), X.data, labels_of(y, s, scale, whose),
                                LossForm(loss, margin), p, models, outputs, order.data(),
                                index_t(order.size()), batch, steps);
    }
};

// Adds to penalty and norm (models) what the columns of each model amount to.
template <class T>
void measure(In<T> W, In<T> G, In<T> gb, In<double> l1, In<double> l2, Maybe<In<T>> factors,
             bool free_bias, Out<double> penalty, Out<double> norm) {
    nb::gil_scoped_release release;
    const index_t models = gb.shape(0), outputs = gb.shape(1);
    Descent<T> p{};
    p.W = const_cast<T*>(W.data());  // measured, never written
    p.l1 = l1.data();
    p.l2 = l2.data();
    p.factors = factors ? factors->data() : nullptr;
    p.factors_per_column = factors && factors->ndim() > 1;
    p.free_bias = free_bias;
    std::vector<double> column_penalty(models * outputs), column_norm(models * outputs);
    Stepper<T>(engine(), p, index_t(W.shape(0)), models, outputs)
        .measure(G.data(), gb.data(), column_penalty.data(), column_norm.data());
    for (index_t c = 0; c < models * outputs; ++c) {
        penalty.data()[c / outputs] += column_penalty[c];
        norm.data()[c / outputs] += column_norm[c];
    }
}

// out (width) = the sums of the columns of A (rows, width).
template <class T>
void sum_rows(In<T> A, Out<double> out) {
    nb::gil_scoped_release release;
    sum_all_rows<T>(engine(), A.data(), index_t(A.shape(0)), index_t(A.shape(1)), out.data());
}

template <class T>
double largest_size(In<T> x) {
    nb::gil_scoped_release release;
    return largest_of_all<T>(engine(), x.data(), index_t(x.size()));
}

template <class T>
void dots(In<T> W, In<T> b, In<T> V, In<T> c, Out<double> out) {
    nb::gil_scoped_release release;
    model_dots<T>(W.data(), b.data(), V.data(), c.data(), index_t(W.shape(0)), index_t(b.shape(0)),
                  index_t(b.shape(1)), out.data());
}

// Memory is touched on all threads, in order: where it is new, that is what takes time.
template <class T>
void clear(Out<T> out) {
    constexpr index_t piece = 1 << 15;
    nb::gil_scoped_release release;
    const index_t count = index_t(out.size());
    engine().loop((count + piece - 1) / piece, double(count), [&](index_t task, int) {
        std::fill_n(out.data() + task * piece, std::min(piece, count - task * piece), T(0));
    });
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
void perceptron(const Matrix& X, In<std::int32_t> y, Maybe<In<double>> s, In<double> scale,
                In<std::int64_t> order, Out<T> W, Out<T> b, bool free_bias,
                Out<std::int64_t> mistakes, Maybe<In<std::int32_t>> whose) {
    nb::gil_scoped_release release;
    perceptron_epoch<T>(engine(), X.data, labels_of(y, s, scale, whose), order.data(), W.data(),
                        b.data(), index_t(b.shape(0)), index_t(b.shape(1)), free_bias,
                        mistakes.data());
}

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
        const RowValues from{values.data(),      least.data(), X.data.rows,
                             step.models,        step.outputs, labels_of(y, s, scale, whose),
                             LossForm(loss, 0.0)};
        step_by_columns(engine(), X.data, from, step, origin.data());
    }

    // H (models, blocks, order, order) is written to.
    void by_hessian(Out<double> H) {
        nb::gil_scoped_release release;
        step_by_hessian(engine(), index_t(H.shape(1)), H.data(), step);
    }
};

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
void bind_dual(nb::module_& m, const char* name) {
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

template <class Index, class Value>
void bind_order(nb::module_& m) {
    m.def(
        "put_in_order",
        [](In<Index> start, In<Index> index, In<Value> value, std::int64_t columns,
           Out<Index> new_start, Out<Index> new_index, Out<Value> new_value) {
            nb::gil_scoped_release release;
            return put_in_order(engine(), index_t(start.size()) - 1, columns, start.data(),
                                index.data(), value.data(), new_start.data(), new_index.data(),
                                new_value.data());
        },
        "start"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert(), "columns"_a,
        "new_start"_a.noconvert(), "new_index"_a.noconvert(), "new_value"_a.noconvert());
}

template <class Index>
void bind_rows(nb::module_& m) {
    m.def(
        "look_over",
        [](In<Index> start, In<Index> index, std::int64_t columns) {
            nb::gil_scoped_release release;
            return look_over(engine(), index_t(start.size()) - 1, columns, index_t(index.size()),
                             start.data(), index.data());
        },
        "start"_a.noconvert(), "index"_a.noconvert(), "columns"_a);
}

template <class T>
void bind_type(nb::module_& m, const char* rules) {
    m.def("scores", &scores<T>, "X"_a.noconvert(), "W"_a.noconvert(), "b"_a.noconvert(),
          "Z"_a.noconvert());
    m.def("transpose_times", &transpose_times<T>, "X"_a.noconvert(), "U"_a.noconvert(),
          "G"_a.noconvert());
    m.def("value_gradient", &value_gradient<T>, "X"_a.noconvert(), "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "loss"_a, "margin"_a, "W"_a.noconvert(),
          "b"_a.noconvert(), "value"_a.noconvert(), "hits"_a.noconvert(), "G"_a.none().noconvert(),
          "gb"_a.noconvert(), "whose"_a.none().noconvert() = nb::none(),
          "seen"_a.none().noconvert() = nb::none());
    m.def("loss_values", &loss_values<T>, "loss"_a, "margin"_a, "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "Z"_a.noconvert(), "value"_a.noconvert(),
          "hits"_a.noconvert());
    m.def("hessian_times", &hessian_times<T>, "X"_a.noconvert(), "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "loss"_a, "margin"_a, "Z"_a.noconvert(),
          "VW"_a.noconvert(), "Vb"_a.noconvert(), "G"_a.noconvert(), "gb"_a.noconvert(),
          "whose"_a.none().noconvert() = nb::none());
    m.def("bend", &bend<T>, "loss"_a, "margin"_a, "y"_a.noconvert(), "s"_a.none().noconvert(),
          "scale"_a.noconvert(), "Z"_a.noconvert(), "V"_a.noconvert(),
          "whose"_a.none().noconvert() = nb::none(), "of_ones"_a = false);
    m.def("perceptron_epoch", &perceptron<T>, "X"_a.noconvert(), "y"_a.noconvert(),
          "s"_a.none().noconvert(), "scale"_a.noconvert(), "order"_a.noconvert(), "W"_a.noconvert(),
          "b"_a.noconvert(), "free_bias"_a, "mistakes"_a.noconvert(),
          "whose"_a.none().noconvert() = nb::none());
    m.def("measure", &measure<T>, "W"_a.noconvert(), "G"_a.noconvert(), "gb"_a.noconvert(),
          "l1"_a.noconvert(), "l2"_a.noconvert(), "factors"_a.none().noconvert(), "free_bias"_a,
          "penalty"_a.noconvert(), "norm"_a.noconvert());
    m.def("sum_rows", &sum_rows<T>, "A"_a.noconvert(), "out"_a.noconvert());
    m.def("largest", &largest_size<T>, "x"_a.noconvert());
    m.def("clear", &clear<T>, "out"_a.noconvert());
    m.def("split", &split<T>, "W"_a.noconvert(), "which"_a.noconvert(), "out"_a.noconvert());
    m.def("join", &join<T>, "parts"_a.noconvert(), "W"_a.noconvert());
    m.def("dots", &dots<T>, "W"_a.noconvert(), "b"_a.noconvert(), "V"_a.noconvert(),
          "c"_a.noconvert(), "out"_a.noconvert());
    nb::class_<Rules<T>>(m, rules)
        .def(nb::init<int, Out<T>, Out<T>, Maybe<Out<T>>, Maybe<Out<T>>, Maybe<Out<T>>,
                      Maybe<Out<T>>, In<double>, In<double>, In<double>, In<double>, Maybe<In<T>>,
                      double, double, double, bool>(),
             "rule"_a, "W"_a.noconvert(), "b"_a.noconvert(), "VW"_a.none().noconvert(),
             "Vb"_a.none().noconvert(), "MW"_a.none().noconvert(), "Mb"_a.none().noconvert(),
             "rate"_a.noconvert(), "momentum"_a.noconvert(), "l1"_a.noconvert(), "l2"_a.noconvert(),
             "factors"_a.none().noconvert(), "beta1"_a, "beta2"_a, "epsilon"_a, "free_bias"_a)
        .def("step", &Rules<T>::step, "G"_a.noconvert(), "gb"_a.noconvert(), "count"_a)
        .def("epoch", &Rules<T>::epoch, "X"_a.noconvert(), "y"_a.noconvert(),
             "s"_a.none().noconvert(), "scale"_a.noconvert(), "loss"_a, "margin"_a,
             "order"_a.noconvert(), "batch"_a, "steps"_a,
             "whose"_a.none().noconvert() = nb::none());
}

// A text in the svmlight format, and the array that holds it.
class Svmlight {
  public:
    explicit Svmlight(In<std::uint8_t> text) : kept_(std::move(text)) {
        nb::gil_scoped_release release;
        text_ = std::make_unique<svmlight::Text>(
            engine(), reinterpret_cast<const char*>(kept_.data()), kept_.size());
    }

    index_t lines() const { return text_->lines(); }
    index_t colons() const { return text_->colons(); }
    index_t line_of_row(index_t row) const { return text_->line_of_row(row); }

    // Returns rows, entries, the smallest and the largest index, whether an index does not fit
    // its type, and the problem, if any: its number, line and word.
    template <class Index>
    std::tuple<index_t, index_t, std::int64_t, std::int64_t, bool, int, index_t, nb::bytes> read(
        int base, bool zero_allowed, Out<double> labels, Out<Index> starts, Out<Index> indices,
        Out<double> values, Maybe<Out<std::int64_t>> qids) const {
        svmlight::Found found;
        {
            nb::gil_scoped_release release;
            found = text_->read<Index>(engine(),
                                       {labels.data(), starts.data(), indices.data(), values.data(),
                                        qids ? qids->data() : nullptr},
                                       base, zero_allowed);
        }
        return {found.rows,     found.entries,
                found.smallest, found.largest,
                found.wide,     static_cast<int>(found.problem),
                found.line,     nb::bytes(found.word.data(), found.word.size())};
    }

  private:
    In<std::uint8_t> kept_;
    std::unique_ptr<svmlight::Text> text_;
};

}  // namespace
}  // namespace sx

NB_MODULE(_core, m) {
    using namespace sx;
    m.doc() = "The native kernels of Separatrix.";
    nb::class_<Matrix>(m, "Matrix")
        .def_static("dense", &Matrix::dense, "X"_a)
        .def_prop_ro("ones", &Matrix::ones)
        .def_prop_ro("ordered", &Matrix::ordered)
        .def_static("sparse", &Matrix::sparse, "rows"_a, "columns"_a)
        .def("set", &Matrix::set, "by_feature"_a, "start"_a, "index"_a, "value"_a, "ordered"_a)
        .def_prop_ro("has_samples", [](const Matrix& x) { return x.data.has_samples; })
        .def_prop_ro("has_features", [](const Matrix& x) { return x.data.has_features; });
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
    const auto read_args = [](auto& svmlight, auto read) {
        svmlight.def("read", read, "base"_a, "zero_allowed"_a, "labels"_a.noconvert(),
                     "starts"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert(),
                     "qids"_a.none().noconvert());
    };
    nb::class_<Svmlight> svmlight(m, "Svmlight");
    svmlight.def(nb::init<In<std::uint8_t>>(), "text"_a.noconvert())
        .def_prop_ro("lines", &Svmlight::lines)
        .def_prop_ro("colons", &Svmlight::colons)
        .def("line_of_row", &Svmlight::line_of_row, "row"_a);
    read_args(svmlight, &Svmlight::read<std::int32_t>);
    read_args(svmlight, &Svmlight::read<std::int64_t>);
    m.def("factor", &factor, "A"_a.noconvert());
    m.def("solve", &solve, "L"_a.noconvert(), "x"_a.noconvert());
    m.def("gram", &gram, "X"_a.noconvert(), "h"_a.noconvert(), "origin"_a.none().noconvert(),
          "H"_a.noconvert());
    nb::enum_<Rows>(m, "Rows")
        .value("faulty", Rows::faulty)
        .value("repeated", Rows::repeated)
        .value("unordered", Rows::unordered)
        .value("in_order", Rows::in_order);
    bind_rows<std::int32_t>(m);
    bind_rows<std::int64_t>(m);
    bind_order<std::int32_t, float>(m);
    bind_order<std::int32_t, double>(m);
    bind_order<std::int64_t, float>(m);
    bind_order<std::int64_t, double>(m);
    bind_type<float>(m, "RulesF32");
    bind_type<double>(m, "RulesF64");
    bind_dual<float>(m, "DualF32");
    bind_dual<double>(m, "DualF64");
    m.def("set_threads", [](int threads) { settings().threads = threads; }, "threads"_a);
    m.attr("few_features") = Data::few_features;
    m.def("threads", [] { return settings().threads.load(); });
    m.def("instruction_set", [] { return std::string(engine().set->name); });
    m.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const KernelSet* set : runnable()) names.emplace_back(set->name);
        return names;
    });
    m.def(
        "weigh",
        [](In<double> U, Maybe<In<double>> s, In<double> factors, Out<double> out,
           Maybe<In<std::int32_t>> whose) {
            nb::gil_scoped_release release;
            weigh_rows(engine(), weights_of(s, whose, factors.data()), U.data(),
                       index_t(U.shape(0)), index_t(U.shape(1)), index_t(U.shape(2)), out.data());
        },
        "U"_a.noconvert(), "s"_a.none().noconvert(), "factors"_a.noconvert(), "out"_a.noconvert(),
        "whose"_a.none().noconvert() = nb::none());
    m.def(
        "sum_weighed",
        [](In<double> U, Maybe<In<double>> s, bool sizes, Out<double> out,
           Maybe<In<std::int32_t>> whose) {
            nb::gil_scoped_release release;
            sum_weighed_rows(engine(), weights_of(s, whose), U.data(), index_t(U.shape(0)),
                             index_t(U.shape(1)), index_t(U.shape(2)), sizes, out.data());
        },
        "U"_a.noconvert(), "s"_a.none().noconvert(), "sizes"_a, "out"_a.noconvert(),
        "whose"_a.none().noconvert() = nb::none());
    m.def(
        "usable",
        [](In<double> U, Maybe<In<double>> s, Maybe<In<std::int32_t>> whose) {
            nb::gil_scoped_release release;
            return is_usable(engine(), weights_of(s, whose), U.data(), index_t(U.shape(0)),
                             index_t(U.shape(1)), index_t(U.shape(2)));
        },
        "U"_a.noconvert(), "s"_a.none().noconvert(), "whose"_a.none().noconvert() = nb::none());
    m.def(
        "flow_sums",
        [](bool lifted, In<std::int32_t> y, In<double> s, In<double> U, Out<double> A) {
            nb::gil_scoped_release release;
            const bool each = s.ndim() == 2;
            flow_sums(engine(), duals_of(lifted, y, U), s.data(), each ? s.shape(1) : 1,
                      each ? 1 : 0, A.data());
        },
        "lifted"_a, "y"_a.noconvert(), "s"_a.noconvert(), "U"_a.noconvert(), "A"_a.noconvert());
    m.def(
        "scale_flows",
        [](bool lifted, In<std::int32_t> y, In<double> U, In<double> F, Out<double> out) {
            nb::gil_scoped_release release;
            scale_flows(engine(), duals_of(lifted, y, U), F.data(), out.data());
        },
        "lifted"_a, "y"_a.noconvert(), "U"_a.noconvert(), "F"_a.noconvert(), "out"_a.noconvert());
    m.def(
        "conjugate_costs",
        [](int loss, double margin, bool lifted, double tolerance, In<std::int32_t> y, In<double> U,
           Out<double> cost) {
            nb::gil_scoped_release release;
            conjugate_costs(engine(), duals_of(lifted, y, U), LossForm(loss, margin).loss, margin,
                            tolerance, cost.data());
        },
        "loss"_a, "margin"_a, "lifted"_a, "tolerance"_a, "y"_a.noconvert(), "U"_a.noconvert(),
        "cost"_a.noconvert());
    m.def("use_instruction_set", &use_instruction_set, "name"_a);
    m.def("rows_read", [] {
        return std::tuple<std::int64_t, std::int64_t>(settings().read.forward,
                                                      settings().read.backward);
    });
}
