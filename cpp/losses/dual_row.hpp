// What the losses share when the dual solver visits one row: the best duals of that row while those
// of all others stay, which is the proximal operator of the conjugate.
//
// With t = +-1, C = s / (S l2) and q = C (|x|^2 + the bias's share), a change of alpha by d moves
// the margin m = t z by q d. The duals are U = -t alpha of one output; of several, U_j = alpha_j
// for the wrong classes j and U_y = -sum_j alpha_j.
//
// What is kept of a row's duals between two visits is for its loss to choose: `encode` makes it of
// U, `decode` makes U of it, inside the domain of the conjugate. `own` is the output of the true
// class, -1 where it has none; of a single output, 0 where the true class is the positive one.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrix/views.hpp"
#include "simd/lane_bits.hpp"
#include "simd/scalar_or_vector.hpp"

namespace sx {
inline namespace SX_ISA {

// What the dual solver asks of a loss with margins, besides its step. Every dual form has the first
// four:
//   entropy      the conjugate is an entropy: the duals never reach a bound, and tell the loss
//   shrinks      rows at a bound may leave the working set
//   keeps_logit  a single output's logit is kept, and alpha beside it
//   bias_move    how far a change of one dual by 1 may move the bias: more would make the rows
//                disturb each other. Measured on text and images.
struct MarginDualTraits {
    static constexpr bool entropy = false, shrinks = true, keeps_logit = false;
    static constexpr double bias_move = 0.015;
    static constexpr double huge_term = 1e30;  // of outputs that do not count
    static constexpr int most_turns = 200;     // of Newton's method: each one settles some alphas
};

// One row's step, where every column is a problem of its own: what a rule makes of the row's
// scores. V is a vector of columns, or T for one that stands alone.
template <class V>
struct ColumnStep {
    V next;                // the new dual, as it is kept
    V rise;                // change of alpha
    V gap;                 // loss + conjugate + alpha m, before the change
    V slope;               // minus the derivative of the dual objective by alpha, over C
    mask_of<V> low, high;  // whether alpha was at its lower or upper bound
    V alpha{};             // the new alpha, where it is kept beside the dual
};

// One row and one model whose outputs are coupled: lanes are outputs. A rule is given the scores z,
// what is kept of the row's duals, C, q = C (|x|^2 + the bias's share) and the label, and finds the
// duals U that are best with all other rows as they are. A change D of U moves z by -q D and W by
// -C x D. The arrays are padded to whole vectors; what lies beyond `outputs` is read and ignored.
template <class T>
struct OutputRow {
    index_t outputs, padded;
    T margin, C, q;
    index_t label;  // of the outputs; -1 if it has none
    const T* z;
    const T* kept;
    T high;  // beyond this slope a row that is at its bounds may leave the working set
    T* next;
    T* change;    // of W along x: -C times the change of U
    T* scratch;   // three arrays
    T gap;        // loss + conjugate - U.z, before the change
    T slope;      // how far the row was from its best
    bool shrink;  // whether it leaves the working set
};

// Calls body(first output, present lanes, lanes of the label) for every vector of outputs.
template <class T, class Body>
SX_INLINE void for_outputs(const OutputRow<T>& row, const Body& body) {
    for (index_t k = 0; k < row.padded; k += lanes<T>) {
        const vec<T> number = lane_numbers<T>() + T(k);
        body(k, number < T(row.outputs), number == T(row.label));
    }
}

// What the rules for margins share: terms m + z_j - z_y of the wrong outputs; the alphas are kept.
template <class T>
struct Margins {
    T label;  // the label's score
    T total;  // the sum of the alphas

    template <class Row>
    static SX_INLINE Margins of(const Row& row) {
        vec<T> sum = {};
        for_outputs(row,
                    [&](index_t k, mask<T> present, mask<T> own) __attribute__((always_inline)) {
                        sum += select(present & ~own, load<T>(row.kept + k), vec<T>{});
                    });
        return {row.z[row.label], sum_lanes<T>(sum)};
    }
};

// Takes the new alphas in `next` and writes the change of W: -C times their rise on the wrong
// outputs, C times the rise of all on the label.
template <class T>
SX_INLINE void change_alphas(const OutputRow<T>& row) {
    vec<T> gained = {};
    for_outputs(row, [&](index_t k, mask<T> present, mask<T> own) __attribute__((always_inline)) {
        const mask<T> wrong = present & ~own;
        const vec<T> next = select(wrong, load<T>(row.next + k), vec<T>{});
        const vec<T> rise = select(wrong, next - load<T>(row.kept + k), vec<T>{});
        gained += rise;
        store<T>(row.next + k, next);
        store<T>(row.change + k, -row.C * rise);
    });
    row.change[row.label] = row.C * sum_lanes<T>(gained);
}

// log(right / wrong). Of nothing, something is taken that is as good as nothing but has a
// logarithm.
inline double safe_logit(double right, double wrong) {
    constexpr double nothing = 1e-18;
    return std::log(std::max(right, nothing)) - std::log(std::max(wrong, nothing));
}

inline double not_negative(double x) {
    return x > 0.0 ? x : 0.0;
}

// The duals of the losses with margins are kept as alphas, of which `most` is the largest.
template <class T>
void encode_margin_column(index_t own, const double* U, double most, T* kept) {
    const double a = not_negative(own == 0 ? -*U : *U);
    *kept = T(std::min(a, most));
}

template <class T>
void encode_margin_outputs(index_t own, index_t outputs, const double* U, double most, T* kept) {
    for (index_t k = 0; k < outputs; ++k) {
        const double a = k == own ? 0.0 : not_negative(U[k]);
        kept[k] = T(std::min(a, most));
    }
}

template <class T>
void decode_margin_column(index_t own, const T* kept, double* U) {
    const double a = *kept;
    *U = own == 0 ? -a : a;
}

// `total` bounds the sum of the alphas, whatever was rounded.
template <class T>
void decode_margin_outputs(index_t own, index_t outputs, const T* kept, double total, double* U) {
    double sum = 0;
    for (index_t k = 0; k < outputs; ++k) sum += k == own ? 0.0 : double(kept[k]);
    const double share = sum > total ? total / sum : 1.0;
    for (index_t k = 0; k < outputs; ++k) U[k] = k == own ? -sum * share : double(kept[k]) * share;
}

constexpr double unbounded = std::numeric_limits<double>::infinity();

}  // namespace SX_ISA
}  // namespace sx
