// Minimises a quadratic plus thresholds, for one model.
//
// Problem    see Subproblem.
// Given      the quadratic in one of its forms.
// On return  an x near the minimum, precise enough for the outer line search.
// See        G.-X. Yuan, C.-H. Ho and C.-J. Lin, An improved GLMNET for L1-regularized logistic
//            regression, JMLR 2012, for the coordinate steps; H. Lee, A. Battle, R. Raina and A.
//            Ng, Efficient sparse coding algorithms, NIPS 2006, for the steps over a support.
#pragma once

#include "coordinate/quadratic_forms.hpp"
#include "matrix/sparse_product.hpp"

namespace sx {
inline namespace SX_ISA {

// When each phase ends. A change is a sum of curvature * step^2, about twice the decrease.
struct SearchLimits {
    index_t sweeps;      // maximum number
    double sweep_until;  // fraction of the first sweep's change
    double solve_below;  // change, relative to the objective, below which the support is solved
    index_t rounds;      // maximum number of rounds of solving and sweeping
    double round_until;  // fraction of the expected change
    index_t solves;      // maximum number in a round, while signs change
    double solve_until;  // fraction of the residual's norm
    index_t solve_steps;
};

constexpr double close_to_threshold = 0.9;
constexpr double slow = 0.5;  // fraction of the last sweep's change

template <class Form>
class CoordinateSearch {
  public:
    CoordinateSearch(Form& form, Subproblem& p, const SearchLimits& limits)
        : form_(form),
          p_(p),
          limits_(limits),
          x_(p.x),
          width_(form.width()),
          bound_(form.blocks() * width_),
          diagonal_(form.blocks() * width_),
          slope_(width_),
          delta_(width_),
          residual_(form.blocks() * width_),
          direction_(form.blocks() * width_),
          step_(form.blocks() * width_),
          working_(form.blocks()),
          active_(form.blocks()),
          support_(form.blocks() * width_) {}

    void run() {
        for (index_t c = 0; c < form_.blocks() * width_; ++c) x_[c] = p_.w[c];
        choose_working_set();
        const double expected = expected_change(), small = limits_.solve_below * p_.value;
        if (smooth_ || expected <= small || sweep_until_slow() <= small) solve_and_sweep(expected);
        p_.decrease = decrease();
    }

  private:
    bool is_bias(index_t block) const { return block % (p_.features + 1) == p_.features; }

    // Chooses the support and the coordinates whose slope exceeds their threshold, or all
    // coordinates if H is a matrix.
    void choose_working_set() {
        for (index_t block = 0; block < form_.blocks(); ++block) {
            if (is_bias(block) && !p_.free_bias) continue;
            bool in = Form::written_out;
            for (index_t c = block * width_; c < (block + 1) * width_; ++c) {
                const double threshold = p_.threshold[c];
                in |= p_.w[c] != 0 || threshold == 0 || !(__builtin_fabs(p_.g[c]) <= threshold);
                smooth_ &= threshold == 0;
            }
            if (!in) continue;
            working_[n_working_++] = block;
            const index_t c = block * width_;
            form_.curvature(block, diagonal_.get() + c, bound_.get() + c);
        }
    }

    // The change that a sweep would make if the steps did not affect each other.
    double expected_change() const {
        double change = 0;
        for (index_t a = 0; a < n_working_; ++a)
            for (index_t c = working_[a] * width_; c < (working_[a] + 1) * width_; ++c) {
                const double delta = minimum(c, p_.g[c]) - x_[c];
                change += bound_[c] * delta * delta;
            }
        return change;
    }

    // Returns the minimiser along one coordinate. Without curvature only the threshold counts.
    double minimum(index_t c, double slope) const {
        const double h = bound_[c], threshold = p_.threshold[c];
        if (!(h > 0)) return threshold > 0 && __builtin_fabs(slope) <= threshold ? 0.0 : x_[c];
        const double u = h * x_[c] - slope;
        return u > threshold ? (u - threshold) / h : u < -threshold ? (u + threshold) / h : 0.0;
    }

    // Sweeps over a shrinking set of blocks, until a sweep over all blocks changes little or the
    // sweeps improve too slowly. Returns the last change.
    double sweep_until_slow() {
        double first = 0, last = 0;
        bool all = true;
        for (index_t s = 0; s < limits_.sweeps; ++s) {
            const double change =
                all ? sweep(working_.get(), n_working_) : sweep(active_.get(), n_active_);
            if (s == 0) first = change;
            const bool little = change <= limits_.sweep_until * first;
            if ((little && all) || (s > 1 && !all && change > slow * last)) return change;
            all = little;
            last = change;
        }
        return last;
    }

    // Makes one step for every block in `list`, which may be `active`. Leaves in `active` the
    // blocks that are likely to move again.
    double sweep(const index_t* list, index_t count) {
        double change = 0;
        n_active_ = 0;
        for (index_t a = 0; a < count; ++a) {
            const index_t block = list[a];
            form_.slopes(block, slope_.get());
            bool moves = false, stays = false;
            for (index_t k = 0; k < width_; ++k) {
                const index_t c = block * width_ + k;
                const double next = minimum(c, slope_[k]);
                delta_[k] = next - x_[c];
                x_[c] = next;
                change += bound_[c] * delta_[k] * delta_[k];
                moves |= delta_[k] != 0;
                stays |=
                    next != 0 || __builtin_fabs(slope_[k]) >= close_to_threshold * p_.threshold[c];
            }
            if (moves) form_.move(block, delta_.get());
            if (form_.shift_invariant()) stays |= shift(block);
            if (stays) active_[n_active_++] = block;
        }
        return change;
    }

    // Shifts all outputs of a feature to the minimum of their penalty. Returns whether they moved.
    // Steps of single outputs would reach it slowly, because the outputs hold each other back.
    bool shift(index_t block) {
        double slope, curved, tiny = 0;
        form_.shift_slope(block, &slope, &curved);
        const index_t c0 = block * width_, c1 = c0 + width_;
        for (index_t c = c0; c < c1; ++c) tiny += 1e-12 * p_.threshold[c];
        if (tiny == 0 && curved == 0) return false;
        // The slope at a shift. An output that becomes 0 counts as if it were on the given side.
        const auto slope_at = [&](double at, double side) {
            double sum = slope + curved * at;
            for (index_t c = c0; c < c1; ++c)
                sum += p_.threshold[c] * (x_[c] + at == 0 ? side : sign(x_[c] + at));
            return sum;
        };
        const double side = slope_at(0, 1) < -tiny ? 1 : slope_at(0, -1) > tiny ? -1 : 0;
        if (side == 0) return false;
        double by = 0;  // distance in the direction `side`, as all distances here
        for (index_t k = 0; k <= width_; ++k) {
            double kink = __builtin_inf();
            for (index_t c = c0; c < c1; ++c)
                if (-side * x_[c] > by && -side * x_[c] < kink) kink = -side * x_[c];
            const double flat =
                curved > 0 ? by - side * slope_at(side * by, side) / curved : __builtin_inf();
            by = flat < kink ? flat : kink;
            if (flat <= kink || side * slope_at(side * by, side) >= -tiny) break;
        }
        if (!(by < __builtin_inf())) return false;
        for (index_t c = c0; c < c1; ++c) x_[c] += side * by;
        return true;
    }

    // Alternates between solving over the support until no sign changes and a sweep that can change
    // the support.
    void solve_and_sweep(double expected) {
        for (index_t round = 0; round < limits_.rounds; ++round) {
            for (index_t s = 0; s < limits_.solves && solve_on_support();) ++s;
            if (sweep(working_.get(), n_working_) <= limits_.round_until * expected) break;
        }
    }

    // Steps towards the minimum over the support, assuming that the signs do not change. Returns
    // whether a sign would change.
    bool solve_on_support() {
        index_t m = 0;
        for (index_t a = 0; a < n_working_; ++a) {
            bool slopes = false;
            for (index_t k = 0; k < width_; ++k) {
                const index_t c = working_[a] * width_ + k;
                if (x_[c] == 0 && p_.threshold[c] > 0) continue;
                if (!slopes) form_.slopes(working_[a], slope_.get());
                slopes = true;
                support_[m] = c;
                direction_[m] = residual_[m] = -(slope_[k] + sign(x_[c]) * p_.threshold[c]);
                ++m;
            }
        }
        form_.solve(support_.get(), m, diagonal_.get(), limits_.solve_until, limits_.solve_steps,
                    direction_.get());
        return take_step(m);
    }

    static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

    // Whether a full step takes a coordinate with a threshold to 0 or across it.
    bool crosses(index_t a) const {
        const double x = x_[support_[a]];
        return p_.threshold[support_[a]] > 0 && (x + direction_[a]) * x <= 0;
    }

    // Takes the full step, stopping at 0 the coordinates that would change sign. If that gains
    // little, takes the minimum along the step instead, provided it is lower.
    bool take_step(index_t m) {
        bool kinks = false;
        double predicted = 0;
        for (index_t a = 0; a < m; ++a) {
            kinks |= crosses(a);
            predicted += 0.5 * residual_[a] * direction_[a];
            step_[a] = stopped_at_zero(a);
        }
        double best = quadratic_change(m);
        if (kinks && !(best < -0.5 * predicted)) {
            step_to_lowest(m);
            const double lowest = quadratic_change(m);
            if (lowest < best) {
                best = lowest;
            } else {
                for (index_t a = 0; a < m; ++a) step_[a] = stopped_at_zero(a);
                quadratic_change(m);
            }
        }
        if (!(best < 0)) return false;
        form_.accept();
        for (index_t a = 0; a < m; ++a) x_[support_[a]] += step_[a];
        return kinks;
    }

    double stopped_at_zero(index_t a) const {
        return crosses(a) ? -x_[support_[a]] : direction_[a];
    }

    // The change of the quadratic and of the thresholds' part for this step.
    double quadratic_change(index_t m) {
        double sum = form_.quadratic_change(support_.get(), m, step_.get());
        for (index_t a = 0; a < m; ++a) {
            const double x = x_[support_[a]];
            sum += p_.threshold[support_[a]] * (__builtin_fabs(x + step_[a]) - __builtin_fabs(x));
        }
        return sum;
    }

    // Minimises along the step, from kink to kink. At t the slope is -residual.direction + t
    // curvature, plus 2 threshold |direction| for every coordinate that has changed sign.
    void step_to_lowest(index_t m) {
        double slope = 0, kept = 0;
        for (index_t a = 0; a < m; ++a) {
            const index_t c = support_[a];
            slope -= residual_[a] * direction_[a];
            kept += p_.threshold[c] * sign(x_[c]) * direction_[a];  // with the current signs
        }
        const double curved =
            2 * (form_.quadratic_change(support_.get(), m, direction_.get()) + kept - slope);
        double t = 0;
        index_t at = -1;  // the coordinate whose kink is at t
        for (;;) {
            double next = 1;
            index_t there = -1;
            for (index_t a = 0; a < m; ++a) {
                if (!crosses(a)) continue;
                const double kink = -x_[support_[a]] / direction_[a];
                if (kink < next && (kink > t || (kink == t && a > at))) {
                    next = kink;
                    there = a;
                }
            }
            const double flat = curved > 0 ? -slope / curved : next;
            if (flat < next || there < 0) {
                t = flat < next ? flat : next;
                at = -1;
                break;
            }
            t = next;
            at = there;
            slope += 2 * p_.threshold[support_[at]] * __builtin_fabs(direction_[at]);
            if (slope + t * curved >= 0) break;
        }
        for (index_t a = 0; a < m; ++a) step_[a] = t * direction_[a];
        if (at >= 0) step_[at] = -x_[support_[at]];
    }

    double decrease() const {
        double sum = 0;
        for (index_t a = 0; a < n_working_; ++a)
            for (index_t c = working_[a] * width_; c < (working_[a] + 1) * width_; ++c)
                sum += p_.g[c] * (x_[c] - p_.w[c]) +
                       p_.threshold[c] * (__builtin_fabs(x_[c]) - __builtin_fabs(p_.w[c]));
        return sum;
    }

    Form& form_;
    Subproblem& p_;
    const SearchLimits limits_;
    double* x_;
    index_t width_;
    Scratch<double> bound_, diagonal_, slope_, delta_;
    Scratch<double> residual_, direction_, step_;  // over the support
    Scratch<index_t> working_, active_, support_;
    index_t n_working_ = 0, n_active_ = 0;
    bool smooth_ = true;  // no thresholds
};

template <class Columns>
void search_by_columns(const Columns& X, const RowCurvature& H, const double* ridge,
                       Subproblem& p) {
    constexpr SearchLimits limits = {.sweeps = 20,
                                     .sweep_until = 0.05,
                                     .solve_below = 2e-3,
                                     .rounds = 2,
                                     .round_until = 1e-4,
                                     .solves = 1,
                                     .solve_until = 0.05,
                                     .solve_steps = 60};
    const auto search = [&]<class Rows>() {
        ColumnForm<Columns, Rows> form(X, H, ridge, p);
        CoordinateSearch<ColumnForm<Columns, Rows>>(form, p, limits).run();
    };
    if (H.outputs == 1)
        search.template operator()<SingleOutput>();
    else if (H.coupling == HessianCoupling::softmax)
        search.template operator()<ManyOutputs<HessianCoupling::softmax>>();
    else
        search.template operator()<ManyOutputs<HessianCoupling::star>>();
}

inline void minimise_by_columns(const ColumnsView& X, const double* origin, const RowCurvature& H,
                                const double* ridge, Subproblem& p) {
    const auto listed = [&]<class Index, class Value>(Index, Value) {
        const CompressedView& A = X.by_feature;
        search_by_columns(ListedColumns<Index, Value>{static_cast<const Index*>(A.start),
                                                      static_cast<const Index*>(A.index),
                                                      static_cast<const Value*>(A.value), origin},
                          H, ridge, p);
    };
    const auto dense = [&]<class Value>(Value) {
        search_by_columns(DenseColumns<Value>{static_cast<const Value*>(X.dense.data), X.dense.rows,
                                              X.dense.column_stride, origin},
                          H, ridge, p);
    };
    if (X.sparse)
        with_types(X.by_feature, listed);
    else if (X.dense.type == Type::f32)
        dense(float());
    else
        dense(double());
}

inline void minimise_by_hessian(double* H, Subproblem& p) {
    constexpr SearchLimits limits = {.sweeps = 10,
                                     .sweep_until = 1e-3,
                                     .solve_below = 0.03,
                                     .rounds = 20,
                                     .round_until = 1e-14,
                                     .solves = 100,
                                     .solve_until = 0,
                                     .solve_steps = 0};
    HessianForm form(H, p);
    CoordinateSearch<HessianForm>(form, p, limits).run();
}

}  // namespace SX_ISA
}  // namespace sx
