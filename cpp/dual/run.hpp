// Runs one task of a step: epochs over the rows until all of its units meet the stopping criterion.
//
// Problem    per unit, max over U of -sum_i C_i conjugate(U_i) - |f W|^2 / 2 - the bias's part.
// Given      a step, and the units of the task.
// On return  duals whose estimated gap is below the limit, or that have used up their epochs.
// See        README.md for how the parts work together.
#pragma once

#include "dual/proximal_centres.hpp"
#include "dual/results.hpp"
#include "engine/shuffle.hpp"

namespace sx {

// Estimates the loss, divided by l2, at the scores whose gradients are the duals. It is known for
// cross-entropies only: -log(1 - a), where a is the sum of the alphas of the other classes. The
// duals of a hinge do not determine the loss.
template <class T>
class LossEstimate {
    static constexpr index_t every = 8;  // uses every 8th row, which is enough for a comparison
    static constexpr double far = 2.0;  // tolerance for changes of the loss since the last estimate
    static constexpr double nearly_one = 1.0 - 0x1p-53;

  public:
    explicit LossEstimate(const TaskState<T>& s) : s_(s), last_(s.task.units, unknown) {}

    // Discards the losses of the last epoch.
    void forget() { now_.clear(); }

    // The loss of a unit. Computed for all units at the first call after an epoch.
    double of(index_t u) {
        if (!s_.form.entropy) return unknown;
        if (now_.empty()) find();
        return last_[u] = now_[u];
    }

    // Whether an estimate is at most a fraction of the loss. Avoids computing the loss if the last
    // known loss already rules this out: the loss changes little at the end.
    bool is_share(index_t u, double estimate, double share) {
        return estimate <= far * share * last_[u] && estimate <= share * of(u);
    }

  private:
    static constexpr double unknown = std::numeric_limits<double>::infinity();

    void find() {
        const DualTask<T>& task = s_.task;
        std::vector<double> seen(task.units, 0.0);
        std::vector<T> row(task.width);
        now_.assign(task.units, 0.0);
        for (index_t i = 0; i < s_.n; i += every) {
            const T* kept = task.duals + i * task.width;
            if (s_.form.keeps_logit) s_.k.losses(kept, task.width, row.data());
            for (index_t u = 0; u < task.units; ++u) {
                const double s = double(task.s.at[i * task.s.row + (task.s.each ? u : 0)]);
                if (!(s > 0.0)) continue;
                if (!s_.form.keeps_logit) row[u] = T(of_outputs(i, u, kept));
                now_[u] += s * double(row[u]);
                seen[u] += s;
            }
        }
        for (index_t u = 0; u < task.units; ++u)
            now_[u] =
                seen[u] > 0.0 ? now_[u] / seen[u] * (s_.weight_sum[u] * s_.strength(u)) : unknown;
    }

    double of_outputs(index_t i, index_t u, const T* kept) {
        const index_t K = s_.task.outputs;
        outputs_.resize(K);
        s_.form.decode(s_.own_output(i, u), K, kept + u * K, outputs_.data());
        double others = 0;
        for (const double U : outputs_) others += std::max(U, 0.0);
        return -std::log1p(-std::min(others, nearly_one));
    }

    const TaskState<T>& s_;
    std::vector<double> now_, last_, outputs_;
};

template <class T>
class DualRun {
    // Number of epochs without progress after which a centre stops moving until the rows catch up,
    // and after which the step of a cross-entropy ends. Hinges can make progress again after longer
    // stalls.
    static constexpr index_t patience = 50, give_up_after = 200;
    static constexpr double progress = 1e-3;  // relative decrease that counts as progress
    static constexpr double quick = 0.3;      // pace (new gap / old gap) that needs no caution
    // The cost of an epoch over few rows: it still reads the mask of every row.
    static constexpr double least_visits = 1.0 / 64.0;
    // A unit takes a Newton step if at its current pace it would need at least this many more
    // epochs, and if the last Newton step has reduced the gap below this fraction. The first epochs
    // are excluded.
    static constexpr double epochs_of_newton = 8.0, gain_of_newton = 0.5;
    static constexpr index_t newton_after = 5, newton_every = 4;

  public:
    DualRun(const DualKernels<T>& kernels, const WorkingCopy<T>& X, const DualStep<T>& step,
            const DualForm<T>& form, const Strength& strength, index_t first, index_t units)
        : s_(kernels, X, step, form, first, units), centres_(s_, strength), losses_(s_) {
        s_.read_features(centres_.strong());
        s_.read_duals();
        centres_.locate();
        const index_t w = s_.padded_width();
        found_high_.assign(w, T(0));
        found_low_.assign(w, T(0));
        shrunk_.assign(w, 0);
        stalled_.assign(w, 0);
        for (std::vector<double>* a : {&gap_, &drift_, &slowest_, &last_, &before_})
            a->assign(w, 0.0);
        for (std::vector<double>* a : {&best_, &newton_from_})
            a->assign(w, std::numeric_limits<double>::infinity());
    }

    // Returns the number of rows visited. Each visit reads the row for its scores and for its
    // update.
    index_t run() {
        DualTask<T>& p = s_.task;
        const DualOptions& options = s_.step.options;
        std::vector<std::int32_t> order(s_.n_blocks());
        std::vector<double> visits(p.units, 0.0);
        double rows = 0.0;
        for (index_t epoch = 0; p.live; ++epoch) {
            shuffle(options.seed + std::uint64_t(epoch), order);
            s_.mark_blocks();
            std::fill(gap_.begin(), gap_.end(), 0.0);
            std::fill(found_high_.begin(), found_high_.end(), -s_.infinity);
            std::fill(found_low_.begin(), found_low_.end(), s_.infinity);
            double visited = 0.0;
            for (index_t u = 0; u < p.units; ++u) {
                visits[u] += std::max(s_.active_rows[u], s_.n * least_visits);
                if (p.live >> u & 1) visited = std::max(visited, s_.active_rows[u]);
            }
            rows += visited;
            s_.k.epoch(p, order.data(), s_.n_blocks(),
                       {gap_.data(), s_.dual_sums.data(), found_high_.data(), found_low_.data(),
                        shrunk_.data()});
            const bool first = options.first_step && epoch == 0;
            std::uint32_t newton = 0;
            losses_.forget();
            for (index_t u = 0; u < p.units; ++u) {
                if (!(p.live >> u & 1)) continue;
                close_epoch(u, first);
                if (is_done(u, first) || visits[u] >= double(options.max_epochs) * s_.rows_of[u])
                    p.live &= ~(1u << u);
                else if (pays_newton(u, epoch + 1))
                    newton |= 1u << u;
                before_[u] = std::exchange(last_[u], first ? 0.0 : estimate(u));
            }
            if (newton) newton_step(newton);
        }
        write_results(s_, centres_);
        return index_t(rows);
    }

  private:
    double& estimate(index_t u) { return s_.step.arrays.estimate[s_.first_unit + u]; }
    double limit(index_t u) const { return s_.step.options.limit[s_.first_unit + u]; }

    // Updates the centre, the estimate of the gap, and the bounds for the next epoch.
    void close_epoch(index_t u, bool first) {
        const double unbalanced = centres_.imbalance(u);
        const double now = gap_[u] + unbalanced;
        const bool better = now < (1.0 - progress) * best_[u];
        stalled_[u] = better || first ? 0 : stalled_[u] + 1;
        if (better && !first) best_[u] = now;
        // If the centre and the rows oscillate, the centre waits for the rows.
        const bool may_move = stalled_[u] < patience || gap_[u] <= unbalanced;
        const double score_change = centres_.update(u, may_move && !first);
        estimate(u) = now;
        s_.active_rows[u] -= double(std::exchange(shrunk_[u], 0));
        const T high = found_high_[u] > T(0) ? found_high_[u] : s_.infinity;
        const T low = found_low_[u] < T(0) ? found_low_[u] : -s_.infinity;
        s_.set_bounds(u, high, low);
        // Rows stay out of the working set while their slopes cannot have changed sign.
        drift_[u] += score_change;
        if (drift_[u] > double(std::min(high, -low))) {
            s_.unshrink(u);
            drift_[u] = 0.0;
        }
    }

    bool is_done(index_t u, bool first) {
        const double now = estimate(u);
        const double pace = std::max(slowest_[u], last_[u] > 0.0 ? now / last_[u] : 0.0);
        const bool near = !first && now <= limit(u) / caution(pace) &&
                          losses_.is_share(u, now, s_.step.options.loss_share / caution(pace));
        return near || (s_.form.entropy && stalled_[u] >= give_up_after);
    }

    // By how much the limit is divided. The estimate is collected over an epoch: the slower the
    // progress, the less precise it is at the end.
    double caution(double pace) const {
        if (!s_.form.keeps_logit) return 1.0;  // the goal already allows for that
        return std::max(1.0, pace * pace / (quick * quick));
    }

    // Whether a unit takes a Newton step after this many epochs.
    bool pays_newton(index_t u, index_t epochs) {
        if (!s_.form.keeps_logit || !s_.rows.start) return false;
        const double now = estimate(u);
        if (epochs < newton_after || (epochs - newton_after) % newton_every != 0) return false;
        const double pace = before_[u] > 0.0 ? std::sqrt(now / before_[u]) : 0.0;
        slowest_[u] = std::max(slowest_[u], std::min(pace, 1.0));
        if (now > gain_of_newton * newton_from_[u]) return false;
        const double goal = std::min(limit(u), s_.step.options.loss_share * losses_.of(u));
        const double left = std::log(goal / caution(slowest_[u]) / now) / std::log(slowest_[u]);
        if (slowest_[u] < 1.0 && left < epochs_of_newton) return false;
        newton_from_[u] = now;
        return true;
    }

    void newton_step(std::uint32_t units) {
        const DualTask<T>& p = s_.task;
        if (!newton_scratch_.data())
            newton_scratch_ =
                HugePages<T>(newton_scratch(s_.n, s_.rows.features, p.width) + s_.k.lanes);
        std::vector<double> residual(p.width, 0.0), ridge(p.width, 0.0), bias(p.width, 0.0),
            length(p.width, 0.0);
        for (index_t u = 0; u < p.units; ++u) {
            bias[u] = centres_.bias(u);
            ridge[u] = 1.0 / s_.bias_square(u);
            residual[u] = -s_.dual_sums[u] - (std::isinf(ridge[u]) ? 0.0 : bias[u] * ridge[u]);
        }
        s_.k.newton_step(p, {units, residual.data(), ridge.data(), bias.data(), s_.dual_sums.data(),
                             length.data(), newton_scratch_.data()});
        for (index_t u = 0; u < p.units; ++u) {
            if (!(units >> u & 1)) continue;
            if (length[u] == 0.0) newton_from_[u] = 0.0;  // no further Newton steps
            centres_.set_bias(u, bias[u]);
        }
    }

    TaskState<T> s_;
    ProximalCentres<T> centres_;
    LossEstimate<T> losses_;
    std::vector<T> found_high_, found_low_;
    std::vector<index_t> shrunk_, stalled_;
    std::vector<double> gap_;            // of the rows, in the last epoch
    std::vector<double> drift_;          // of the scores, since rows left the working set
    std::vector<double> best_;           // smallest estimate so far
    std::vector<double> last_, before_;  // estimates of the last two epochs
    std::vector<double> slowest_;  // largest (slowest) pace so far: estimate / previous estimate
    std::vector<double> newton_from_;  // the estimate before the last Newton step
    HugePages<T> newton_scratch_;
};

}  // namespace sx
