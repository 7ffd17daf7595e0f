// Products of X and of its transpose with many columns, on all threads.
//
// Problem    Z = X W + b and G += X^T U, for W (features, N), U (rows, N), N = models x outputs.
// Given      X dense, or compressed by samples, by features, or both.
// On return  the sums. Their order depends neither on the number of threads nor on the other
//            columns.
// See        dense_product.hpp and sparse_product.hpp for the arithmetic; this file distributes the
//            work.
#pragma once

#include <algorithm>

#include "engine/buffer.hpp"
#include "engine/engine.hpp"
#include "matrix/data.hpp"

namespace sx {

template <class T>
class MatrixProducts {
  public:
    MatrixProducts(const Engine& engine, const Data& X)
        : engine_(engine), k_(engine.kernels<T>()), X_(X) {
        if (!X.sparse) return;
        const CompressedView& A = X.has_samples ? X.by_sample : X.by_feature;
        per_row_ = std::max(1.0, double(A.offset(A.rows)) / std::max<index_t>(X.rows, 1));
    }

    // Computes Z[0..count) = x W + b for rows rows[0..count) of X, or for rows [first, first +
    // count).
    void scores(const ModelColumns<T>& w, const index_t* rows, index_t first, index_t count, T* Z) {
        if (w.N() == 0) return;
        prepare(w);
        forward(w, rows, first, count, Z, [](index_t, index_t, int) {});
    }

    // G += X^T U for all rows, U (rows, N).
    void transpose_times(const T* U, index_t N, T* G) {
        if (N == 0) return;
        if (by_slabs())
            return over_slabs(
                N, G, N, [](index_t) {},
                [&](index_t first, index_t, T*, index_t, int) { return U + first * N; });
        const index_t chunk = this->chunk(N);
        for (index_t first = 0; first < X_.rows; first += chunk) {
            const index_t here = std::min(chunk, X_.rows - first);
            const T* from = U + first * N;
            const Padding padding = padded(from, here, N);
            engine_.loop(blocks_of(here), double(here) * N, [&](index_t task, int) {
                const index_t i0 = task * k_.block_rows;
                padding.copy(from, i0, std::min(here, i0 + k_.block_rows), N);
            });
            backward(nullptr, first, here, padding, N, G, N);
        }
    }

    // Numbers (rows, N) in the layout that products with X^T read: for a sparse X, rows padded to
    // whole vectors. `own` is null if no padding is needed.
    struct Padding {
        const T* U;
        index_t ldu;
        T* own = nullptr;

        // Copies rows [i0, i1) to the padded layout.
        void copy(const T* from, index_t i0, index_t i1, index_t N) const {
            if (!own) return;
            for (index_t i = i0; i < i1; ++i) {
                std::copy_n(from + i * N, N, own + i * ldu);
                std::fill_n(own + i * ldu + N, ldu - N, T(0));
            }
        }
    };

    // Returns a padded layout for the rows of U (rows, N). `copy` fills it.
    Padding padded(const T* U, index_t rows, index_t N) const {
        return X_.sparse ? padded(U, rows, N, space_.gradients) : Padding{U, N};
    }

    // Returns memory for `rows` rows of N numbers.
    T* rows_of(index_t rows, index_t N) { return space_.Z.reserve(rows * N); }

    // Pads to whole vectors, except a single column.
    Padding padded(const T* U, index_t rows, index_t N, Buffer<T>& buffer) const {
        const index_t ldu = N == 1 ? 1 : k_.padded(N);
        if (ldu == N) return {U, N};
        T* own = buffer.reserve(rows * ldu);
        return {own, ldu, own};
    }

    index_t blocks_of(index_t rows) const { return (rows + k_.block_rows - 1) / k_.block_rows; }

    // The number of rows of a chunk, in whole blocks. For a dense X, sums are made chunk by chunk:
    // the size must depend only on the shape of X, so that the bits do not depend on the number of
    // models. For a sparse X, sums continue from chunk to chunk: the chunk is as large as fits the
    // cache, with enough entries per feature, and contains all rows if X is not stored by samples.
    index_t chunk(index_t N) const {
        if (!X_.sparse) {
            const index_t cached = (1 << 20) / std::max<index_t>(X_.columns, 1);
            return std::clamp<index_t>(cached / 256 * 256, 1024, 8192);
        }
        if (!X_.has_samples) return blocks_of(std::max<index_t>(X_.rows, 1)) * k_.block_rows;
        const index_t cached = (1 << 20) / (N * index_t(sizeof(T)));
        const index_t rows =
            std::max({index_t(8.0 * X_.columns / per_row_), cached, index_t(1024)});
        return blocks_of(rows) * k_.block_rows;
    }

    // Whether there are few enough features for every thread to have its own sums.
    bool by_slabs() const { return X_.has_samples && X_.columns <= Data::few_features; }

    // The number of rows in the slabs that are processed together: one slab per thread, or more if
    // their sums are small.
    index_t rows_together(index_t N) const {
        const index_t slabs = (X_.rows + rows_of_slab - 1) / rows_of_slab;
        const index_t fit = few_sums / (X_.columns * k_.padded(N) + 1);
        return rows_of_slab *
               std::min(std::max<index_t>(fit, engine_.threads), std::max<index_t>(slabs, 1));
    }

    // Computes G += X^T U slab by slab. fill(first, count, space, number, worker) returns U for a
    // block of rows and may write it to `space`; `number` counts the blocks since the last
    // fold(blocks). One thread sums a slab, from rows that it has just scored. The slabs are then
    // added up in order.
    template <class Fold, class Fill>
    void over_slabs(index_t N, T* G, index_t ldg, const Fold& fold, const Fill& fill) {
        const index_t block = k_.block_rows, together = rows_together(N), d = X_.columns;
        T* blocks = space_.Z.reserve(block * N * engine_.threads);
        const Padding room = padded(blocks, block * engine_.threads, N, space_.gradients);
        const index_t ldu = room.ldu;
        T* sums = space_.sums.reserve(together / rows_of_slab * d * ldu);
        for (index_t row = 0; row < X_.rows; row += together) {
            const index_t rows = std::min(together, X_.rows - row);
            const index_t slabs = (rows + rows_of_slab - 1) / rows_of_slab;
            engine_.loop(slabs, work(rows, N), [&](index_t slab, int worker) {
                T* own = sums + slab * d * ldu;
                std::fill_n(own, d * ldu, T(0));
                const index_t end = std::min(rows, (slab + 1) * rows_of_slab);
                for (index_t i = slab * rows_of_slab; i < end; i += block) {
                    const index_t here = std::min(block, end - i);
                    const T* U =
                        fill(row + i, here, blocks + worker * block * N, i / block, worker);
                    Padding padding{U, N};
                    if (T* wide = room.own) {
                        wide += worker * block * ldu;
                        padding = {wide, ldu, wide};
                        padding.copy(U, 0, here, N);
                    }
                    k_.scatter({X_.by_sample, nullptr, row + i, nullptr, nullptr, 0}, here,
                               padding.U, ldu, 0, N, N, own, ldu);
                }
            });
            fold(blocks_of(rows));
            for (index_t slab = 0; slab < slabs; ++slab)
                for (index_t j = 0; j < d; ++j)
                    for (index_t c = 0; c < N; ++c)
                        G[j * ldg + c] += sums[(slab * d + j) * ldu + c];
        }
        engine_.read->backward += X_.rows;
    }

    void prepare(const ModelColumns<T>& w) {
        // Most models start from zero. Their scores do not require reading X.
        zero_weights_ =
            std::all_of(w.W, w.W + X_.columns * w.N(), [](T weight) { return weight == 0; });
        if (zero_weights_) return;
        if (X_.sparse) {
            const Padding padding = padded(w.W, X_.columns, w.N(), space_.weights);
            padding.copy(w.W, 0, X_.columns, w.N());
            W_ = padding.U;
            ldw_ = padding.ldu;
        } else
            W_ = pack(w.W, X_.columns, w.N(), space_.weights);
        scratch_ = static_cast<char*>(scratch());
    }

    // Counts the rows that were scored. With zero weights X was not read.
    void count_scored(index_t rows) const {
        if (!zero_weights_) engine_.read->forward += rows;
    }

    // Rows [i0, i1) of Z = X W + b, for rows first + i of X, or rows[i].
    void score(const ModelColumns<T>& w, const index_t* rows, index_t first, index_t i0, index_t i1,
               T* Z, int worker) {
        const index_t N = w.N();
        begin(w, i0, i1, Z);
        if (!zero_weights_ && X_.sparse)
            k_.gather({X_.by_sample, rows, first, nullptr, nullptr, 0}, i0, i1, W_, ldw_, 0, N, N,
                      Z, N);
        if (!zero_weights_ && !X_.sparse)
            k_.multiply({X_.dense, rows, first, false}, i0, i1, X_.columns, W_, N, Z, N,
                        scratch_ + worker * k_.scratch);
    }

    // Computes Z = X W + b and calls then(i0, i1, worker) for every finished block of rows.
    template <class Then>
    void forward(const ModelColumns<T>& w, const index_t* rows, index_t first, index_t count, T* Z,
                 const Then& then) {
        const index_t N = w.N(), block = k_.block_rows;
        const bool by_feature = X_.sparse && !X_.has_samples;
        if (by_feature) score_by_feature(w, Z);
        engine_.loop((count + block - 1) / block, work(count, N), [&](index_t task, int worker) {
            const index_t i0 = task * block, i1 = std::min(count, i0 + block);
            if (!by_feature) score(w, rows, first, i0, i1, Z, worker);
            then(i0, i1, worker);
        });
        count_scored(count);
    }

    // G += X^T U for the rows of a chunk. Chunks over all rows must come in order (sparse X).
    void backward(const index_t* rows, index_t first, index_t count, const Padding& given,
                  index_t N, T* G, index_t ldg) {
        const T* other = given.U;
        const index_t ldu = given.ldu;
        engine_.read->backward += count;
        if (X_.sparse && (rows || (!X_.has_features && !X_.by_sample.ordered))) {
            const index_t vectors = (N + k_.lanes - 1) / k_.lanes;
            const index_t each = (vectors + engine_.threads - 1) / engine_.threads * k_.lanes;
            const index_t groups = (N + each - 1) / each;
            // Threads that write to the same cache line slow each other down. If there is much to
            // write, every group of columns therefore gets separate lines.
            const bool own = groups > 1 && count * per_row_ > double(X_.columns);
            T* sums = own ? space_.sums.reserve(X_.columns * ldu) : G;
            const index_t lds = own ? ldu : ldg;
            if (own) copy_rows(G, ldg, sums, lds, N);
            engine_.loop(groups, work(count, N), [&](index_t group, int) {
                const index_t c0 = group * each, c1 = std::min(N, c0 + each);
                k_.scatter({X_.by_sample, rows, first, nullptr, nullptr, 0}, count, other, ldu, c0,
                           c1, N, sums, lds);
            });
            if (own) copy_rows(sums, lds, G, ldg, N);
        } else if (X_.sparse && !X_.has_features) {
            const index_t parts = engine_.threads;
            const Data::Bounds kept = X_.range_bounds(parts);
            // Reading back a sum that ends within a vector is slow. If there are few sums, they are
            // padded to whole vectors.
            const bool whole = ldu == ldg || X_.columns * ldu > few_sums;
            T* sums = whole ? G : space_.sums.reserve(X_.columns * ldu);
            if (!whole) copy_rows(G, ldg, sums, ldu, N);
            engine_.loop(parts, work(count, N), [&](index_t part, int) {
                const index_t* from = kept->data() + part * X_.rows;
                k_.scatter({X_.by_sample, nullptr, first, from, from + X_.rows, 0}, count, other,
                           ldu, 0, N, N, sums, whole ? ldg : ldu);
            });
            if (!whole) copy_rows(sums, ldu, G, ldg, N);
        } else if (X_.sparse) {
            const bool all = count == X_.rows;
            const Data::Bounds kept = all ? nullptr : X_.feature_bounds(chunk(N));
            const index_t* from = all ? nullptr : kept->data() + first / chunk(N) * X_.columns;
            const index_t* to = all ? nullptr : from + X_.columns;
            // Some features are much more frequent than others. Many small tasks even this out.
            const index_t block = std::clamp<index_t>(X_.columns / 32, 4, 256);
            engine_.loop((X_.columns + block - 1) / block, work(count, N), [&](index_t task, int) {
                const index_t j0 = task * block, j1 = std::min(X_.columns, j0 + block);
                k_.gather({X_.by_feature, nullptr, 0, from, to, first}, j0, j1, other, ldu, 0, N, N,
                          G, ldg);
            });
        } else {
            const T* packed = pack(other, count, N, space_.gradients);
            char* space = static_cast<char*>(scratch());
            const index_t block = even_block();
            engine_.loop((X_.columns + block - 1) / block, work(count, N),
                         [&](index_t task, int worker) {
                             const index_t j0 = task * block, j1 = std::min(X_.columns, j0 + block);
                             k_.multiply({X_.dense, rows, first, true}, j0, j1, count, packed, N, G,
                                         ldg, space + worker * k_.scratch);
                         });
        }
    }

  private:
    double work(index_t rows, index_t N) const {
        return rows * (X_.sparse ? per_row_ : double(X_.columns)) * k_.padded(N);
    }

    // The number of features per task that distributes strips of 8 features most evenly to the
    // threads.
    index_t even_block() const {
        index_t best = k_.block_rows, least = X_.columns + k_.block_rows;
        for (index_t block = k_.block_rows; block >= 24; block -= 8) {
            const index_t tasks = (X_.columns + block - 1) / block;
            const index_t longest = (tasks + engine_.threads - 1) / engine_.threads * block;
            if (longest < least) {
                best = block;
                least = longest;
            }
        }
        return best;
    }

    // Copies one row of sums per feature between arrays with different row lengths.
    void copy_rows(const T* from, index_t from_row, T* to, index_t to_row, index_t N) const {
        for (index_t j = 0; j < X_.columns; ++j)
            std::copy_n(from + j * from_row, N, to + j * to_row);
    }

    const T* pack(const T* B, index_t depth, index_t N, Buffer<T>& buffer) {
        T* out = buffer.reserve(depth * k_.padded(N));
        const index_t panels = (N + k_.panel - 1) / k_.panel;
        engine_.loop(panels, double(depth) * N, [&](index_t p, int) {
            const index_t c = p * k_.panel;
            k_.pack(B, N, depth, N, c, std::min(c + k_.panel, k_.padded(N)), out);
        });
        return out;
    }

    void* scratch() { return space_.scratch.reserve(k_.scratch * engine_.threads); }

    // Initialises rows [i0, i1) of Z with b.
    static void begin(const ModelColumns<T>& w, index_t i0, index_t i1, T* Z) {
        const index_t N = w.N();
        for (index_t i = i0; i < i1; ++i)
            for (index_t c = 0; c < N; ++c) Z[i * N + c] = w.b[c] + T(0);  // never -0
    }

    // Computes Z = X W + b for all rows, with one range of rows per thread. Every score is summed
    // in the order of the features, as it would be from the entries of its row, and has the same
    // bits.
    void score_by_feature(const ModelColumns<T>& w, T* Z) {
        const index_t N = w.N();
        const auto [kept, range] = X_.row_ranges(engine_.threads);
        const index_t* bounds = kept->data();
        engine_.loop((X_.rows + range - 1) / range, work(X_.rows, N),
                     [&, range = range](index_t part, int) {
                         begin(w, part * range, std::min(X_.rows, (part + 1) * range), Z);
                         const index_t* from = bounds + part * X_.columns;
                         if (!zero_weights_)
                             k_.scatter({X_.by_feature, nullptr, 0, from, from + X_.columns, 0},
                                        X_.columns, W_, ldw_, 0, N, N, Z, N);
                     });
    }

    static constexpr index_t few_sums = 1 << 16;   // features times columns
    static constexpr index_t rows_of_slab = 2048;  // whole blocks

    const Engine engine_;
    const Kernels<T>& k_;
    const Data& X_;
    double per_row_ = 1;
    bool zero_weights_ = false;
    const T* W_ = nullptr;
    index_t ldw_ = 0;
    char* scratch_ = nullptr;
    // The workspace of a pass is kept from call to call: fresh pages would cost 5 % of the time of
    // a pass.
    struct Workspace {
        Buffer<T> Z, weights, gradients, sums;
        Buffer<char> scratch;
    };
    static Workspace& workspace() {
        thread_local Workspace kept;
        return kept;
    }
    Workspace& space_ = workspace();
};

}  // namespace sx
