// Features that dominate the rows of X, such as a length in characters beside the words of a text.
//
// Problem    dual coordinate ascent is slow if rows share a strong feature: each visit of a row
//            undoes what the visits of other rows have achieved. Such a feature is treated like the
//            bias: its weight w is penalised by the distance from a centre c, with a stronger
//            penalty than its own,
//              w = c + r g,    g = -sum_i C_i x_i U_i,    r < Q = 1 / f^2,
//            and after each epoch the centre moves to (1 - r / Q) w. At the end w = Q g.
// Given      the copy of X, and the step Q of each feature.
// On return  the strong features, and the typical square of a row without them. Both are estimated
//            from a sample of the rows, using relative squares within each row, so that a few rows
//            of unusual size have little influence.
// See        R. T. Rockafellar, Monotone operators and the proximal point algorithm, SIAM J.
//            Control Optim. 1976.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dual/task.hpp"

namespace sx {

struct StrongFeature {
    index_t at;      // its place in the copy
    double square;   // a typical squared value, multiplied by its step
    double largest;  // largest absolute value
};

struct Strength {
    std::vector<StrongFeature> features;
    double rest = 0.0;  // the typical square of a row without them
};

// Calls entry(place, value) for the entries of a row of the copy.
template <class T, class Entry>
void for_entries(const WorkingRows<T>& X, index_t i, const Entry& entry) {
    if (!X.start) {
        for (index_t j = 0; j < X.features; ++j) entry(j, double(X.value[i * X.stride + j]));
        return;
    }
    for (index_t k = X.start[i]; k < X.start[i + 1]; ++k)
        entry(index_t(X.index[k]), double(X.value[k]));
}

inline double median(std::vector<double>& numbers) {
    if (numbers.empty()) return 0.0;
    const auto middle = numbers.begin() + numbers.size() / 2;
    std::nth_element(numbers.begin(), middle, numbers.end());
    return *middle;
}

// Finds the strong features from the squares of a sample of rows.
struct StrongSet {
    // A feature is strong if its mean share of the squares of the rows that contain it is above
    // `strong`, if more than a fraction `often` of the rows contain it, and if its squares are more
    // than `large` times a typical entry's.
    static constexpr double strong = 0.3, often = 0.02, large = 10.0;
    static constexpr index_t rounds = 8;  // without the strongest features, others may be strong
    static constexpr index_t most = 32;   // more than this: the data has features in mixed units

    std::vector<index_t> list;  // in the order in which they were found
    std::vector<char> is_strong;
    bool few = false;  // whether there are few enough to be treated separately

    // squares(i, f) calls f(feature, square) for the entries of row i of the sample, and
    // step(feature) is 1 / f^2. A typical entry is the median over every `median_every`-th row.
    template <class Squares, class Step>
    StrongSet(index_t rows, index_t features, const Squares& squares, const Step& step,
              index_t median_every)
        : is_strong(features, 0) {
        std::vector<double> share(features, 0.0), seen(features, 0.0), power(features, 0.0), some;
        for (index_t i = 0; i < rows; ++i)
            squares(i, [&](index_t j, double square) {
                if (square == 0.0) return;
                seen[j] += 1.0;
                power[j] += square * step(j);
                if (i % median_every == 0) some.push_back(square * step(j));
            });
        const double least = large * median(some);
        for (index_t round = 0; round < rounds; ++round) {
            std::fill(share.begin(), share.end(), 0.0);
            for (index_t i = 0; i < rows; ++i) {
                const double rest = rest_of(i, squares, step);
                if (!(rest > 0.0) || std::isinf(rest)) continue;
                squares(i, [&](index_t j, double square) { share[j] += square * step(j) / rest; });
            }
            const std::size_t known = list.size();
            for (index_t j = 0; j < features; ++j)
                if (!is_strong[j] && share[j] > strong * seen[j] && power[j] > least * seen[j] &&
                    seen[j] > often * double(rows)) {
                    list.push_back(j);
                    is_strong[j] = 1;
                }
            if (list.size() == known) break;
        }
        few = index_t(list.size()) <= std::min(most, features / 2);
    }

    // The square of a row without its strong features.
    template <class Squares, class Step>
    double rest_of(index_t i, const Squares& squares, const Step& step) const {
        double rest = 0;
        squares(i,
                [&](index_t j, double square) { rest += is_strong[j] ? 0.0 : square * step(j); });
        return rest;
    }
};

// `step(place)` is 1 / f^2 of a feature.
template <class T, class Step>
Strength find_strong(const WorkingRows<T>& X, const Step& step) {
    constexpr index_t sample = 256, median_every = 4;  // rows of the sample, and of the median
    const index_t every = std::max<index_t>(1, X.rows / sample);
    const index_t rows = (X.rows + every - 1) / every;
    const auto squares = [&](index_t i, const auto& take) {
        for_entries(X, i * every, [&](index_t j, double x) { take(j, x * x); });
    };
    StrongSet set(rows, X.features, squares, step, median_every);
    if (!set.few) std::fill(set.is_strong.begin(), set.is_strong.end(), 0);
    Strength found;
    std::vector<double> rests;
    for (index_t i = 0; i < rows; ++i) rests.push_back(set.rest_of(i, squares, step));
    found.rest = median(rests);
    for (std::size_t number = 0; set.few && number < set.list.size(); ++number) {
        const index_t j = set.list[number];
        std::vector<double> own;
        double largest = 0, sum = 0;
        for (index_t i = 0; i < X.rows; i += every) {
            double value = 0;
            for_entries(X, i, [&](index_t k, double x) { value = k == j ? x : value; });
            largest = std::max(largest, std::abs(value));
            own.push_back(value * value * step(j));
            sum += own.back();
        }
        const double mean = sum / double(own.size()), middle = median(own);
        found.features.push_back({j, middle > 0.0 ? middle : mean, largest});
    }
    return found;
}

}  // namespace sx
