// Parses text in svmlight format, `label [qid:number] index:value ... # comment`, to a CSR matrix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "svmlight/decimal.hpp"

namespace sx::svmlight {

enum class Problem : int { none, label, entry, order, zero, large, qid, no_qid };

// Output arrays, with room for as many rows as the text has lines and as many entries as it has
// colons.
template <class Index>
struct Rows {
    double* labels;
    Index* starts;  // lines + 1
    Index* indices;
    double* values;
    std::int64_t* qids;  // null if not wanted
};

struct Found {
    index_t rows = 0, entries = 0;
    // The smallest and largest index, as written in the file.
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = -1;
    bool wide = false;  // an index does not fit the index type
    Problem problem = Problem::none;
    index_t line = 0;  // of the problem, from 1
    std::string word;  // the word that caused the problem
};

// Whole lines that one task parses. first_line and first_colon count what comes before them.
struct Slab {
    const char* begin;
    const char* end;  // after the last end of line
    index_t lines = 0, colons = 0;
    index_t first_line = 0, first_colon = 0;
};

inline const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}

// Parses one slab into its part of the output. Stops at the first problem.
template <class Index>
class Reader {
  public:
    Reader(const Slab& slab, const Rows<Index>& out, std::int64_t base, bool zero_allowed)
        : slab_(slab),
          out_(out),
          base_(base),
          zero_allowed_(zero_allowed),
          row_(slab.first_line),
          entry_(slab.first_colon) {}

    Found read() {
        line_ = slab_.first_line + 1;
        for (const char* p = slab_.begin; p < slab_.end && good(); ++line_) p = read_line(p);
        found_.rows = row_ - slab_.first_line;
        found_.entries = entry_ - slab_.first_colon;
        return found_;
    }

  private:
    bool good() const { return found_.problem == Problem::none && !found_.wide; }

    const char* fail(Problem problem, const char* word) {
        constexpr std::ptrdiff_t most_shown = 64;
        const char* end = word;
        while (!ends_word(*end) && end - word < most_shown) ++end;
        found_.problem = problem;
        found_.line = line_;
        found_.word.assign(word, end);
        return word;
    }

    const char* next_line(const char* p) const {
        return static_cast<const char*>(std::memchr(p, '\n', slab_.end - p)) + 1;
    }

    const char* read_line(const char* p) {
        p = skip_blanks(p);
        if (*p == '\n') return p + 1;
        if (*p == '#') return next_line(p);
        const char* end = read_number(p, &out_.labels[row_]);
        if (!end) return fail(Problem::label, p);
        p = read_qid(skip_blanks(end));
        if (good()) p = read_entries(p);
        if (!good()) return p;
        out_.starts[++row_] = static_cast<Index>(entry_);
        return *p == '\n' ? p + 1 : next_line(p);
    }

    const char* read_qid(const char* p) {
        if (*p != 'q') return out_.qids ? fail(Problem::no_qid, p) : p;
        std::int64_t qid = 0;
        const char* end = p;
        if (p[1] == 'i' && p[2] == 'd' && p[3] == ':') {
            const char* const word = p + 4;
            while (!ends_word(*end)) ++end;
            const auto [stop, error] = std::from_chars(word, end, qid);
            if (error != std::errc() || stop != end) end = p;
        }
        if (end == p) return fail(Problem::qid, p);
        if (out_.qids) out_.qids[row_] = qid;
        return skip_blanks(end);
    }

    const char* read_entries(const char* p) {
        const index_t first = entry_;
        std::int64_t last = -1;
        // In a register: the compiler cannot prove that stores to `out_` do not alias it.
        index_t entry = entry_;
        Index* const indices = out_.indices;
        double* const values = out_.values;
        for (; is_digit(*p); p = skip_blanks(p)) {
            const char* const word = p;
            std::int64_t index;
            p = read_index(p, &index);
            if (*p != ':') return fail(Problem::entry, word);
            if (index < 0) return fail(Problem::large, word);
            const char* const end = read_number(p + 1, &values[entry]);
            if (!end) return fail(Problem::entry, word);
            if (index <= last) return fail(Problem::order, word);
            if (entry == first) {
                if (index == 0 && !zero_allowed_) return fail(Problem::zero, word);
                found_.smallest = std::min(found_.smallest, index);
            }
            indices[entry++] = static_cast<Index>(index - base_);
            last = index;
            p = end;
        }
        if (*p != '\n' && *p != '#') return fail(Problem::entry, p);
        entry_ = entry;
        found_.largest = std::max(found_.largest, last);
        found_.wide = last > std::numeric_limits<Index>::max();
        return p;
    }

    // Parses the digits at p as a number; -1 if it has more than 18 digits.
    static const char* read_index(const char* p, std::int64_t* index) {
        constexpr std::ptrdiff_t most_digits = 18;
        const char* const word = p;
        std::uint64_t number = 0;
        while (is_digit(*p)) number = number * 10 + (*p++ - '0');
        *index = static_cast<std::int64_t>(number);
        if (p - word > most_digits) {
            const char* first = word;
            while (*first == '0') ++first;
            if (p - first > most_digits) *index = -1;
        }
        return p;
    }

    const Slab& slab_;
    const Rows<Index> out_;
    const std::int64_t base_;
    const bool zero_allowed_;
    index_t line_ = 0, row_, entry_;
    Found found_;
};

// A text cut into slabs of whole lines. The cuts depend only on the text, and the rows do not
// depend on the cuts.
class Text {
  public:
    Text(const Engine& engine, const char* text, index_t size) {
        const char* const end = text + size;
        if (size >= 3 && std::memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3;  // UTF-8 BOM
        const char* last = end;  // after the last end of line
        while (last > text && last[-1] != '\n') --last;
        for (const char* begin = text; begin < last;) {
            // Never cut before the last line: the end of a line of any length is searched for only
            // once.
            const char* const cut = last - begin > slab_size ? begin + slab_size : last - 1;
            const char* const behind =
                static_cast<const char*>(std::memchr(cut, '\n', last - cut)) + 1;
            slabs_.push_back({begin, behind});
            begin = behind;
        }
        if (last < end) {
            rest_.assign(last, end);
            rest_ += '\n';
            slabs_.push_back({rest_.data(), rest_.data() + rest_.size()});
        }
        engine.loop(slabs_.size(), static_cast<double>(size),
                    [&](index_t k, int) { count(&slabs_[k]); });
        for (Slab& slab : slabs_) {
            slab.first_line = lines_;
            slab.first_colon = colons_;
            lines_ += slab.lines;
            colons_ += slab.colons;
        }
    }
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;

    index_t lines() const { return lines_; }
    index_t colons() const { return colons_; }

    // Given      room for lines() rows and colons() entries. `base` is subtracted from the indices.
    // On return  all rows without gaps, or the first problem.
    template <class Index>
    Found read(const Engine& engine, const Rows<Index>& out, int base, bool zero_allowed) const {
        std::vector<Found> parts(slabs_.size());
        out.starts[0] = 0;
        engine.loop(slabs_.size(), 4.0 * static_cast<double>(colons_), [&](index_t k, int) {
            parts[k] = Reader<Index>(slabs_[k], out, base, zero_allowed).read();
        });
        Found all;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            const Found& part = parts[k];
            all.wide = all.wide || part.wide;
            if (all.problem == Problem::none && part.problem != Problem::none) {
                all.problem = part.problem;
                all.line = part.line;
                all.word = part.word;
            }
            if (all.problem == Problem::none && !all.wide) close_up(slabs_[k], part, out, &all);
        }
        return all;
    }

    // Returns the line number, from 1, of a row.
    index_t line_of_row(index_t row) const {
        index_t line = 0;
        for (const Slab& slab : slabs_)
            for (const char* p = slab.begin; p < slab.end;) {
                ++line;
                p = skip_blanks(p);
                if (*p != '\n' && *p != '#' && row-- == 0) return line;
                p = static_cast<const char*>(std::memchr(p, '\n', slab.end - p)) + 1;
            }
        return line;
    }

  private:
    static constexpr std::ptrdiff_t slab_size = 1 << 20;

    static void count(Slab* slab) {
        constexpr std::ptrdiff_t block = 255;  // so that one-byte counters do not overflow
        for (const char* p = slab->begin; p < slab->end; p += block) {
            const std::ptrdiff_t size = std::min(block, slab->end - p);
            std::uint8_t lines = 0, colons = 0;
            for (std::ptrdiff_t k = 0; k < size; ++k) {
                lines += p[k] == '\n';
                colons += p[k] == ':';
            }
            slab->lines += lines;
            slab->colons += colons;
        }
    }

    // Moves the rows of a slab directly after the rows before it. Blank lines, comments and qids
    // leave gaps.
    template <class Index>
    static void close_up(const Slab& slab, const Found& part, const Rows<Index>& out, Found* all) {
        const index_t lines = slab.first_line - all->rows;
        const index_t colons = slab.first_colon - all->entries;
        const auto move = [](auto* array, index_t to, index_t from, index_t count) {
            if (to != from) std::memmove(array + to, array + from, count * sizeof(*array));
        };
        move(out.labels, all->rows, slab.first_line, part.rows);
        if (out.qids) move(out.qids, all->rows, slab.first_line, part.rows);
        if (lines || colons)
            for (index_t k = 1; k <= part.rows; ++k)
                out.starts[all->rows + k] =
                    static_cast<Index>(out.starts[slab.first_line + k] - colons);
        move(out.indices, all->entries, slab.first_colon, part.entries);
        move(out.values, all->entries, slab.first_colon, part.entries);
        all->rows += part.rows;
        all->entries += part.entries;
        all->smallest = std::min(all->smallest, part.smallest);
        all->largest = std::max(all->largest, part.largest);
    }

    std::string rest_;  // the last line, if it has no end of line
    std::vector<Slab> slabs_;
    index_t lines_ = 0, colons_ = 0;
};

}  // namespace sx::svmlight
