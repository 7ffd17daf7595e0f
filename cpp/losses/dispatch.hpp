// Maps the number of a loss to its descriptor. This is the only place that lists all losses.
//
// A descriptor defines everything the library needs from a loss as static members:
//   loss_binary(lane)         loss and gradient of one output, and whether the prediction is
//                             correct (hit), for a vector of lanes
//   loss_multiclass(lane)     the same for several outputs; without it, losses of one class against
//                             the rest are summed
//   hessian_binary(lane), hessian_multiclass(lane)    products of the second derivative with a
//                             direction; missing if the loss is not smooth
//   separable_outputs, coupling, shift_invariant, first_class    how outputs depend on each other
//   has_conjugate, alpha_bound, most_alpha, conjugate_term, conjugate_sum, entropy    see
//                             conjugate.hpp
//   ColumnDual, CoupledDual   how the dual solver visits a row, see dual_row.hpp; void if it cannot
// LossDescriptor in loss.hpp has the defaults. To add a loss, write a file like the ones included
// here, add a number to loss.hpp and a line to with_loss.
#pragma once

#include <type_traits>

#include "losses/crammer_singer.hpp"
#include "losses/hinge.hpp"
#include "losses/logistic.hpp"
#include "losses/modified_huber.hpp"
#include "losses/sigmoid_mse.hpp"
#include "losses/softmax.hpp"
#include "losses/squared.hpp"

namespace sx {
inline namespace SX_ISA {

// Calls run(descriptor).
template <class Run>
SX_INLINE void with_loss(Loss loss, const Run& run) {
    switch (loss) {
        case Loss::hinge:
            return run(Hinge());
        case Loss::squared_hinge:
            return run(SquaredHinge());
        case Loss::crammer_singer:
            return run(CrammerSinger());
        case Loss::logistic:
            return run(Logistic());
        case Loss::softmax:
            return run(Softmax());
        case Loss::softmax_reference:
            return run(SoftmaxReference());
        case Loss::squared:
            return run(Squared());
        case Loss::sigmoid_mse:
            return run(SigmoidMse());
        case Loss::modified_huber:
            return run(ModifiedHuber());
    }
}

template <class L>
concept HasBinary = requires(LossLanes<double>& lane) { L::loss_binary(lane); };
template <class L>
concept HasMulticlass = requires(LossLanes<double>& lane) { L::loss_multiclass(lane); };
template <class L>
concept HasHessian = requires(HessianLanes<double>& lane) { L::hessian_binary(lane); } ||
                     requires(HessianLanes<double>& lane) { L::hessian_multiclass(lane); };

// Calls run.template operator()<Form, binary>(). Form is the descriptor, or the sum of its binary
// losses of one class against the rest.
template <class L, class Run>
SX_INLINE void with_form(std::int64_t outputs, bool one_vs_rest, const Run& run) {
    if constexpr (HasBinary<L>) {
        if (outputs == 1) return run.template operator()<L, true>();
        if (one_vs_rest || !HasMulticlass<L>) return run.template operator()<OneVsRest<L>, false>();
    }
    if constexpr (HasMulticlass<L>) run.template operator()<L, false>();
}

// Calls run(descriptor, dual) with the rule by which the dual solver visits a row: ColumnDual if
// every column is a separate problem, CoupledDual if the outputs of a model are coupled. Does
// nothing if the loss has no such rule.
template <class Run>
SX_INLINE void with_dual(Loss loss, bool coupled, const Run& run) {
    with_loss(loss, [&]<class L>(L descriptor) {
        const auto call = [&]<class Dual>() {
            if constexpr (!std::is_void_v<Dual>) run(descriptor, Dual());
        };
        if (coupled)
            call.template operator()<typename L::CoupledDual>();
        else
            call.template operator()<typename L::ColumnDual>();
    });
}

}  // namespace SX_ISA
}  // namespace sx
