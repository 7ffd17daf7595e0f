// The steps of the coordinate solver for a batch of models, one subproblem to a task.
#pragma once

#include "gradient_curvature.hpp"

namespace sx {

// Where a batch stands, and the penalty: W, G, PW (features, models, outputs), b, gb, pb (models,
// outputs), the rest one for each model; `factors` null, (features) or (features, models *
// outputs). PW and pb are written: the way to the minimum of the quadratic model; `fall` (models,
// outputs) is how much the objective falls along it to first order.
struct CoordinateStep {
    const double *W, *b, *G, *gb, *value, *l1, *l2, *bias_ridge;
    const double* factors;
    bool factors_per_column, free_bias;
    double *PW, *pb, *fall;
};

// The arrays of one subproblem, taken out of those of the batch and put back.
class OwnedSubproblem {
  public:
    OwnedSubproblem(const CoordinateStep& step, index_t features, index_t models, index_t outputs,
                    index_t m, index_t k0, index_t K, bool by_output)
        : step_(step), models_(models), outputs_(outputs), m_(m), k0_(k0), by_output_(by_output) {
        p = {features, K,       step.free_bias, step.value[m], nullptr,
             nullptr,  nullptr, nullptr,        nullptr,       0.0};
        const index_t count = (features + 1) * K;
        for (auto* array : {&w_, &g_, &ridge_, &threshold_, &x_}) array->resize(count);
        each([&](index_t j, index_t c, index_t at, index_t column) {
            const bool bias = j == features;
            const double f = bias || !step.factors     ? 1.0
                             : step.factors_per_column ? step.factors[at]
                                                       : step.factors[j];
            w_[c] = bias ? step.b[column] : step.W[at];
            g_[c] = bias ? step.gb[column] : step.G[at];
            ridge_[c] = bias ? step.bias_ridge[m] : step.l2[m] * f * f;
            threshold_[c] = bias ? 0.0 : step.l1[m] * f;
        });
        p.w = w_.data();
        p.g = g_.data();
        p.ridge = ridge_.data();
        p.threshold = threshold_.data();
        p.x = x_.data();
    }

    void put_back() const {
        each([&](index_t j, index_t c, index_t at, index_t column) {
            const bool bias = j == p.features;
            // From 0 to 0 by exactly nothing, and to 0 by exactly -w.
            (bias ? step_.pb[column] : step_.PW[at]) = x_[c] - w_[c];
        });
        step_.fall[m_ * outputs_ + k0_] = p.fall;
    }

    Subproblem p{};

  private:
    // Calls body(j, c, at, column) for every coordinate: its place here, in W and in b.
    template <class Body>
    void each(const Body& body) const {
        for (index_t j = 0; j <= p.features; ++j)
            for (index_t k = 0; k < p.outputs; ++k) {
                const index_t column = m_ * outputs_ + k0_ + k;
                const index_t c = by_output_ ? k * (p.features + 1) + j : j * p.outputs + k;
                body(j, c, j * models_ * outputs_ + column, column);
            }
    }

    const CoordinateStep& step_;
    index_t models_, outputs_, m_, k0_;
    bool by_output_;
    std::vector<double> w_, g_, ridge_, threshold_, x_;
};

// Calls solve(subproblem, m, k0) for every subproblem of the batch, each on one thread.
template <class Solve>
void each_subproblem(const Engine& engine, const LossGradient& from, const CoordinateStep& step,
                     index_t features, bool by_output, const Solve& solve) {
    const index_t parts = from.split() ? from.outputs : 1, K = from.outputs / parts;
    engine.loop(from.models * parts, 1e9, [&](index_t task, int) {
        const index_t m = task / parts, k0 = task % parts;
        OwnedSubproblem own(step, features, from.models, from.outputs, m, k0, K, by_output);
        solve(own.p, m, k0);
        own.put_back();
    });
}

// The columns of X where they lie, if a column's rows are neighbours and floats; otherwise of a
// copy that is kept with X.
inline ColumnsView columns_of(const Engine& engine, const Data& X) {
    if (X.sparse) return {true, X.by_feature, {}};
    const DenseView& from = X.dense;
    const bool floats = from.type == Type::f32 || from.type == Type::f64;
    if (floats && from.row_stride == 1) return {false, {}, from};
    const bool wide = from.type == Type::f64 || from.type == Type::i32 || from.type == Type::u32 ||
                      from.type == Type::i64 || from.type == Type::u64;
    const auto turn = [&]<class To>(To* to) {
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
    return {false, {}, X.turned(wide ? Type::f64 : Type::f32, [&](void* to) {
                if (wide)
                    turn(static_cast<double*>(to));
                else
                    turn(static_cast<float*>(to));
            })};
}

// By the columns of X: for wide data.
inline void step_by_columns(const Engine& engine, const Data& X, const LossGradient& from,
                            const CoordinateStep& step) {
    const ColumnsView columns = columns_of(engine, X);
    each_subproblem(engine, from, step, X.columns, false,
                    [&](Subproblem& p, index_t m, index_t k0) {
                        const OwnedRowCurvature rows(from, m, k0);
                        engine.set->coordinate->by_columns(columns, rows.view, p);
                    });
}

// By Gram matrices H (gram_columns, features + 1, features + 1): for few features.
inline void step_by_gram(const Engine& engine, index_t features, const double* H,
                         const LossGradient& from, const CoordinateStep& step) {
    const index_t order = features + 1, K = from.split() ? 1 : from.outputs;
    const index_t each =
        gram_columns(from) / (from.split() ? from.models * from.outputs : from.models);
    each_subproblem(engine, from, step, features, true, [&](Subproblem& p, index_t m, index_t k0) {
        const index_t first = (from.split() ? m * from.outputs + k0 : m) * each;
        std::vector<const double*> at(K * K, nullptr);
        for (index_t k = 0; k < K; ++k)
            for (index_t l = 0; l <= k; ++l) {
                if (from.coupling() == Coupling::apart && k != l) continue;
                const index_t pair = from.coupling() == Coupling::apart ? 0 : k * (k + 1) / 2 + l;
                at[k * K + l] = at[l * K + k] = H + (first + pair) * order * order;
            }
        engine.set->coordinate->by_gram({order, K, at.data()}, p);
    });
}

}  // namespace sx
