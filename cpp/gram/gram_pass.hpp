// The pass that computes weighted Gram matrices. It only distributes work; the arithmetic is in the
// kernels.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/buffer.hpp"
#include "engine/engine.hpp"
#include "matrix/data.hpp"

namespace sx {

// H (columns, d + 1, d + 1), H_p = sum_i h_ip [x_i; 1] [x_i; 1]^T, as full symmetric matrices. If
// `origin` is not null, it is subtracted from every x_i.
class GramPass {
  public:
    GramPass(const Engine& engine, const Data& X, const double* origin)
        : engine_(engine), k_(*engine.set->gram), X_(X), origin_(origin) {}

    void run(const double* h, index_t columns, double* H) {
        if (columns == 0) return;
        if (X_.sparse)
            sparse(h, columns, H);
        else
            dense(h, columns, H);
        engine_.read->backward += X_.rows;
    }

  private:
    static constexpr index_t tile_bytes = 1 << 19;  // the sums of a task stay in the cache
    static constexpr index_t depth = 384;  // rows of a dense chunk that are weighted together

    index_t order() const { return X_.columns + 1; }

    // Rows of a sparse X that are summed together. Large enough that adding up the slabs costs
    // little.
    index_t slab() const { return X_.rows <= 16384 ? 2048 : 8192; }

    static void put(double* H, index_t order, index_t j, index_t k, double value) {
        H[j * order + k] = value;
        H[k * order + j] = value;
    }

    // Some columns of h, and a range of rows of the triangle.
    struct Task {
        index_t c, width, j0, j1;
        index_t numbers() const { return (j1 * (j1 + 1) - j0 * (j0 + 1)) / 2 * width; }
    };

    // Cuts the columns into tiles as wide as possible, and each tile into ranges of rows of the
    // triangle: about `shares` ranges of equal work in total, or more if their sums would not fit
    // the cache.
    std::vector<Task> tasks(index_t columns, index_t shares) const {
        const index_t lanes = engine_.set->f64.lanes, D = order();
        const Data::Bounds work = shares > 1 ? X_.pair_counts() : nullptr;
        std::vector<Task> out;
        for (index_t c = 0; c < columns;) {
            index_t width = columns == 1 ? 1 : lanes;
            while (width > 1 && width < k_.widest && 2 * width <= columns - c + lanes - 1)
                width *= 2;
            const index_t tiles = (columns + width - 1) / width;
            const index_t of_tile = std::max<index_t>(1, shares / tiles);
            const double share = work ? double((*work)[D]) / double(of_tile) : 0.0;
            for (index_t j0 = 0, j1; j0 < D; j0 = j1) {
                for (j1 = j0 + 1; j1 < D; ++j1) {
                    const Task longer{c, width, j0, j1 + 1};
                    if (longer.numbers() * index_t(sizeof(double)) > tile_bytes) break;
                    if (work && double((*work)[j1 + 1] - (*work)[j0]) > share) break;
                }
                out.push_back({c, width, j0, j1});
            }
            c += width;
        }
        return out;
    }

    // Sums the rows slab by slab, and adds up the slabs in order. If there are enough tasks, each
    // runs on one thread; otherwise the slabs of a task are distributed to the threads.
    void sparse(const double* h, index_t columns, double* H) {
        const index_t threads = engine_.threads, D = order();
        std::vector<Task> all = tasks(columns, 1);
        const bool alone = index_t(all.size()) < threads;
        if (!alone) all = tasks(columns, threads);
        const double entries = double(X_.by_sample.offset(X_.rows)) + double(X_.rows);
        const double pairs = 0.5 * entries * entries / double(std::max<index_t>(X_.rows, 1));
        const index_t slabs = std::max<index_t>(1, (X_.rows + slab() - 1) / slab());
        std::vector<Buffer<double>> parts(threads), sums(threads), rows(threads);
        const auto add = [&](const Task& task, index_t number, int worker, double* to) {
            std::fill_n(to, task.numbers(), 0.0);
            const index_t first = number * slab(), last = std::min(X_.rows, first + slab());
            k_.sparse(X_.by_sample.rows_from(first, last - first),
                      {h + first * columns, columns, task.c, task.width, task.j0, task.j1, to,
                       origin_, rows[worker].reserve(D)});
        };
        const auto fold = [](const Task& task, const double* from, double* to) {
            for (index_t k = 0; k < task.numbers(); ++k) to[k] += from[k];
        };
        if (!alone) {
            engine_.loop(index_t(all.size()), pairs * columns, [&](index_t number, int worker) {
                const Task& task = all[number];
                double* part = parts[worker].reserve(task.numbers());
                double* sum = sums[worker].reserve(task.numbers());
                add(task, 0, worker, sum);
                for (index_t next = 1; next < slabs; ++next) {
                    add(task, next, worker, part);
                    fold(task, part, sum);
                }
                put_all(task, sum, columns, H);
            });
            return;
        }
        for (const Task& task : all) {
            const index_t together = std::min(slabs, threads);
            for (index_t k = 0; k < together; ++k) parts[k].reserve(task.numbers());
            double* sum = sums[0].reserve(task.numbers());
            std::fill_n(sum, task.numbers(), 0.0);
            for (index_t first = 0; first < slabs; first += together) {
                const index_t here = std::min(together, slabs - first);
                engine_.loop(here, pairs * columns, [&](index_t k, int worker) {
                    add(task, first + k, worker, parts[k].reserve(0));
                });
                for (index_t k = 0; k < here; ++k) fold(task, parts[k].reserve(0), sum);
            }
            put_all(task, sum, columns, H);
        }
    }

    void put_all(const Task& task, const double* sums, index_t columns, double* H) const {
        const index_t D = order();
        for (index_t p = 0; p < std::min(task.width, columns - task.c); ++p) {
            const double* from = sums + p;
            for (index_t j = task.j0; j < task.j1; ++j)
                for (index_t k = 0; k <= j; ++k, from += task.width)
                    put(H + (task.c + p) * D * D, D, j, k, *from);
        }
    }

    // Computes X^T (h o [X, 1]) by strips of its rows. A strip needs only the columns up to its
    // diagonal. If there is an origin, it is subtracted from a copy of the chunk's rows: correcting
    // the products afterwards would lose digits. If most weights of a column are 0, as for rows
    // beyond a margin, only the other rows are gathered.
    void dense(const double* h, index_t columns, double* H) {
        const Kernels<double>& k = engine_.set->f64;
        const index_t D = order(), d = X_.columns, block = strip_rows(columns);
        const index_t strips = (d + block - 1) / block;
        const std::vector<double> zero(D);
        const double* origin = origin_ ? origin_ : zero.data();
        struct Space {
            Buffer<double> panels, sums, strip;
            Buffer<char> scratch;
        };
        std::vector<Space> space(engine_.threads);
        const WeightedRows weighted = find_weighted_rows(h, columns);
        const double multiply_adds = 0.5 * double(X_.rows) * d * d * columns;
        engine_.loop(strips * columns, multiply_adds, [&](index_t task, int worker) {
            const index_t p = task % columns, j1 = d - task / columns * block;  // long strips first
            const index_t j0 = std::max<index_t>(0, j1 - block);
            const index_t N = j1 + 1;
            double* panels = space[worker].panels.reserve(std::min(depth, X_.rows) * k.padded(N));
            double* sums = space[worker].sums.reserve(block * N);
            char* scratch = space[worker].scratch.reserve(k.scratch);
            std::fill_n(sums, block * N, 0.0);
            const index_t width = j1 - j0;
            const bool few = weighted.few[p];
            for (index_t first = weighted.start[p]; first < weighted.start[p + 1]; first += depth) {
                const index_t here = std::min(depth, weighted.start[p + 1] - first);
                double* part = space[worker].strip.reserve(depth * j1);
                gather(weighted.rows.data() + first, here, j1, origin, part);
                const DenseView view = {part, Type::f64, here, j1, j1, 1};
                k_.weigh(view, 0, here, weighted.weights.data() + first, 1, zero.data(), j1,
                         panels);
                k.multiply({view, nullptr, 0, true}, j0, j1, here, panels, N, sums - j0 * N, N,
                           scratch);
            }
            double* strip = origin_ ? space[worker].strip.reserve(depth * width) : nullptr;
            for (index_t first = 0; !few && first < X_.rows; first += depth) {
                const index_t here = std::min(depth, X_.rows - first);
                k_.weigh(X_.dense, first, here, h + first * columns + p, columns, origin, j1,
                         panels);
                DenseOperand left = {X_.dense, nullptr, first, true};
                if (strip) {
                    centre(first, here, j0, width, strip);
                    left = {{strip, Type::f64, here, width, width, 1}, nullptr, 0, true};
                }
                const index_t at = strip ? 0 : j0;
                k.multiply(left, at, at + width, here, panels, N, sums - at * N, N, scratch);
            }
            double* out = H + p * D * D;
            for (index_t j = j0; j < j1; ++j) {
                const double* row = sums + (j - j0) * N;
                for (index_t m = 0; m <= j; ++m) put(out, D, j, m, row[m]);
                put(out, D, d, j, row[j1]);
            }
        });
        for (index_t p = 0; p < columns; ++p) H[p * D * D + D * D - 1] = 0;
        for (index_t i = 0; i < X_.rows; ++i)
            for (index_t p = 0; p < columns; ++p) H[p * D * D + D * D - 1] += h[i * columns + p];
    }

    // The columns of h in which fewer than half the weights are not 0 (`few`), with the rows and
    // values of these weights, one column after another.
    struct WeightedRows {
        std::vector<char> few;
        std::vector<index_t> start, rows;
        std::vector<double> weights;
    };

    // Makes two sweeps along the rows of h. Going column by column would touch a new page for every
    // number.
    WeightedRows find_weighted_rows(const double* h, index_t columns) const {
        std::vector<index_t> next(columns, 0);
        for (index_t i = 0; i < X_.rows; ++i)
            for (index_t p = 0; p < columns; ++p) next[p] += h[i * columns + p] != 0;
        WeightedRows out{std::vector<char>(columns), std::vector<index_t>(columns + 1, 0), {}, {}};
        for (index_t p = 0; p < columns; ++p) {
            out.few[p] = next[p] < X_.rows / 2;
            out.start[p + 1] = out.start[p] + (out.few[p] ? next[p] : 0);
            next[p] = out.start[p];
        }
        out.rows.resize(out.start[columns]);
        out.weights.resize(out.start[columns]);
        for (index_t i = 0; i < X_.rows && !out.rows.empty(); ++i)
            for (index_t p = 0; p < columns; ++p)
                if (h[i * columns + p] != 0 && out.few[p]) {
                    out.rows[next[p]] = i;
                    out.weights[next[p]++] = h[i * columns + p];
                }
        return out;
    }

    // Copies the first `width` columns of the listed rows of X, minus the origin.
    void gather(const index_t* rows, index_t count, index_t width, const double* origin,
                double* out) const {
        const DenseView& X = X_.dense;
        with_element_type(X.type, [&]<class Source>(Source) {
            const Source* data = static_cast<const Source*>(X.data);
            for (index_t i = 0; i < count; ++i, out += width) {
                const Source* row = data + rows[i] * X.row_stride;
                for (index_t c = 0; c < width; ++c)
                    out[c] = double(row[c * X.column_stride]) - origin[c];
            }
        });
    }

    // Copies rows [first, first + count), columns [j0, j0 + width) of X, minus the origin.
    void centre(index_t first, index_t count, index_t j0, index_t width, double* out) const {
        const DenseView& X = X_.dense;
        with_element_type(X.type, [&]<class Source>(Source) {
            const Source* row = static_cast<const Source*>(X.data) + first * X.row_stride;
            for (index_t i = 0; i < count; ++i, row += X.row_stride, out += width)
                for (index_t c = 0; c < width; ++c)
                    out[c] = double(row[(j0 + c) * X.column_stride]) - origin_[j0 + c];
        });
    }

    // The number of rows of a strip: as many as the product packs together, fewer if threads would
    // be idle.
    index_t strip_rows(index_t columns) const {
        index_t block = engine_.set->f64.block_rows;
        while (block > 16 && columns * X_.columns < 2 * block * engine_.threads) block /= 2;
        return block;
    }

    const Engine engine_;
    const GramKernels& k_;
    const Data& X_;
    const double* origin_;
};

}  // namespace sx
