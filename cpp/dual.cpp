// The kernels of the dual solver, built once for every instruction set.
#include "core/dual_columns.hpp"
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

extern const DualKernels<float> dual_f32;
extern const DualKernels<double> dual_f64;
const DualKernels<float> dual_f32 = {lanes<float>, dual_scratch<float>, dual_epoch<float>};
const DualKernels<double> dual_f64 = {lanes<double>, dual_scratch<double>, dual_epoch<double>};

}  // namespace SX_ISA
}  // namespace sx
