// The kernels of the dual solver, built once for every instruction set.
#include "core/dual_columns.hpp"
#include "core/dual_leap.hpp"
#include "core/dual_models.hpp"
#include "core/kernels.hpp"

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

template <class T>
void flows(const T* kept, index_t count, double* a) {
    for (index_t k = 0; k < count; k += lanes<double>) {
        const int here = int(count - k < lanes<double> ? count - k : lanes<double>);
        double u[lanes<double>] = {};
        for (int l = 0; l < here; ++l) u[l] = double(kept[k + l]);
        store_partial<double>(a + k, LogisticColumns<double, vec<double>>::flow(load<double>(u)),
                              here);
    }
}

extern const DualKernels<float> dual_f32;
extern const DualKernels<double> dual_f64;
const DualKernels<float> dual_f32 = {lanes<float>, dual_scratch<float>, dual_epoch<float>,
                                     leap<float>, flows<float>};
const DualKernels<double> dual_f64 = {lanes<double>, dual_scratch<double>, dual_epoch<double>,
                                      leap<double>, flows<double>};

}  // namespace SX_ISA
}  // namespace sx
