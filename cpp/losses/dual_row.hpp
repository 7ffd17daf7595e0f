// Shared by the losses for visits of a row by the dual solver: finds the best duals of one row
// while all others stay fixed. This is the proximal operator of the conjugate.
//
// With t = +-1, C = s / (S l2) and q = C (|x|^2 + square of the bias), a change of alpha by d moves
// the margin m = t z by q d. With one output the dual is U = -t alpha; with several, U_j = alpha_j
// for the wrong classes j and U_y = -sum_j alpha_j.
//
// Each loss chooses how it stores a row's duals between two visits (`kept`): `encode` computes it
// from U, and `decode` computes U from it, inside the domain of the conjugate. `own` is the output
// of the true class, or -1 if it has none. With a single output it is 0 if the true class is the
// positive one.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrix/views.hpp"
#include "simd/lane_bits.hpp"
#include "simd/scalar_or_vector.hpp"

namespace sx {
inline namespace SX_ISA {

// Constants of a loss with margins for the dual solver. Every dual rule has the first four:
//   entropy      the conjugate is an entropy: the duals never reach a bound and determine the loss
//   shrinks      rows at a bound may leave the working set
//   keeps_logit  a single output's logit is stored, with alpha beside it
//   bias_move    how far a change of one dual by 1 may move the bias: a larger move would undo
//                visits of other rows. Measured on text and images.
struct MarginDualTraits {
    static constexpr bool entropy = false, shrinks = true, keeps_logit = false;
    static constexpr double bias_move = 0.015;
    static constexpr double huge_term = 1e30;   // for outputs that do not count
    static constexpr int max_iterations = 200;  // of Newton's method
};

// The step of one row with a separate problem in every column. V is a vector of columns, or T for a
// single column.
template <class V>
struct ColumnStep {
    V next;                // the new dual, as stored
    V rise;                // change of alpha
    V gap;                 // loss + conjugate + alpha m, before the change
    V slope;               // minus the derivative of the dual objective by alpha, over C
    mask_of<V> low, high;  // whether alpha was at its lower or upper bound
    V alpha{};             // the new alpha, if it is stored beside the dual
};

// One row and one model with coupled outputs: lanes are outputs. A rule gets the scores z, the
// stored duals, C, q = C (|x|^2 + square of the bias) and the label. It finds the best duals U
// while all other rows stay fixed. A change D of U moves z by -q D and W by -C x D. The arrays are
// padded to whole vectors; numbers beyond `outputs` are read and ignored.
template <class T>
struct OutputRow {
    index_t outputs, padded;
    T margin, C, q;
    index_t label;  // output of the true class; -1 if it has none
    const T* z;
    const T* kept;
    T high;  // a row at its bounds may leave the working set if its slope is larger
    T* next;
    T* change;    // of W along x: -C times the change of U
    T* scratch;   // three arrays
    T gap;        // loss + conjugate - U.z, before the change
    T slope;      // how far the row was from its optimum
    bool shrink;  // whether the row leaves the working set
};

// Calls body(first output, present lanes, lanes of the label) for every vector of outputs.
template <class T, class Body>
SX_INLINE void for_outputs(const OutputRow<T>& row, const Body& body) {
    for (index_t k = 0; k < row.padded; k += lanes<T>) {
        const vec<T> number = lane_numbers<T>() + T(k);
        body(k, number < T(row.outputs), number == T(row.label));
    }
}

// Shared by the rules for margins: terms m + z_j - z_y of the wrong outputs. They store the alphas.
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

// Given the new alphas in `next`, writes the change of W: -C times the change of the alphas at the
// wrong outputs, and C times the sum of these changes at the label.
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

// Returns log(right / wrong). Zeros are replaced by a number so small that it makes no difference,
// but has a logarithm.
inline double safe_logit(double right, double wrong) {
    constexpr double smallest = 1e-18;
    return std::log(std::max(right, smallest)) - std::log(std::max(wrong, smallest));
}

inline double not_negative(double x) {
    return x > 0.0 ? x : 0.0;
}

// Losses with margins store their duals as alphas of at most `most`.
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

// Scales the alphas if rounding has made their sum larger than `total`.
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
