// Steps of a gradient rule, and an epoch of mini-batches.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "gradient/lazy_epoch.hpp"
#include "gradient/rule_state.hpp"
#include "objective/pass.hpp"

namespace sx {

template <class T>
class RuleStepper {
  public:
    RuleStepper(const Engine& engine, const RuleState<T>& p, index_t features, index_t models,
                index_t outputs)
        : engine_(engine),
          k_(engine.kernels<T>()),
          p_(p),
          features_(features),
          outputs_(outputs),
          N_(models * outputs) {
        const auto spread = [&](const double* per_model) {
            std::vector<T> out(N_);
            for (index_t c = 0; c < N_; ++c) out[c] = per_model ? T(per_model[c / outputs]) : T(0);
            return out;
        };
        rate_ = spread(p.rate);
        momentum_ = spread(p.momentum);
        l1_ = spread(p.l1);
        l2_ = spread(p.l2);
        zero_ = bias_slope_ = spread(nullptr);
        for (index_t m = 0; m < models; ++m) rates_change_ |= p.rate_changes(m);
    }

    // Makes step number `count` (from 1), given the gradient G (features, ldg), gb (N) of the loss.
    // Moves all features, or those where `moving` (features) is true.
    void step(const T* G, index_t ldg, const T* gb, std::int64_t count,
              const bool* moving = nullptr) {
        if (rates_change_) set_rates(count);
        RuleStep<T> at = weights(G, ldg);
        at.correction1 = T(1 / (1 - std::pow(p_.beta1, double(count))));
        at.correction2 = T(1 / (1 - std::pow(p_.beta2, double(count))));
        constexpr index_t block = 64;
        engine_.loop((features_ + block - 1) / block, 4.0 * features_ * N_, [&](index_t task, int) {
            const index_t end = std::min(features_, (task + 1) * block);
            if (!moving) return k_.step(at, task * block, end);
            for (index_t j = task * block; j < end; ++j)
                if (moving[j]) k_.step(at, j, j + 1);
        });
        if (p_.free_bias) {
            at.W = p_.b;
            at.V = p_.Vb;
            at.M = p_.Mb;
            for (index_t c = 0; c < N_; ++c) bias_slope_[c] = T(p_.bias_rate) * gb[c];
            at.G = bias_slope_.data();
            at.l1 = at.l2 = zero_.data();
            at.factors = nullptr;
            k_.step(at, 0, 1);
        }
        if (p_.AW) average(count);
    }

    // Computes the penalty and the squared norm of the smallest subgradient of every column, bias
    // included.
    void measure(const T* G, const T* gb, double* penalty, double* norm) {
        const RuleStep<T> at = weights(G, N_);
        constexpr index_t block = measured_columns;
        engine_.loop((N_ + block - 1) / block, 4.0 * features_ * N_, [&](index_t task, int) {
            k_.measure(at, features_, task * block, std::min(N_, (task + 1) * block), penalty,
                       norm);
        });
        if (!p_.free_bias) return;
        for (index_t c = 0; c < N_; ++c) norm[c] += double(gb[c]) * double(gb[c]);
    }

  private:
    void set_rates(std::int64_t count) {
        for (index_t c = 0; c < N_; ++c) {
            const index_t m = c / outputs_;
            rate_[c] = T(p_.rate[m] / p_.rate_divisor(m, count));
        }
    }

    // Averages the weights of all steps from `average_from` on; before it, copies the weights.
    void average(std::int64_t count) {
        std::vector<T> share(N_);
        for (index_t c = 0; c < N_; ++c) share[c] = p_.share_of_step(c / outputs_, count);
        constexpr index_t block = 64;
        const auto move = [&](T* mean, const T* w) {
            for (index_t c = 0; c < N_; ++c) mean[c] += share[c] * (w[c] - mean[c]);
        };
        engine_.loop((features_ + block - 1) / block, 2.0 * features_ * N_, [&](index_t task, int) {
            for (index_t j = task * block; j < std::min(features_, (task + 1) * block); ++j)
                move(p_.AW + j * N_, p_.W + j * N_);
        });
        move(p_.Ab, p_.b);
    }

    RuleStep<T> weights(const T* G, index_t ldg) const {
        return {.rule = p_.rule,
                .columns = N_,
                .W = p_.W,
                .V = p_.VW,
                .M = p_.MW,
                .G = G,
                .ldg = ldg,
                .rate = rate_.data(),
                .momentum = momentum_.data(),
                .l1 = l1_.data(),
                .l2 = l2_.data(),
                .factors = p_.factors,
                .factor_row = p_.factors_per_column ? N_ : 1,
                .factor_column = p_.factors_per_column ? 1 : 0,
                .beta1 = T(p_.beta1),
                .beta2 = T(p_.beta2),
                .epsilon = T(p_.epsilon),
                .correction1 = T(1),
                .correction2 = T(1)};
    }

    const Engine engine_;
    const Kernels<T>& k_;
    const RuleState<T>& p_;
    index_t features_, outputs_, N_;
    bool rates_change_ = false;
    std::vector<T> rate_, momentum_, l1_, l2_, zero_, bias_slope_;
};

// Runs one epoch of mini-batches. Each batch of `order` has m rows, the gradient n / (m S) sum s g,
// and one step of the rule. Returns the number of steps made so far.
template <class T>
std::int64_t descend_epoch(const Engine& engine, const Data& X, const Labels& labels,
                           const LossForm& form, const RuleState<T>& p, index_t models,
                           index_t outputs, const index_t* order, index_t count, index_t batch,
                           std::int64_t steps) {
    if (makes_lazy_steps(p, X, batch))
        return lazy_epoch(engine, X, labels, form, p, models, outputs, order, count, batch, steps);
    const Kernels<T>& k = engine.kernels<T>();
    const ModelColumns<T> w{p.W, p.b, models, outputs};
    const index_t N = w.N(), ldg = N == 1 ? 1 : k.padded(N);
    ObjectivePass<T> pass(engine, X);
    RuleStepper<T> stepper(engine, p, X.columns, models, outputs);
    Buffer<T> gradient;
    T* G = gradient.reserve(X.columns * ldg + 1);
    std::vector<double> value(models), hits(models), gb(N), scale(models);
    std::vector<T> step_b(N);
    Labels scaled = labels;
    scaled.scale = scale.data();
    for (index_t first = 0; first < count; first += batch) {
        const index_t here = std::min(batch, count - first);
        for (index_t m = 0; m < models; ++m)
            scale[m] = labels.scale[m] * double(count) / double(here);
        std::fill_n(G, X.columns * ldg, T(0));
        std::fill(gb.begin(), gb.end(), 0.0);
        pass.value_gradient(w, scaled, form, order + first, here,
                            {value.data(), hits.data(), G, ldg, gb.data()});
        std::copy(gb.begin(), gb.end(), step_b.begin());
        stepper.step(G, ldg, step_b.data(), ++steps);
    }
    for (index_t m = 0; m < models && p.losses; ++m) p.losses[m] += value[m];
    return steps;
}

}  // namespace sx
