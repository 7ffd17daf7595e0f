// Reads decimal numbers to the nearest double, like Python's float().
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>

namespace sx {

inline bool is_digit(char c) {
    return static_cast<unsigned char>(c - '0') < 10;
}

inline bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

// Whether c may follow a number: a blank, the end of the line or a comment.
inline bool ends_word(char c) {
    return is_blank(c) || c == '\n' || c == '#';
}

namespace decimal {

// Whether [p, end) spells `word`, ignoring case.
inline bool spells(const char* p, const char* end, const char* word) {
    for (; p != end && *word; ++p, ++word)
        if ((*p | 32) != *word) return false;
    return p == end && !*word;
}

// Parses inf, infinity or nan, with or without a sign.
inline bool special(const char* p, const char* end, double* value) {
    const bool negative = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    double found;
    if (spells(p, end, "inf") || spells(p, end, "infinity"))
        found = std::numeric_limits<double>::infinity();
    else if (spells(p, end, "nan"))
        found = std::numeric_limits<double>::quiet_NaN();
    else
        return false;
    *value = negative ? -found : found;
    return true;
}

// Whether an out-of-range number is too large (true) or too small (false). The position of its
// first non-zero digit decides.
inline bool too_large(const char* p, const char* end, std::int64_t exponent) {
    bool point = false, seen = false;
    for (; p != end && (*p | 32) != 'e'; ++p) {
        if (*p == '.')
            point = true;
        else if (is_digit(*p)) {
            seen = seen || *p != '0';
            if (seen && !point) ++exponent;
            if (!seen && point) --exponent;
        }
    }
    return seen && exponent > 0;
}

// Parses numbers that have many digits or are far from 1. The syntax was checked before.
inline void slow(const char* p, const char* end, std::int64_t exponent, double* value) {
    if (*p == '+') ++p;
    if (std::from_chars(p, end, *value).ec != std::errc::result_out_of_range) return;
    const double found = too_large(p, end, exponent) ? std::numeric_limits<double>::infinity() : 0;
    *value = *p == '-' ? -found : found;
}

}  // namespace decimal

// Given      text at p that contains an end of line.
// On return  the end of the number, or null if there is no number followed by a word end.
//
// A mantissa below 2^53 and a power of ten up to 10^22 are exact doubles, so one multiplication or
// division gives the nearest double (Clinger 1990). std::from_chars parses all other numbers.
inline const char* read_number(const char* p, double* value) {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    constexpr std::uint64_t most_exact = std::uint64_t(1) << 53;
    constexpr std::int64_t far = 1 << 20;  // beyond any exponent: further digits are not added up
    const char* const start = p;
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    const char* const first = p;
    std::uint64_t mantissa = 0;
    while (is_digit(*p)) mantissa = mantissa * 10 + (*p++ - '0');
    std::int64_t digits = p - first, power = 0, exponent = 0;
    if (*p == '.') {
        const char* const point = ++p;
        while (is_digit(*p)) mantissa = mantissa * 10 + (*p++ - '0');
        power = point - p;
        digits -= power;
    }
    if (digits == 0) {
        while (!ends_word(*p)) ++p;
        return decimal::special(start, p, value) ? p : nullptr;
    }
    if ((*p | 32) == 'e') {
        const bool small = *++p == '-';
        if (*p == '-' || *p == '+') ++p;
        if (!is_digit(*p)) return nullptr;
        for (; is_digit(*p); ++p)
            if (exponent < far) exponent = exponent * 10 + (*p - '0');
        if (small) exponent = -exponent;
        power += exponent;
    }
    if (!ends_word(*p)) return nullptr;
    if (digits > 19 || mantissa > most_exact || power < -22 || power > 22) {
        decimal::slow(start, p, exponent, value);
        return p;
    }
    const double whole = static_cast<double>(mantissa);
    const double found = power < 0 ? whole / powers[-power] : whole * powers[power];
    *value = negative ? -found : found;
    return p;
}

}  // namespace sx
