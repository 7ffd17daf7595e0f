// Random permutations that depend only on a key.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace sx {

// Returns the next number of a random stream (splitmix64, Stafford's variant 13).
inline std::uint64_t next_random(std::uint64_t& state) {
    std::uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Fills `order` with a random permutation of 0 .. size - 1, determined by the key.
inline void shuffle(std::uint64_t key, std::vector<std::int32_t>& order) {
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t left = order.size(); left > 1; --left) {
        const std::uint64_t draw = (next_random(key) >> 32) * left >> 32;
        std::swap(order[left - 1], order[draw]);
    }
}

}  // namespace sx
