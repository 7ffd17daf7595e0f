// Kernels of the lazy steps of sparse mini-batches.
//
// Problem    one step of a gradient rule whose cost is proportional to the entries of the batch. A
//            feature without an entry has the loss gradient 0. Its missed steps act on its own
//            weights only, and are made together when a batch next needs the feature.
// Given      a batch, and the columns of some models. V is T for a single column, and otherwise a
//            vector of columns.
// On return  enter     the weights of the batch's features before this step, and the scores
//            gradient  the gradient of the batch's features
//            leave     the weights after the step, written back to W
//            settle    all features without any part that is kept apart (scaled)
//            The bits of a column do not depend on its neighbours: every product that is added to
//            something is either `rounded` or an argument of add_product, and used only there.
// See        Duchi and Singer, Efficient online and batch learning using forward backward
//            splitting, 2009; Langford, Li and Zhang, Sparse online learning via truncated
//            gradient, 2009; Lipton and Elkan, Efficient elastic net regularization for sparse
//            linear models, 2015. For averages: Bottou, Stochastic gradient descent tricks, 2012,
//            section 5.4.
#pragma once

#include "gradient/lazy_batch.hpp"
#include "gradient/rules.hpp"
#include "simd/scalar_or_vector.hpp"

namespace sx {
inline namespace SX_ISA {

// Reads and writes columns [c, ...) of a row that has `columns` of them.
template <class T, class V>
SX_INLINE V read_columns(const T* row, index_t c, index_t columns) {
    if constexpr (is_scalar<T, V>)
        return row[c];
    else
        return columns - c < lanes<T> ? load_partial<T>(row + c, int(columns - c), T(0))
                                      : load<T>(row + c);
}

template <class T, class V>
SX_INLINE void write_columns(T* row, index_t c, index_t columns, V x) {
    if constexpr (is_scalar<T, V>)
        row[c] = x;
    else if (columns - c < lanes<T>)
        store_partial<T>(row + c, x, int(columns - c));
    else
        store<T>(row + c, x);
}

// The factor of feature j in columns [c, ...); 1 beyond the columns.
template <class T, class V>
SX_INLINE V factor_of(const LazyColumns<T>& g, index_t j, index_t c) {
    const T* row = g.factors + j * g.factor_row;
    if constexpr (is_scalar<T, V>)
        return row[c * g.factor_column];
    else if (!g.factor_column)
        return broadcast<T>(*row);
    else
        return g.columns - c < lanes<T> ? load_partial<T>(row + c, int(g.columns - c), T(1))
                                        : load<T>(row + c);
}

// The threshold of feature j that has not been subtracted yet, in the units of W.
template <class T, class V>
SX_INLINE V unpaid(const LazyColumns<T>& g, index_t j, index_t c) {
    const V due =
        load_as<T, V>(g.threshold + c) - read_columns<T, V>(g.paid + j * g.columns, c, g.columns);
    return g.factors ? due / factor_of<T, V>(g, j, c) : due;
}

// (w, v) = M (w, v), with matrix number k of the table. Its four entries are rows of columns.
template <class T, class V>
SX_INLINE void multiply_by(const T* table, index_t k, index_t padded, index_t c, V& w, V& v) {
    const T* at = table + k * 4 * padded + c;
    const V from_w = load_as<T, V>(at), from_v = load_as<T, V>(at + padded);
    const V v_from_w = load_as<T, V>(at + 2 * padded), v_from_v = load_as<T, V>(at + 3 * padded);
    const V next = add_product<V>(rounded<V>(from_v * v), from_w, w);
    v = add_product<V>(rounded<V>(v_from_v * v), v_from_w, w);
    w = next;
}

// Multiplies by the matrices of steps (made, step], in as few products as there are.
template <class T, class V>
SX_INLINE void multiply_steps(const LazyColumns<T>& g, index_t made, index_t step, index_t c, V& w,
                              V& v) {
    while (made < step) {
        const int aligned = made ? __builtin_ctzll(made) : most_levels;
        const int fits = 63 - __builtin_clzll(step - made);
        const int level = aligned < fits ? aligned : fits;
        multiply_by<T, V>(g.levels[level], made >> level, g.padded, c, w, v);
        made += index_t(1) << level;
    }
}

// Makes steps (made, step] without a gradient, and adds the weights after each of them to `sum`.
template <class T, class V>
SX_INLINE void replay(const LazyColumns<T>& g, index_t made, index_t step, index_t c, V& w, V& v,
                      V& sum) {
    StepSizes<V> sizes = {
        {}, load_as<T, V>(g.momentum + c), load_as<T, V>(g.l1 + c), load_as<T, V>(g.l2 + c)};
    const V from = load_as<T, V>(g.average_from + c);
    for (index_t t = made + 1; t <= step; ++t) {
        if (!word_of<T, V>(w != T(0)) && !word_of<T, V>(v != T(0))) break;
        sizes.rate = load_as<T, V>(g.rates + t * g.rate_row + c);
        move_weights<T, V>(g.rule, sizes, sizes.l2 * w, w, v);
        sum += select(broadcast_as<T, V>(T(t)) >= from, w, V{});
    }
    // The neighbours decide how many steps are made at rest: -0 must not depend on it.
    w = w + V{};
    v = v + V{};
}

// Makes the steps that feature j has missed before step `step` + 1, and writes the result to slot p
// of the batch.
template <Missed missed, class T, class V>
SX_INLINE void catch_up(const LazyColumns<T>& g, index_t j, index_t p, index_t step, index_t c) {
    V w = read_columns<T, V>(g.W + j * g.stride, c, g.columns);
    const index_t at = p * g.padded + c;
    if constexpr (missed == Missed::scaled) {
        if (g.paid) w = soft_threshold<V>(w, unpaid<T, V>(g, j, c));
        store_as<T, V>(g.batch_W + at, w);
        return;
    }
    V v = {};
    if (g.V) v = read_columns<T, V>(g.V + j * g.stride, c, g.columns);
    const index_t k = step - g.made[j];
    const V f = g.factors ? factor_of<T, V>(g, j, c) : broadcast_as<T, V>(T(1));
    if constexpr (missed == Missed::still) {
        if (g.sums && k > 0) {
            const V from = load_as<T, V>(g.average_from + c);
            const V first = max(from, broadcast_as<T, V>(T(g.made[j] + 1)));
            const V count = positive_part<V>(broadcast_as<T, V>(T(step + 1)) - first);
            T* sums = g.sums + j * g.columns;
            const V sum = read_columns<T, V>(sums, c, g.columns);
            write_columns<T, V>(sums, c, g.columns, add_product<V>(sum, count, w));
        }
    } else if (k > 0) {
        w = w * f;
        if constexpr (missed == Missed::powers) {
            multiply_by<T, V>(g.low, k % low_powers, g.padded, c, w, v);
            if (k >= low_powers) multiply_by<T, V>(g.high, k / low_powers, g.padded, c, w, v);
        } else if constexpr (missed == Missed::products) {
            multiply_steps<T, V>(g, g.made[j], step, c, w, v);
        } else {
            V sum = {};
            replay<T, V>(g, g.made[j], step, c, w, v, sum);
            if (g.sums) {
                T* sums = g.sums + j * g.columns;
                write_columns<T, V>(sums, c, g.columns,
                                    read_columns<T, V>(sums, c, g.columns) + sum / f);
            }
        }
        w = w / f;
    }
    store_as<T, V>(g.batch_W + at, w);
    if (g.V) store_as<T, V>(g.batch_V + at, v);
    if (g.M) store_as<T, V>(g.batch_M + at, read_columns<T, V>(g.M + j * g.stride, c, g.columns));
    if (!g.factors) return;
    if (g.factor_column)
        store_as<T, V>(g.batch_factors + at, f);
    else
        g.batch_factors[p] = g.factors[j * g.factor_row];
}

// Replays the missed steps of a single column for slots p, p + 1, ... of the batch. The lanes are
// the slots: one of them alone would wait for the result of every operation.
template <class T>
void replay_slots(const LazyColumns<T>& g, const LazyBatch<T>& batch, index_t p, index_t step) {
    const int count = batch.slots - p < lanes<T> ? int(batch.slots - p) : lanes<T>;
    T w_of[lanes<T>] = {}, v_of[lanes<T>] = {}, made_of[lanes<T>], sum_of[lanes<T>];
    index_t made = step;
    for (int l = 0; l < lanes<T>; ++l) made_of[l] = T(step);
    const auto factor = [&](index_t j) { return g.factors ? g.factors[j * g.factor_row] : T(1); };
    for (int l = 0; l < count; ++l) {
        const index_t j = batch.feature[p + l];
        w_of[l] = g.W[j * g.stride] * factor(j);
        if (g.V) v_of[l] = g.V[j * g.stride];
        made_of[l] = T(g.made[j]);
        if (g.made[j] < made) made = g.made[j];
    }
    StepSizes<vec<T>> sizes = {
        {}, broadcast<T>(*g.momentum), broadcast<T>(*g.l1), broadcast<T>(*g.l2)};
    const vec<T> from = broadcast<T>(*g.average_from), before = load<T>(made_of);
    vec<T> w = load<T>(w_of), v = load<T>(v_of), sum = {};
    for (index_t t = made + 1; t <= step; ++t) {
        if (!word_of<T, vec<T>>(w != T(0)) && !word_of<T, vec<T>>(v != T(0))) break;
        sizes.rate = broadcast<T>(g.rates[t * g.rate_row]);
        vec<T> next = w, next_v = v;
        move_weights<T, vec<T>>(g.rule, sizes, sizes.l2 * w, next, next_v);
        const vec<T> now = broadcast<T>(T(t));
        w = select(now > before, next, w);
        v = select(now > before, next_v, v);
        sum += select((now > before) & (now >= from), w, vec<T>{});
    }
    store<T>(w_of, w + vec<T>{});
    store<T>(v_of, v + vec<T>{});
    store<T>(sum_of, sum);
    for (int l = 0; l < count; ++l) {
        const index_t j = batch.feature[p + l];
        const bool missed = g.made[j] < step;
        g.batch_W[p + l] = missed ? w_of[l] / factor(j) : g.W[j * g.stride];
        g.batch_factors[p + l] = factor(j);
        if (g.V) g.batch_V[p + l] = v_of[l];
        if (g.sums && missed) g.sums[j] += sum_of[l] / factor(j);
    }
}

// Calls run.template operator()<missed, V>().
template <class T, class Run>
SX_INLINE void with_columns(const LazyColumns<T>& g, const Run& run) {
    const auto with = [&]<Missed missed>() {
        if (g.padded == 1)
            run.template operator()<missed, T>();
        else
            run.template operator()<missed, vec<T>>();
    };
    switch (g.missed) {
        case Missed::scaled:
            return with.template operator()<Missed::scaled>();
        case Missed::powers:
            return with.template operator()<Missed::powers>();
        case Missed::products:
            return with.template operator()<Missed::products>();
        case Missed::replayed:
            return with.template operator()<Missed::replayed>();
        case Missed::still:
            return with.template operator()<Missed::still>();
    }
}

template <class T, class V>
constexpr index_t width_of = is_scalar<T, V> ? 1 : lanes<T>;

// Z (rows, columns) = x W + b.
template <class T, class V>
SX_INLINE void score_batch(const LazyColumns<T>& g, const LazyBatch<T>& batch, const T* b, T* Z) {
    for (index_t r = 0; r < batch.rows; ++r)
        for (index_t c = 0; c < g.columns; c += width_of<T, V>) {
            V even = {}, odd = {};
            const auto add = [&](V& sum, index_t k) {
                const T* w = g.batch_W + batch.slot[k] * g.padded + c;
                sum = add_product<V>(sum, broadcast_as<T, V>(batch.value[k]), load_as<T, V>(w));
            };
            index_t k = batch.start[r];
            const index_t end = batch.start[r + 1];
            for (; k + 1 < end; k += 2) {
                add(even, k);
                add(odd, k + 1);
            }
            if (k < end) add(even, k);
            const V z =
                add_product<V>(load_as<T, V>(b + c), load_as<T, V>(g.scale + c), even + odd);
            write_columns<T, V>(Z + r * g.columns, c, g.columns, z);
        }
}

template <class T>
void lazy_enter(const LazyColumns<T>& g, const LazyBatch<T>& batch, index_t step, const T* b,
                T* Z) {
    with_columns(g, [&]<Missed missed, class V>() {
        if constexpr (missed == Missed::replayed && is_scalar<T, V>)
            for (index_t p = 0; p < batch.slots; p += lanes<T>) replay_slots(g, batch, p, step);
        else
            for (index_t p = 0; p < batch.slots; ++p)
                for (index_t c = 0; c < g.columns; c += width_of<T, V>)
                    catch_up<missed, T, V>(g, batch.feature[p], p, step, c);
        score_batch<T, V>(g, batch, b, Z);
    });
}

// batch_G = X^T U for the rows of the batch, U (rows, columns).
template <class T>
void lazy_gradient(const LazyColumns<T>& g, const LazyBatch<T>& batch, const T* U) {
    const auto add = [&]<class V>(V) {
        for (index_t at = 0; at < batch.slots * g.padded; ++at) g.batch_G[at] = T(0);
        for (index_t r = 0; r < batch.rows; ++r)
            for (index_t c = 0; c < g.columns; c += width_of<T, V>) {
                const V u = read_columns<T, V>(U + r * g.columns, c, g.columns);
                for (index_t k = batch.start[r]; k < batch.start[r + 1]; ++k) {
                    T* to = g.batch_G + batch.slot[k] * g.padded + c;
                    const V x = broadcast_as<T, V>(batch.value[k]);
                    store_as<T, V>(to, add_product<V>(load_as<T, V>(to), x, u));
                }
            }
    };
    g.padded == 1 ? add(T()) : add(vec<T>());
}

// Writes slot p to feature j after step `step`.
template <Missed missed, class T, class V>
SX_INLINE void write_back(const LazyColumns<T>& g, index_t j, index_t p, index_t step, index_t c) {
    const index_t at = p * g.padded + c;
    V w = load_as<T, V>(g.batch_W + at);
    const auto write = [&](T* to, V x) { write_columns<T, V>(to + j * g.stride, c, g.columns, x); };
    T* sums = g.sums ? g.sums + j * g.columns : nullptr;
    if constexpr (missed == Missed::scaled) {
        V G = load_as<T, V>(g.batch_G + at);
        if (g.factors) {
            const V f = factor_of<T, V>(g, j, c);
            G = G / (f * f);
        }
        const V move = load_as<T, V>(g.move + c);
        write(g.W, add_product<V>(w, move, G));
        if (g.paid)
            write_columns<T, V>(g.paid + j * g.columns, c, g.columns,
                                load_as<T, V>(g.threshold + c));
        if (sums) {
            const V sum = read_columns<T, V>(sums, c, g.columns);
            const V before = -load_as<T, V>(g.scale_sum + c) * move;
            write_columns<T, V>(sums, c, g.columns, add_product<V>(sum, before, G));
        }
        return;
    }
    write(g.W, w);
    if (g.V) write(g.V, load_as<T, V>(g.batch_V + at));
    if (g.M) write(g.M, load_as<T, V>(g.batch_M + at));
    if (sums && step > g.made[j]) {
        const mask_of<V> counts = broadcast_as<T, V>(T(step)) >= load_as<T, V>(g.average_from + c);
        const V sum = read_columns<T, V>(sums, c, g.columns);
        write_columns<T, V>(sums, c, g.columns, sum + select(counts, w, V{}));
    }
}

template <class T>
void lazy_leave(const LazyColumns<T>& g, const LazyBatch<T>& batch, index_t step) {
    with_columns(g, [&]<Missed missed, class V>() {
        for (index_t p = 0; p < batch.slots; ++p) {
            const index_t j = batch.feature[p];
            for (index_t c = 0; c < g.columns; c += width_of<T, V>)
                write_back<missed, T, V>(g, j, p, step, c);
            if constexpr (missed != Missed::scaled) g.made[j] = std::int32_t(step);
        }
    });
}

// Settles columns [c, ...) of feature j. For a single column (`lone`) the lanes are the features
// from j on.
template <bool lone, class T>
SX_INLINE void settle_lanes(const LazyColumns<T>& g, index_t j, index_t c, index_t left) {
    const int count = left < lanes<T> ? int(left) : lanes<T>;
    const auto read = [&](const T* at, T rest) {
        return count == lanes<T> ? load<T>(at) : load_partial<T>(at, count, rest);
    };
    const auto write = [&](T* at, vec<T> x) {
        count == lanes<T> ? store<T>(at, x) : store_partial<T>(at, x, count);
    };
    const auto parameter = [&](const T* of) { return lone ? broadcast<T>(*of) : load<T>(of + c); };
    const mask<T> here = parameter(g.settled) != T(0);
    T* row = g.W + j * g.stride + c;
    T* of_feature = g.sums ? g.sums + j * g.columns + c : nullptr;
    vec<T> w = read(row, T(0));
    if (of_feature) {
        const vec<T> sum = read(of_feature, T(0));
        const vec<T> more = add_product<vec<T>>(sum, parameter(g.scale_sum), w);
        write(of_feature, select(here, more, sum));
    }
    if (g.paid) {
        T* paid = g.paid + j * g.columns + c;
        const vec<T> before = read(paid, T(0));
        vec<T> due = parameter(g.threshold) - before;
        if (g.factors) {
            const T* f = g.factors + j * g.factor_row + c * g.factor_column;
            due = due / (lone || g.factor_column ? read(f, T(1)) : broadcast<T>(*f));
        }
        w = select(here, soft_threshold<vec<T>>(w, due), w);
        write(paid, select(here, vec<T>{}, before));
    }
    write(row, w * parameter(g.next_scale));
}

// Multiplies the weights of the columns to settle by their next scale, after subtracting what they
// have not paid. Leaves the other columns exactly as they are.
template <class T>
void lazy_settle(const LazyColumns<T>& g, index_t features) {
    if (g.columns == 1 && g.stride == 1 && (!g.factors || g.factor_row == 1)) {
        for (index_t j = 0; j < features; j += lanes<T>) settle_lanes<true>(g, j, 0, features - j);
        return;
    }
    for (index_t j = 0; j < features; ++j)
        for (index_t c = 0; c < g.columns; c += lanes<T>)
            settle_lanes<false>(g, j, c, g.columns - c);
}

}  // namespace SX_ISA
}  // namespace sx
