// The steps of the coordinate solver for a batch of models, one subproblem per task.
#pragma once

#include "coordinate/row_curvature.hpp"
#include "engine/engine.hpp"
#include "matrix/data.hpp"

namespace sx {

// The current point of a batch: the weights, and the gradient of the objective without its L1 part.
// W, G, PW have shape (features, models, outputs), b, gb, pb (models, outputs), and the other
// arrays one number per model. `factors` is null, (features) or (features, models * outputs). The
// step writes PW and pb, the direction to the minimum of the quadratic, and `decrease` (models,
// outputs), the initial change of the objective along it.
struct CoordinateStep {
    index_t features, models, outputs;
    const double *W, *b, *G, *gb, *value, *l1, *l2, *bias_ridge;
    const double* factors;
    bool factors_per_column, free_bias;
    double *PW, *pb, *decrease;
};

// The arrays of one subproblem: outputs [k0, k0 + K) of model m, copied from the batch.
class OwnedSubproblem {
  public:
    OwnedSubproblem(const CoordinateStep& step, index_t m, index_t k0, index_t K, bool by_output)
        : step_(step), m_(m), k0_(k0), by_output_(by_output) {
        const index_t count = (step.features + 1) * K;
        for (auto* array : {&w_, &g_, &ridge_, &threshold_, &x_}) array->resize(count);
        p = {.features = step.features,
             .outputs = K,
             .free_bias = step.free_bias,
             .value = step.value[m],
             .w = w_.data(),
             .g = g_.data(),
             .threshold = threshold_.data(),
             .x = x_.data(),
             .decrease = 0,
             .workers = {alone, nullptr}};
        each([&](index_t j, index_t c, index_t at, index_t column) {
            if (j == step.features) {
                w_[c] = step.b[column];
                g_[c] = step.gb[column];
                ridge_[c] = step.bias_ridge[m];
                return;
            }
            const double f = !step.factors ? 1.0 : step.factors[step.factors_per_column ? at : j];
            w_[c] = step.W[at];
            g_[c] = step.G[at];
            ridge_[c] = step.l2[m] * f * f;
            threshold_[c] = step.l1[m] * f;
        });
    }

    const double* ridge() const { return ridge_.data(); }

    void put_back() const {
        each([&](index_t j, index_t c, index_t at, index_t column) {
            // A weight that becomes 0 moves by exactly -w.
            (j == step_.features ? step_.pb[column] : step_.PW[at]) = x_[c] - w_[c];
        });
        step_.decrease[m_ * step_.outputs + k0_] = p.decrease;
    }

    Subproblem p{};

  private:
    static void alone(const void*, index_t tasks, double, Workers::Task body, const void* of) {
        for (index_t task = 0; task < tasks; ++task) body(of, task);
    }

    // Calls body(j, c, at, column) for every coordinate: its feature, and its index in this
    // subproblem, in W and in b.
    template <class Body>
    void each(const Body& body) const {
        for (index_t j = 0; j <= p.features; ++j)
            for (index_t k = 0; k < p.outputs; ++k) {
                const index_t column = m_ * step_.outputs + k0_ + k;
                body(j, by_output_ ? k * (p.features + 1) + j : j * p.outputs + k,
                     j * step_.models * step_.outputs + column, column);
            }
    }

    const CoordinateStep& step_;
    index_t m_, k0_;
    bool by_output_;
    std::vector<double> w_, g_, ridge_, threshold_, x_;
};

inline void all_threads(const void* engine, index_t tasks, double multiply_adds, Workers::Task body,
                        const void* of) {
    static_cast<const Engine*>(engine)->loop(tasks, multiply_adds,
                                             [&](index_t task, int) { body(of, task); });
}

// Calls solve(subproblem, m, k0) for every model, or for every output if the outputs are separate
// subproblems, each in its own task. A single task may use all threads.
template <class Solve>
void each_subproblem(const Engine& engine, const CoordinateStep& step, index_t parts,
                     bool by_output, double multiply_adds, const Solve& solve) {
    engine.loop(step.models * parts, multiply_adds, [&](index_t task, int) {
        const index_t m = task / parts, k0 = task % parts;
        OwnedSubproblem own(step, m, k0, step.outputs / parts, by_output);
        if (step.models * parts == 1) own.p.workers = {all_threads, &engine};
        solve(own, m, k0);
        own.put_back();
    });
}

// Returns the columns of X in place if they are contiguous floats, otherwise in a copy that is kept
// with X.
inline ColumnsView columns_of(const Engine& engine, const Data& X) {
    if (X.sparse) return {true, X.by_feature, {}};
    const DenseView& from = X.dense;
    const bool floats = from.type == Type::f32 || from.type == Type::f64;
    if (floats && from.row_stride == 1) return {false, {}, from};
    const bool wide = from.type == Type::f64 || from.type == Type::i32 || from.type == Type::u32 ||
                      from.type == Type::i64 || from.type == Type::u64;
    const auto transpose = [&]<class To>(To* to) {
        constexpr index_t block = 64;
        engine.loop((X.rows + block - 1) / block, double(X.rows) * X.columns,
                    [&](index_t task, int) {
                        const index_t i0 = task * block, i1 = std::min(X.rows, i0 + block);
                        with_element_type(from.type, [&]<class Value>(Value) {
                            const Value* data = static_cast<const Value*>(from.data);
                            for (index_t j0 = 0; j0 < X.columns; j0 += block)
                                for (index_t j = j0; j < std::min(X.columns, j0 + block); ++j)
                                    for (index_t i = i0; i < i1; ++i)
                                        to[j * X.rows + i] =
                                            To(data[i * from.row_stride + j * from.column_stride]);
                        });
                    });
    };
    return {false, {}, X.column_major_copy(wide ? Type::f64 : Type::f32, [&](void* to) {
                if (wide)
                    transpose(static_cast<double*>(to));
                else
                    transpose(static_cast<float*>(to));
            })};
}

// Computes the step for wide data, with products of the Hessian from the columns of X. `origin`
// (features) is subtracted from the features for models with a free bias.
inline void step_by_columns(const Engine& engine, const Data& X, const RowValues& from,
                            const CoordinateStep& step, const double* origin) {
    const std::vector<double> zero(step.features);
    const ColumnsView columns = columns_of(engine, X);
    const double entries =
        X.sparse ? double(X.by_feature.offset(X.columns)) : double(X.rows) * double(X.columns);
    each_subproblem(engine, step, from.apart() ? step.outputs : 1, false,
                    entries * double(step.models * step.outputs),
                    [&](OwnedSubproblem& own, index_t m, index_t k0) {
                        const OwnedRowCurvature rows(from, m, k0);
                        const bool free = step.free_bias && step.bias_ridge[m] == 0;
                        engine.set->coordinate->by_columns(columns, free ? origin : zero.data(),
                                                           rows.view, own.ridge(), own.p);
                    });
}

// Computes the step from Hessian matrices H (models, blocks, order, order), which include the L2
// part. Each matrix is one subproblem.
inline void step_by_hessian(const Engine& engine, index_t blocks, double* H,
                            const CoordinateStep& step) {
    const index_t order = (step.features + 1) * step.outputs / blocks;
    each_subproblem(engine, step, blocks, true, 10.0 * double(step.models * blocks * order * order),
                    [&](OwnedSubproblem& own, index_t m, index_t k0) {
                        engine.set->coordinate->by_hessian(H + (m * blocks + k0) * order * order,
                                                           own.p);
                    });
}

}  // namespace sx
