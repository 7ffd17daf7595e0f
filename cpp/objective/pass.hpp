// Passes over X that compute the value and the gradient of the objective, and products of its
// Hessian with directions. They only distribute work; the arithmetic is in the kernels.
#pragma once

#include <algorithm>

#include "matrix/products.hpp"
#include "matrix/row_sums.hpp"
#include "objective/labels.hpp"

namespace sx {

// The sums that a pass adds to: value[m] += sum of s loss, hits[m] += sum of s over correctly
// predicted rows and, if G is given, G += X^T U, gb += sum of U, with U = s scale dloss/dz. If
// `scores` (rows, N) is given, the scores are stored there.
template <class T>
struct ObjectiveSums {
    double *value, *hits;  // (models)
    T* G;                  // (features, ldg), or null
    index_t ldg;
    double* gb;  // (N)
    T* scores = nullptr;
};

// One pass over the rows of X. For each chunk it computes the scores, then the losses and their
// gradient while the scores are in the cache, then the product with X^T.
template <class T>
class ObjectivePass {
    using Padding = typename MatrixProducts<T>::Padding;

  public:
    ObjectivePass(const Engine& engine, const Data& X)
        : engine_(engine), k_(engine.kernels<T>()), X_(X), products_(engine, X) {}

    // Uses rows rows[0..count) of X, or all rows if `rows` is null.
    void value_gradient(const ModelColumns<T>& w, const Labels& labels, const LossForm& form,
                        const index_t* rows, index_t count, const ObjectiveSums<T>& out) {
        const index_t N = w.N(), B = w.models, block = k_.block_rows;
        if (N == 0) return;
        products_.prepare(w);
        const bool with_gradient = out.G != nullptr;
        const bool slabs = with_gradient && !rows && products_.by_slabs();
        const index_t need = loss_scratch<T>(w.outputs);
        const index_t rows_at_once =
            slabs ? products_.rows_together(N) : std::min(products_.chunk(N), count);
        double* values = space_.row_value.reserve(block * B * engine_.threads);
        double* hits_of_rows = space_.row_hit.reserve(block * B * engine_.threads);
        T* scratch = space_.loss_scratch.reserve(need * engine_.threads);
        const index_t blocks = products_.blocks_of(rows_at_once);
        BlockedRowSums all_values(engine_, B, blocks), all_hits(engine_, B, blocks);
        BlockedRowSums biases(engine_, N, blocks);
        // Processes one block: rows [first, first + here) of the labels, with scores Z.
        const auto evaluate = [&](const Labels& near, index_t first, index_t here, T* Z,
                                  index_t number, int worker) {
            if (out.scores) std::copy_n(Z, here * N, out.scores + first * N);
            LossBlock<T> rows_of_block =
                block_of(near, form, first, here, B, w.outputs, Z, scratch + worker * need);
            rows_of_block.value = values + worker * block * B;
            rows_of_block.hit = hits_of_rows + worker * block * B;
            rows_of_block.gradient = with_gradient;
            engine_.set->loss->evaluate(form.loss, rows_of_block);
            all_values.add(number, rows_of_block.value, here);
            all_hits.add(number, rows_of_block.hit, here);
            if (with_gradient) biases.add(number, Z, here);
        };
        const auto fold = [&](index_t count) {
            all_values.fold(count);
            all_hits.fold(count);
            if (with_gradient) biases.fold(count);
        };
        if (slabs) {
            products_.over_slabs(
                N, out.G, out.ldg, fold,
                [&](index_t first, index_t here, T* Z, index_t number, int worker) {
                    products_.score(w, nullptr, first, 0, here, Z, worker);
                    evaluate(labels, first, here, Z, number, worker);
                    return Z;
                });
            products_.count_scored(count);
        } else {
            T* Z = products_.rows_of(rows_at_once, N);
            const Padding padding =
                with_gradient ? products_.padded(Z, rows_at_once, N) : Padding{Z, N};
            for (index_t first = 0; first < count; first += rows_at_once) {
                const index_t here = std::min(rows_at_once, count - first);
                const index_t* list = rows ? rows + first : nullptr;
                const Labels near = list ? space_.listed.gather(labels, B, list, here) : labels;
                const index_t origin = list ? 0 : first;
                products_.forward(w, list, first, here, Z, [&](index_t i0, index_t i1, int worker) {
                    evaluate(near, origin + i0, i1 - i0, Z + i0 * N, i0 / block, worker);
                    if (with_gradient) padding.copy(Z, i0, i1, N);
                });
                fold(products_.blocks_of(here));
                if (with_gradient)
                    products_.backward(list, first, here, padding, N, out.G, out.ldg);
            }
        }
        all_values.put(out.value);
        all_hits.put(out.hits);
        if (with_gradient) biases.put(out.gb);
    }

    // G += X^T U, gb += sum of U, with U = s scale d2loss(Z) (X V + c). V and c are the directions
    // as columns, and Z (rows, N) the scores at which the Hessian is taken.
    void hessian_times(const ModelColumns<T>& v, const Labels& labels, const LossForm& form,
                       const T* Z, T* G, double* gb) {
        const index_t N = v.N();
        if (N == 0) return;
        products_.prepare(v);
        const index_t need = hessian_scratch<T>(v.outputs), block = k_.block_rows;
        const bool slabs = products_.by_slabs();
        const index_t rows_at_once =
            slabs ? products_.rows_together(N) : std::min(products_.chunk(N), X_.rows);
        T* scratch = space_.loss_scratch.reserve(need * engine_.threads);
        BlockedRowSums biases(engine_, N, products_.blocks_of(rows_at_once));
        // Processes one block: rows [first, first + here), with scores U along V.
        const auto apply = [&](index_t first, index_t here, T* U, index_t number, int worker) {
            T* scores = const_cast<T*>(Z + first * N);  // only read
            apply_loss_hessian(engine_, form.loss,
                               block_of(labels, form, first, here, v.models, v.outputs, scores,
                                        scratch + worker * need),
                               U);
            biases.add(number, U, here);
        };
        const auto fold = [&](index_t count) { biases.fold(count); };
        if (slabs) {
            products_.over_slabs(
                N, G, N, fold, [&](index_t first, index_t here, T* U, index_t number, int worker) {
                    products_.score(v, nullptr, first, 0, here, U, worker);
                    apply(first, here, U, number, worker);
                    return U;
                });
            products_.count_scored(X_.rows);
        } else {
            T* U = products_.rows_of(rows_at_once, N);
            const Padding padding = products_.padded(U, rows_at_once, N);
            for (index_t first = 0; first < X_.rows; first += rows_at_once) {
                const index_t here = std::min(rows_at_once, X_.rows - first);
                products_.forward(v, nullptr, first, here, U,
                                  [&](index_t i0, index_t i1, int worker) {
                                      apply(first + i0, i1 - i0, U + i0 * N, i0 / block, worker);
                                      padding.copy(U, i0, i1, N);
                                  });
                fold(products_.blocks_of(here));
                products_.backward(nullptr, first, here, padding, N, G, N);
            }
        }
        biases.put(gb);
    }

    // Replaces V by s scale d2loss(Z) V, where Z are the scores of the block.
    static void apply_loss_hessian(const Engine& engine, Loss loss, const LossBlock<T>& block,
                                   T* V) {
        engine.set->hessian->times(loss, block, V);
    }

  private:
    const Engine engine_;
    const Kernels<T>& k_;
    const Data& X_;
    MatrixProducts<T> products_;
    // Kept from call to call, like the workspace of the products.
    struct Workspace {
        Buffer<T> loss_scratch;
        Buffer<double> row_value, row_hit;
        ListedLabels listed;
    };
    static Workspace& workspace() {
        thread_local Workspace kept;
        return kept;
    }
    Workspace& space_ = workspace();
};

}  // namespace sx
