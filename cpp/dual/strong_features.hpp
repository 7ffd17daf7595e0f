// Features that dominate the rows of X, such as a length in characters beside the words of a text.
//
// Problem    dual coordinate ascent is slow where rows share a strong feature: each visit of a row
//            undoes what the others have just done. Such a feature is treated as the bias is. Its
//            weight w is drawn to a centre c by a stronger penalty than its own,
//                w = c + r g,    g = -sum_i C_i x_i U_i,    r < Q = 1 / f^2,
//            and after each epoch the centre moves to (1 - r / Q) w. At the end w = Q g.
// Given      the copy of X, and the step Q of each feature.
// On return  which features are strong, and how large the rows are without them. Both are read off
//            a sample of the rows and from shares of each row's square, so that a few rows of other
//            sizes do not count for more than they are.
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
    double square;   // a typical squared value, with its step
    double largest;  // absolute value
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

// `step(place)` is 1 / f^2 of a feature.
template <class T, class Step>
Strength find_strong(const WorkingRows<T>& X, const Step& step) {
    constexpr index_t sample = 256, most = 32, rounds = 8;
    // The share of the squares of the rows that have a feature, the share of the rows that do, and
    // how many times as large as a typical entry's its squares are.
    constexpr double strong = 0.3, often = 0.02, large = 10.0;
    const index_t every = std::max<index_t>(1, X.rows / sample);
    std::vector<index_t> at;
    std::vector<double> share(X.features, 0.0), seen(X.features, 0.0), rests, some;
    std::vector<double> power(X.features, 0.0);
    for (index_t i = 0; i < X.rows; i += every)
        for_entries(X, i, [&](index_t j, double x) {
            if (x == 0.0) return;
            seen[j] += 1.0;
            power[j] += x * x * step(j);
            if (i % (4 * every) == 0) some.push_back(x * x * step(j));
        });
    const double least = large * median(some);
    std::vector<char> out(X.features, 0);
    const auto rest_of = [&](index_t i) {
        double rest = 0;
        for_entries(X, i, [&](index_t j, double x) { rest += out[j] ? 0.0 : x * x * step(j); });
        return rest;
    };
    for (index_t round = 0; round < rounds; ++round) {
        rests.clear();
        std::fill(share.begin(), share.end(), 0.0);
        for (index_t i = 0; i < X.rows; i += every) {
            const double rest = rest_of(i);
            rests.push_back(rest);
            if (!(rest > 0.0) || std::isinf(rest)) continue;
            for_entries(X, i, [&](index_t j, double x) { share[j] += x * x * step(j) / rest; });
        }
        const std::size_t known = at.size();
        for (index_t j = 0; j < X.features; ++j)
            if (!out[j] && share[j] > strong * seen[j] && power[j] > least * seen[j] &&
                seen[j] > often * double(rests.size())) {
                at.push_back(j);
                out[j] = 1;
            }
        if (at.size() == known) break;
    }
    const bool few = index_t(at.size()) <= std::min(most, X.features / 2);
    if (!few) std::fill(out.begin(), out.end(), 0);
    Strength found;
    rests.clear();
    for (index_t i = 0; i < X.rows; i += every) rests.push_back(rest_of(i));
    found.rest = median(rests);
    for (std::size_t number = 0; few && number < at.size(); ++number) {
        const index_t j = at[number];
        std::vector<double> squares;
        double largest = 0, sum = 0;
        for (index_t i = 0; i < X.rows; i += every) {
            double value = 0;
            for_entries(X, i, [&](index_t k, double x) { value = k == j ? x : value; });
            largest = std::max(largest, std::abs(value));
            squares.push_back(value * value * step(j));
            sum += squares.back();
        }
        const double mean = sum / double(squares.size()), middle = median(squares);
        found.features.push_back({j, middle > 0.0 ? middle : mean, largest});
    }
    return found;
}

}  // namespace sx
