// The arguments of lazy steps, the same for every instruction set: a step changes only the features
// that have an entry in the batch, and a feature makes up for the steps that it missed when a batch
// next needs it.
#pragma once

#include "gradient/rule_step.hpp"
#include "matrix/views.hpp"

namespace sx {

// The rows of a batch. Slot p stands for the p-th distinct feature of the batch.
template <class T>
struct LazyBatch {
    index_t rows, slots;
    const index_t *start, *slot;  // (rows + 1), (entries)
    const T* value;               // (entries)
    const index_t* feature;       // (slots)
};

// What happens to the weights of a feature in the steps that it misses:
//   scaled    They shrink by the same factor as all weights of their column, which is kept apart
//             from them, and by a threshold that is subtracted at the next visit.
//   powers    Weights and v are multiplied by a power of a 2 x 2 matrix.
//   products  They are multiplied by the product of the matrices of the steps.
//   replayed  Every step is made, until w = v = 0.
//   still     Nothing.
enum class Missed : int { scaled, powers, products, replayed, still };

constexpr index_t low_powers = 256;  // M^k = M^(k mod 256) M^(k - k mod 256)
constexpr int most_levels = 40;      // of products of 1, 2, 4, ... steps

// Some columns of W, in place, with everything that their lazy steps need. Arrays of one row have
// `padded` numbers.
template <class T>
struct LazyColumns {
    Missed missed;
    Rule rule;
    index_t columns, padded, stride;  // row j of W begins at W + j * stride
    T *W, *V, *M;                     // as in RuleStep
    const T* factors;                 // null, or that of feature j at factors + j * factor_row
    index_t factor_row, factor_column;
    // The features of the batch, up to date: (slots, padded); the factors (slots, padded) or
    // (slots).
    T *batch_W, *batch_V, *batch_M, *batch_G, *batch_factors;
    T* sums;  // (features, columns): sums of the weights over the steps that are averaged, or null

    // scaled: the weights are scale soft(W, (threshold - paid) / f).
    const T *scale, *threshold;
    T* paid;              // (features, columns): the threshold subtracted so far; null without L1
    const T* move;        // the next step adds move G / f^2 to W
    const T* scale_sum;   // sum of `scale` over the steps that are averaged
    const T* settled;     // 1 for the columns to settle, otherwise 0
    const T* next_scale;  // of the columns to settle; 1 for the others

    // all others: feature j is up to date with step made[j] of this window.
    std::int32_t* made;
    const T *low, *high;  // powers: (257, 4, padded) and (steps / 256 + 1, 4, padded)
    // products: number i of level b is the product of steps i 2^b + 1, ..., (i + 1) 2^b.
    const T* levels[most_levels];  // (steps / 2^b, 4, padded)
    const T *rates, *momentum, *l1, *l2;
    index_t rate_row;       // step t has the rates at rates + t * rate_row
    const T* average_from;  // the first step of this window that is averaged
};

}  // namespace sx
