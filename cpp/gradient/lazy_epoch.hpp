// An epoch of mini-batches whose steps cost the entries of the batch, not the width of the model.
//
// Problem    the same steps as with dense gradients, see rules.hpp.
// Given      X by samples, or a dense X. For lazy_adam, only numbers that are not zero are entries.
// On return  the weights and states after the epoch, with every feature up to date: the laziness
//            does not leave this file. Models are processed in groups of neighbours whose missed
//            steps are of the same kind; the groups are independent of each other.
// See        lazy_steps.hpp.
#pragma once

#include <algorithm>
#include <vector>

#include "gradient/batch_reader.hpp"
#include "gradient/lazy_columns.hpp"
#include "objective/labels.hpp"

namespace sx {

// Whether lazy steps are faster, or part of the rule. Depends on X and the size of the batch only:
// the bits of a model must not depend on its neighbours.
template <class T>
bool makes_lazy_steps(const RuleState<T>& p, const Data& X, index_t batch) {
    if (p.rule == Rule::lazy_adam) return true;
    if (p.rule == Rule::adam || X.rows == 0) return false;
    if (!X.sparse) return batch == 1;  // without the preparations of a product
    if (!X.has_samples) return false;
    constexpr double share = 0.25;  // of the features
    const double per_row = double(X.by_sample.offset(X.rows)) / double(X.rows);
    return double(batch) * per_row < share * double(X.columns);
}

// Makes the steps of one group of models, [first, last).
template <class T>
class LazyEpoch {
  public:
    LazyEpoch(const Engine& engine, const Data& X, const Labels& labels, const LossForm& form,
              const RuleState<T>& p, index_t models, index_t outputs, index_t first, index_t last)
        : engine_(engine),
          k_(engine.kernels<T>()),
          X_(X),
          form_(form),
          p_(p),
          models_(last - first),
          outputs_(outputs),
          labels_(labels.from_model(first)),
          reader_(X, p.rule == Rule::lazy_adam),
          group_(engine, p, X.columns, models, outputs, first, last),
          losses_(p.losses ? p.losses + first : nullptr),
          row_scale_(models_),
          zero_(group_.wide(), T(0)) {
        const index_t begin = first * outputs;
        bias_ = {{p.b, {}}, {p.Vb, {}}, {p.Mb, {}}, {p.Ab, {}}};
        for (Bias& part : bias_) {
            if (part.from) part.from += begin;
            part.row.assign(group_.wide(), T(0));
            if (part.from) std::copy_n(part.from, group_.g.columns, part.row.begin());
        }
        step_b_.resize(group_.wide());
        scratch_.resize(loss_scratch<T>(outputs));
        prepare_rules();
    }

    // Makes the steps of `order` after step `done` of the run.
    void run(const index_t* order, index_t count, index_t batch, std::int64_t done) {
        // A window bounds the tables of its steps. Its end costs one visit of every feature.
        constexpr index_t least_window = 1 << 14;
        const index_t window = std::max(least_window, X_.columns / 8) * batch;
        for (index_t row = 0; row < count; row += window) {
            const index_t rows = std::min(window, count - row), steps = (rows + batch - 1) / batch;
            group_.begin(done, steps);
            for (index_t t = 1; t <= steps; ++t) {
                const index_t first = (t - 1) * batch, here = std::min(batch, rows - first);
                const index_t* now = order + row + first;
                reader_.fetch(now + here, std::min(batch, count - row - first - here));
                step(now, here, count, t, done + t);
            }
            group_.finish(steps);
            group_.average(done, steps);
            done += steps;
        }
        for (Bias& part : bias_)
            if (part.from) std::copy_n(part.row.begin(), group_.g.columns, part.from);
    }

  private:
    struct Bias {
        T* from;
        std::vector<T> row;
    };

    // Step t of the window, step `number` of the run.
    void step(const index_t* rows, index_t here, index_t count, index_t t, std::int64_t number) {
        LazyColumns<T>& g = group_.g;
        const LazyBatch<T> batch = reader_.read(rows, here);
        group_.reserve(batch.slots);
        if (here * g.columns > index_t(scores_.size())) scores_.resize(here * g.columns);
        T* Z = scores_.data();
        k_.lazy_enter(g, batch, t - 1, bias_[0].row.data(), Z);
        replace_by_gradient(rows, here, count, Z);
        k_.lazy_gradient(g, batch, Z);
        sum_bias_gradient(Z, here);
        if (g.missed == Missed::scaled) {
            if (group_.shrink_scale(t)) settle(batch, t);
            group_.set_move(t);
            k_.lazy_leave(g, batch, t);
            group_.count_step(t);
        } else {
            step_features(batch, t, number);
            k_.lazy_leave(g, batch, t);
        }
        step_bias(t, number);
    }

    // Settles columns between the scores of a step and its move: the features of the batch are
    // written back unmoved, and read again.
    void settle(const LazyBatch<T>& batch, index_t t) {
        group_.set_move(0);
        k_.lazy_leave(group_.g, batch, t);
        k_.lazy_settle(group_.g, X_.columns);
        group_.reset_settled();
        const index_t start = 0;
        k_.lazy_enter(group_.g, {0, batch.slots, &start, nullptr, nullptr, batch.feature}, t,
                      nullptr, nullptr);
    }

    void replace_by_gradient(const index_t* rows, index_t here, index_t count, T* Z) {
        for (index_t m = 0; m < models_; ++m)
            row_scale_[m] = labels_.scale[m] * double(count) / double(here);
        const bool alone = here == 1;
        Labels near = alone ? labels_ : listed_.gather(labels_, models_, rows, here);
        near.scale = row_scale_.data();
        LossBlock<T> block =
            block_of(near, form_, alone ? rows[0] : 0, here, models_, outputs_, Z, scratch_.data());
        block.gradient = true;
        if (losses_) {
            values_.resize(here * models_);
            hits_.resize(here * models_);
            block.value = values_.data();
            block.hit = hits_.data();
        }
        engine_.set->loss->evaluate(form_.loss, block);
        for (index_t r = 0; r < here && losses_; ++r)
            for (index_t m = 0; m < models_; ++m) losses_[m] += values_[r * models_ + m];
    }

    void sum_bias_gradient(const T* U, index_t here) {
        const index_t columns = group_.g.columns;
        for (index_t c = 0; c < columns; ++c) {
            double sum = 0;
            for (index_t r = 0; r < here; ++r) sum += double(U[r * columns + c]);
            step_b_[c] = T(p_.bias_rate) * T(sum);
        }
    }

    // What does not change from step to step. Filling a RuleStep anew takes a tenth of a short
    // step.
    void prepare_rules() {
        const LazyColumns<T>& g = group_.g;
        RuleStep<T>& at = rule_;
        at.rule = p_.rule;
        at.columns = at.ldg = g.padded;
        at.momentum = g.momentum;
        at.l1 = g.l1;
        at.l2 = g.l2;
        at.factor_row = g.factor_column ? g.padded : 1;
        at.factor_column = g.factor_column;
        at.beta1 = T(p_.beta1);
        at.beta2 = T(p_.beta2);
        at.epsilon = T(p_.epsilon);
        bias_rule_ = at;
        bias_rule_.columns = bias_rule_.ldg = group_.wide();
        bias_rule_.W = bias_[0].row.data();
        bias_rule_.V = p_.Vb ? bias_[1].row.data() : nullptr;
        bias_rule_.M = p_.Mb ? bias_[2].row.data() : nullptr;
        bias_rule_.G = step_b_.data();
        bias_rule_.l1 = bias_rule_.l2 = zero_.data();
    }

    // Sets the rates of step t of the window, which is step `number` of the run.
    void set_step(RuleStep<T>& at, index_t t, std::int64_t number) const {
        at.rate = group_.rates(t);
        if (!p_.MW) return;
        at.correction1 = T(1 / (1 - std::pow(p_.beta1, double(number))));
        at.correction2 = T(1 / (1 - std::pow(p_.beta2, double(number))));
    }

    void step_features(const LazyBatch<T>& batch, index_t t, std::int64_t number) {
        const LazyColumns<T>& g = group_.g;
        set_step(rule_, t, number);
        rule_.W = g.batch_W;
        rule_.V = g.V ? g.batch_V : nullptr;
        rule_.M = g.M ? g.batch_M : nullptr;
        rule_.G = g.batch_G;
        rule_.factors = g.factors ? g.batch_factors : nullptr;
        k_.step(rule_, 0, batch.slots);
    }

    void step_bias(index_t t, std::int64_t number) {
        if (p_.free_bias) {
            set_step(bias_rule_, t, number);
            k_.step(bias_rule_, 0, 1);
        }
        if (!p_.Ab) return;
        for (index_t c = 0; c < group_.g.columns; ++c)
            bias_[3].row[c] +=
                p_.share_of_step(group_.model(c), number) * (bias_[0].row[c] - bias_[3].row[c]);
    }

    const Engine& engine_;
    const Kernels<T>& k_;
    const Data& X_;
    const LossForm& form_;
    const RuleState<T>& p_;
    const index_t models_, outputs_;
    const Labels labels_;
    BatchReader<T> reader_;
    LazyGroup<T> group_;
    ListedLabels listed_;
    double* const losses_;
    std::vector<double> row_scale_, values_, hits_;
    std::vector<T> zero_, step_b_, scratch_, scores_;
    RuleStep<T> rule_{}, bias_rule_{};
    std::vector<Bias> bias_;  // b, its states and its average, as rows of whole vectors
};

// Runs one epoch as in descend_epoch. Returns the number of steps made so far.
template <class T>
std::int64_t lazy_epoch(const Engine& engine, const Data& X, const Labels& labels,
                        const LossForm& form, const RuleState<T>& p, index_t models,
                        index_t outputs, const index_t* order, index_t count, index_t batch,
                        std::int64_t steps) {
    constexpr index_t most_columns = 32;
    std::vector<index_t> first = {0};
    for (index_t m = 1; m < models; ++m)
        if ((m + 1 - first.back()) * outputs > most_columns ||
            missed_steps(p, m) != missed_steps(p, first.back()))
            first.push_back(m);
    first.push_back(models);
    const index_t groups = index_t(first.size()) - 1;
    const double entries =
        X.sparse ? double(X.by_sample.offset(X.rows)) : double(X.rows) * X.columns;
    engine.loop(groups, 4.0 * entries * models * outputs, [&](index_t group, int) {
        LazyEpoch<T>(engine, X, labels, form, p, models, outputs, first[group], first[group + 1])
            .run(order, count, batch, steps);
    });
    engine.read->forward += count;
    engine.read->backward += count;
    return steps + (count + batch - 1) / batch;
}

}  // namespace sx
