// Minimises a quadratic plus an elastic net, for one model.
//
// Problem    see Subproblem.
// Given      the quadratic in one of its forms.
// On return  an x close enough to the minimum that a step from w to x is worth a line search.
// See        G.-X. Yuan, C.-H. Ho and C.-J. Lin, An improved GLMNET for L1-regularized logistic
//            regression, JMLR 2012, for the coordinate steps. Where those become slow, systems are
//            solved over the support, whose signs have settled by then.
#pragma once

#include "compressed.hpp"
#include "support_solvers.hpp"

namespace sx {
inline namespace SX_ISA {

// How far each phase goes. Changes are sums of curvature * step^2, about twice what is gained.
struct Effort {
    index_t sweeps;      // at most, before the support is solved for
    double sweep_until;  // share of the first sweep's change
    double settled;      // gain, relative to the objective, below which a support is worth solving
    index_t rounds;      // of solving and sweeping, at most
    index_t solves;      // at most, in a round, while signs change
    double round_until;  // share of the first sweep's change
    double solve_until;  // share of the residual's length
    index_t solve_steps;
};

constexpr double close_to_threshold = 0.9;

// argmin over x of h (x - u)^2 / 2 + threshold |x|, for h u given.
SX_INLINE double shrink(double hu, double h, double threshold) {
    return hu > threshold ? (hu - threshold) / h : hu < -threshold ? (hu + threshold) / h : 0.0;
}

template <class Form>
class CoordinateSearch {
  public:
    CoordinateSearch(Form& form, Subproblem& p, const Effort& effort)
        : form_(form),
          p_(p),
          effort_(effort),
          x_(p.x),
          width_(form.width()),
          h_(form.blocks() * width_),
          diagonal_(form.blocks() * width_),
          slope_(width_),
          delta_(width_),
          working_(form.blocks()),
          active_(form.blocks()),
          support_(form.blocks() * width_),
          residual_(form.blocks() * width_),
          way_(form.blocks() * width_),
          step_(form.blocks() * width_) {}

    void run() {
        for (index_t c = 0; c < form_.blocks() * width_; ++c) x_[c] = p_.w[c];
        choose_working_set();
        const double ahead = change_ahead();
        if (smooth_ || ahead <= effort_.settled * p_.value)
            polish(ahead);
        else if (sweep_until_slow() <= effort_.settled * p_.value)
            polish(ahead);
        p_.fall = fall();
    }

  private:
    bool is_bias(index_t block) const { return block % (p_.features + 1) == p_.features; }

    // The support, and the coordinates whose slope exceeds their threshold; all, where they are
    // few.
    void choose_working_set() {
        for (index_t block = 0; block < form_.blocks(); ++block) {
            if (is_bias(block) && !p_.free_bias) continue;
            bool in = Form::exact;
            for (index_t c = block * width_; c < (block + 1) * width_; ++c) {
                in |= p_.w[c] != 0 || p_.threshold[c] == 0 ||
                      !(__builtin_fabs(p_.g[c]) <= p_.threshold[c]);
                smooth_ &= p_.threshold[c] == 0;
            }
            if (!in) continue;
            working_[n_working_++] = block;
            double* diagonal = diagonal_.get() + block * width_;
            form_.diagonal(block, diagonal);
            for (index_t k = 0; k < width_; ++k) {
                const index_t c = block * width_ + k;
                h_[c] = Form::overlap * diagonal[k] + p_.ridge[c];
                diagonal[k] += p_.ridge[c];
            }
        }
    }

    // What a sweep would change if no step changed the slopes of the others.
    double change_ahead() {
        double change = 0;
        for (index_t a = 0; a < n_working_; ++a)
            for (index_t c = working_[a] * width_; c < (working_[a] + 1) * width_; ++c) {
                const double delta = minimum(c, p_.g[c] + p_.ridge[c] * x_[c]) - x_[c];
                change += h_[c] * delta * delta;
            }
        return change;
    }

    // Sweeps, over fewer and fewer blocks, until a sweep over all changes little or sweeps no
    // longer gain on each other; returns the last change.
    double sweep_until_slow() {
        double first = 0, last = 0;
        bool all = true;
        for (index_t s = 0; s < effort_.sweeps; ++s) {
            const double change =
                all ? sweep(working_.get(), n_working_) : sweep(active_.get(), n_active_);
            if (s == 0) first = change;
            const bool little = change <= effort_.sweep_until * first;
            if ((little && all) || (s > 1 && !all && change > 0.5 * last)) return change;
            all = little;
            last = change;
        }
        return last;
    }

    // One step of every block of a list, which may be `active`; leaves in `active` those that are
    // likely to move again.
    double sweep(const index_t* list, index_t count) {
        double change = 0;
        n_active_ = 0;
        for (index_t a = 0; a < count; ++a) {
            const index_t block = list[a], c0 = block * width_;
            form_.slopes(block, slope_.get());
            bool moves = false, stays = false;
            for (index_t k = 0; k < width_; ++k) {
                const index_t c = c0 + k;
                const double slope = slope_[k] + p_.ridge[c] * x_[c], threshold = p_.threshold[c];
                const double next = minimum(c, slope);
                delta_[k] = next - x_[c];
                x_[c] = next;
                change += h_[c] * delta_[k] * delta_[k];
                moves |= delta_[k] != 0;
                stays |= next != 0 || __builtin_fabs(slope) >= close_to_threshold * threshold;
            }
            if (moves) form_.move(block, delta_.get());
            if (stays) active_[n_active_++] = block;
        }
        return change;
    }

    // Along one coordinate. Without curvature only the threshold acts.
    double minimum(index_t c, double slope) const {
        const double h = h_[c], threshold = p_.threshold[c];
        if (h > 0) return shrink(h * x_[c] - slope, h, threshold);
        return threshold > 0 && __builtin_fabs(slope) <= threshold ? 0.0 : x_[c];
    }

    // Solves over the support and sweeps, until a sweep changes little.
    void polish(double first) {
        for (index_t round = 0; round < effort_.rounds; ++round) {
            for (index_t solve = 0; solve < effort_.solves; ++solve)
                if (!solve_on_support()) break;
            if (sweep(working_.get(), n_working_) <= effort_.round_until * first) break;
        }
    }

    // Returns whether kinks were in the way.
    bool solve_on_support() {
        index_t m = 0;
        for (index_t a = 0; a < n_working_; ++a) {
            form_.slopes(working_[a], slope_.get());
            for (index_t k = 0; k < width_; ++k) {
                const index_t c = working_[a] * width_ + k;
                if (x_[c] == 0 && p_.threshold[c] > 0) continue;
                support_[m] = c;
                residual_[m] = -(slope_[k] + p_.ridge[c] * x_[c] + sign(x_[c]) * p_.threshold[c]);
                way_[m] = residual_[m];
                ++m;
            }
        }
        solve_support(form_, support_.get(), m, diagonal_.get(), effort_.solve_until,
                      effort_.solve_steps, way_.get());
        return go_along(m);
    }

    static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

    // Whether a step of t along the way takes coordinate a to 0 or beyond, where it has a kink.
    bool crosses(index_t a, double t) const {
        const index_t c = support_[a];
        return p_.threshold[c] > 0 && (x_[c] + t * way_[a]) * x_[c] <= 0;
    }

    // Goes all the way, with coordinates that would change sign stopping at 0, or to the lowest
    // point along it, whichever is lower.
    bool go_along(index_t m) {
        bool kinks = false;
        for (index_t a = 0; a < m; ++a) {
            const bool stops = crosses(a, 1);
            kinks |= stops;
            step_[a] = stops ? -x_[support_[a]] : way_[a];
        }
        double best = rise(m);
        if (kinks) {
            Scratch<double> stopped(m);
            for (index_t a = 0; a < m; ++a) stopped[a] = step_[a];
            take_lowest_along(m);
            const double lowest = rise(m);
            if (!(lowest < best)) {
                for (index_t a = 0; a < m; ++a) step_[a] = stopped[a];
                rise(m);
            } else {
                best = lowest;
            }
        }
        if (!(best < 0)) return false;
        form_.accept();
        for (index_t a = 0; a < m; ++a) x_[support_[a]] += step_[a];
        return kinks;
    }

    // What the step would do to the quadratic and the penalty.
    double rise(index_t m) {
        double penalty = 0;
        for (index_t a = 0; a < m; ++a) {
            const index_t c = support_[a];
            penalty += p_.threshold[c] * (__builtin_fabs(x_[c] + step_[a]) - __builtin_fabs(x_[c]));
            penalty += p_.ridge[c] * step_[a] * (x_[c] + 0.5 * step_[a]);
        }
        return form_.rise(support_.get(), m, step_.get()) + penalty;
    }

    // Along the way, with t from 0 to 1, the slope starts at -residual.way and rises by `curved` t,
    // and by twice threshold |way| at every change of sign: it is followed from kink to kink.
    void take_lowest_along(index_t m) {
        double slope = 0, smooth = 0;
        for (index_t a = 0; a < m; ++a) {
            const index_t c = support_[a];
            step_[a] = way_[a];
            slope -= residual_[a] * way_[a];
            smooth += p_.ridge[c] * way_[a] * (x_[c] + 0.5 * way_[a]) +
                      p_.threshold[c] * sign(x_[c]) * way_[a];
        }
        const double curved = 2 * (form_.rise(support_.get(), m, step_.get()) + smooth - slope);
        double t = 0;
        index_t at_kink = -1;
        while (t < 1) {
            index_t next = -1;
            double there = 1;
            for (index_t a = 0; a < m; ++a) {
                if (!crosses(a, 1)) continue;
                const double kink = -x_[support_[a]] / way_[a];
                if (kink < there && (kink > t || (kink == t && a > at_kink))) {
                    there = kink;
                    next = a;
                }
            }
            if (slope + curved * there >= 0 || next < 0) {
                t = curved > 0 ? __builtin_fmin(there, __builtin_fmax(t, -slope / curved)) : there;
                if (t < there) next = -1;
                at_kink = next;
                break;
            }
            t = there;
            at_kink = next;
            slope += 2 * p_.threshold[support_[next]] * __builtin_fabs(way_[next]);
            if (slope + curved * t >= 0) break;
        }
        for (index_t a = 0; a < m; ++a) step_[a] = t * way_[a];
        if (at_kink >= 0) step_[at_kink] = -x_[support_[at_kink]];
    }

    double fall() const {
        double sum = 0;
        for (index_t a = 0; a < n_working_; ++a)
            for (index_t c = working_[a] * width_; c < (working_[a] + 1) * width_; ++c) {
                const double w = p_.w[c], x = x_[c], p = x - w;
                sum += p_.g[c] * p + 0.5 * p_.ridge[c] * p * (x + w) +
                       p_.threshold[c] * (__builtin_fabs(x) - __builtin_fabs(w));
            }
        return sum;
    }

    Form& form_;
    Subproblem& p_;
    const Effort effort_;
    double* x_;
    index_t width_;
    Scratch<double> h_, diagonal_;  // with ridge; h_ for steps of all outputs at once
    Scratch<double> slope_, delta_;
    Scratch<index_t> working_, active_, support_;
    Scratch<double> residual_, way_, step_;
    index_t n_working_ = 0, n_active_ = 0;
    bool smooth_ = true;  // no threshold anywhere
};

template <class Form>
void search_coordinates(Form&& form, Subproblem& p, const Effort& effort) {
    CoordinateSearch<Form>(form, p, effort).run();
}

template <class Columns>
void search_by_columns(const Columns& X, const RowCurvature& H, Subproblem& p) {
    constexpr Effort effort = {.sweeps = 20,
                               .sweep_until = 0.05,
                               .settled = 3e-4,
                               .rounds = 2,
                               .solves = 1,
                               .round_until = 1e-4,
                               .solve_until = 0.05,
                               .solve_steps = 30};
    const auto search = [&]<class Rows>() {
        search_coordinates(ColumnForm<Columns, Rows>(X, H, p), p, effort);
    };
    if (H.outputs == 1) return search.template operator()<SingleOutput>();
    switch (H.coupling) {
        case Coupling::apart:
            return search.template operator()<ManyOutputs<Coupling::apart>>();
        case Coupling::shares:
            return search.template operator()<ManyOutputs<Coupling::shares>>();
        case Coupling::star:
            return search.template operator()<ManyOutputs<Coupling::star>>();
    }
}

inline void minimise_by_columns(const ColumnsView& X, const RowCurvature& H, Subproblem& p) {
    const auto listed = [&]<class Index, class Value>(Index, Value) {
        const CompressedView& A = X.by_feature;
        search_by_columns(ListedColumns<Index, Value>{static_cast<const Index*>(A.start),
                                                      static_cast<const Index*>(A.index),
                                                      static_cast<const Value*>(A.value)},
                          H, p);
    };
    const auto dense = [&]<class Value>(Value) {
        search_by_columns(DenseColumns<Value>{static_cast<const Value*>(X.dense.data), X.dense.rows,
                                              X.dense.column_stride},
                          H, p);
    };
    if (X.sparse)
        with_types(X.by_feature, listed);
    else if (X.dense.type == Type::f32)
        dense(float());
    else
        dense(double());
}

inline void minimise_by_gram(const GramCurvature& H, Subproblem& p) {
    constexpr Effort effort = {.sweeps = 10,
                               .sweep_until = 1e-3,
                               .settled = 0.03,
                               .rounds = 20,
                               .solves = 100,
                               .round_until = 1e-14,
                               .solve_until = 0,
                               .solve_steps = 0};
    search_coordinates(GramForm(H, p), p, effort);
}

}  // namespace SX_ISA
}  // namespace sx
