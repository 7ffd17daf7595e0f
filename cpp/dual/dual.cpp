// The kernels of the dual solver, built once for every instruction set.
#include "dual/column_epoch.hpp"
#include "dual/coupled_epoch.hpp"
#include "dual/newton_step.hpp"
#include "losses/dispatch.hpp"

namespace sx {
inline namespace SX_ISA {

template <class T>
void dual_epoch(const DualTask<T>& task, const std::int32_t* order, index_t blocks,
                const EpochResult<T>& found) {
    with_dual(task.loss, task.coupled, [&]<class L, class Dual>(L, Dual) {
        if constexpr (std::is_same_v<Dual, typename L::CoupledDual>)
            coupled_epoch<L, Dual>(task, order, blocks, found);
        else
            column_epoch<Dual>(task, order, blocks, found);
    });
}

// to = f(from), in the type of `to`: whole vectors first, then the rest.
template <class To, class From, class F>
SX_INLINE void apply(const From* from, index_t count, To* to, const F& f) {
    alignas(64) To x[lanes<To>] = {};
    index_t k = 0;
    for (; k + lanes<To> <= count; k += lanes<To>) {
        for (index_t l = 0; l < lanes<To>; ++l) x[l] = To(from[k + l]);
        store<To>(to + k, f(load<To>(x)));
    }
    if (k == count) return;
    for (index_t l = 0; l < count - k; ++l) x[l] = To(from[k + l]);
    store_partial<To>(to + k, f(load<To>(x)), int(count - k));
}

// sigma(-logit)
template <class T, class To>
void alphas_of(const T* logits, index_t count, To* alpha) {
    apply(logits, count, alpha, [](vec<To> u) { return LogisticDual::alpha_of<To, vec<To>>(u); });
}

// log(1 + exp(-logit))
template <class T>
void losses_of(const T* logits, index_t count, T* loss) {
    apply(logits, count, loss,
          [](vec<T> u) { return positive_part(-u) + log1p<T>(exp<T>(-abs<T>(u))); });
}

template <class T>
constexpr DualKernels<T> dual_table() {
    return {.lanes = lanes<T>,
            .scratch = coupled_scratch<T>,
            .epoch = dual_epoch<T>,
            .newton_step = newton_step<T>,
            .scores = row_scores<T>,
            .alphas = alphas_of<T, T>,
            .alphas_f64 = alphas_of<T, double>,
            .losses = losses_of<T>};
}

extern const DualKernels<float> dual_f32;
extern const DualKernels<double> dual_f64;
const DualKernels<float> dual_f32 = dual_table<float>();
const DualKernels<double> dual_f64 = dual_table<double>();

}  // namespace SX_ISA
}  // namespace sx
