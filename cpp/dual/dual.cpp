// The kernels of the dual solver, built once for every instruction set.
#include "dual/columns.hpp"
#include "dual/models.hpp"
#include "dual/newton_step.hpp"
#include "engine/kernel_set.hpp"

namespace sx {
inline namespace SX_ISA {

template <class T>
void dual_epoch(const DualTask<T>& task, const std::int32_t* order, index_t blocks,
                const DualFound<T>& found) {
    switch (task.form) {
        case DualForm::hinge:
            return column_epoch<HingeColumns>(task, order, blocks, found);
        case DualForm::squared_hinge:
            return column_epoch<SquaredHingeColumns>(task, order, blocks, found);
        case DualForm::logistic:
            return column_epoch<LogisticColumns>(task, order, blocks, found);
        case DualForm::sum_of_hinges:
            return model_epoch<MarginOutputs<false>>(task, order, blocks, found);
        case DualForm::sum_of_squared_hinges:
            return model_epoch<MarginOutputs<true>>(task, order, blocks, found);
        case DualForm::crammer_singer:
            return model_epoch<CrammerSingerOutputs>(task, order, blocks, found);
        case DualForm::softmax:
            return model_epoch<SoftmaxOutputs<false>>(task, order, blocks, found);
        case DualForm::softmax_reference:
            return model_epoch<SoftmaxOutputs<true>>(task, order, blocks, found);
    }
}

// to = f(from), in the type of `to`: whole vectors at a time, and what is left.
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

template <class T, class To>
void flows(const T* kept, index_t count, To* a) {
    apply(kept, count, a, [](vec<To> u) { return LogisticColumns<To, vec<To>>::flow(u); });
}

template <class T>
void losses(const T* kept, index_t count, T* loss) {
    apply(kept, count, loss, [](vec<T> u) { return positive(-u) + log1p<T>(exp<T>(-abs<T>(u))); });
}

extern const DualKernels<float> dual_f32;
extern const DualKernels<double> dual_f64;
const DualKernels<float> dual_f32 = {lanes<float>,         dual_scratch<float>, dual_epoch<float>,
                                     leap<float>,          row_scores<float>,   flows<float, float>,
                                     flows<float, double>, losses<float>};
const DualKernels<double> dual_f64 = {
    lanes<double>,      dual_scratch<double>,  dual_epoch<double>,    leap<double>,
    row_scores<double>, flows<double, double>, flows<double, double>, losses<double>};

}  // namespace SX_ISA
}  // namespace sx
