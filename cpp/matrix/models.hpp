// Splits a batch into models, and joins models to a batch.
//
// The weights of one model are far apart in a batch. A tile of features is therefore read for all
// models while it is in the cache.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/engine.hpp"

namespace sx {

constexpr index_t tile_features = 256;

// Calls body(first, last) for tiles of features.
template <class Body>
void for_features(const Engine& engine, index_t features, index_t width, const Body& body) {
    const index_t tiles = (features + tile_features - 1) / tile_features;
    engine.loop(tiles, double(features) * width, [&](index_t tile, int) {
        body(tile * tile_features, std::min(features, (tile + 1) * tile_features));
    });
}

// Writes the weights of model which[k] in W (features, models, outputs) to out[k] (features,
// outputs).
template <class T>
void split_models(const Engine& engine, const T* W, index_t features, index_t models,
                  index_t outputs, const index_t* which, const std::vector<T*>& out) {
    for_features(engine, features, index_t(out.size()) * outputs, [&](index_t first, index_t last) {
        for (std::size_t k = 0; k < out.size(); ++k)
            for (index_t o = 0; o < outputs; ++o)
                for (index_t j = first; j < last; ++j)
                    out[k][j * outputs + o] = W[(j * models + which[k]) * outputs + o];
    });
}

// Writes the parts (features, width) side by side to W (features, all columns).
template <class T>
void join_models(const Engine& engine, const std::vector<const T*>& parts,
                 const std::vector<index_t>& widths, index_t features, T* W) {
    index_t all = 0;
    for (const index_t width : widths) all += width;
    for_features(engine, features, all, [&](index_t first, index_t last) {
        index_t at = 0;
        for (std::size_t k = 0; k < parts.size(); at += widths[k], ++k)
            for (index_t o = 0; o < widths[k]; ++o)
                for (index_t j = first; j < last; ++j)
                    W[j * all + at + o] = parts[k][j * widths[k] + o];
    });
}

}  // namespace sx
