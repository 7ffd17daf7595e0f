"""All losses in all their forms: the list that drives the tests of the numerical core."""

from __future__ import annotations

from typing import NamedTuple

from separatrix.losses import LOSSES, Loss, OneVsRest


class Form(NamedTuple):
    """A loss with a number of classes and a number of outputs."""

    loss: Loss
    classes: int
    outputs: int

    def __str__(self) -> str:
        return f"{self.loss.name.replace(', ', ' ')} K={self.outputs}"


def _has_one_output(loss: Loss) -> bool:
    return loss.n_outputs(2) == 1


def _takes_many_classes(loss: Loss) -> bool:
    try:
        return loss.n_outputs(3) > 1
    except ValueError:
        return False


BINARY = [Form(loss, 2, 1) for loss in LOSSES.values() if _has_one_output(loss)]
MULTICLASS = [
    Form(loss, C, loss.n_outputs(C))
    for loss in LOSSES.values()
    if _takes_many_classes(loss)
    for C in (3, 5)
]
TWO_OUTPUTS = [Form(loss, 2, 2) for loss in LOSSES.values() if loss.n_outputs(2) == 2]
# softmax_reference with one output is the logistic loss, whose one-vs-rest form it would repeat.
ONE_VS_REST = [
    Form(OneVsRest(form.loss), 3, 3) for form in BINARY if form.loss.name != "softmax_reference"
]
FORMS = BINARY + TWO_OUTPUTS + MULTICLASS + ONE_VS_REST
SMOOTH = [form for form in FORMS if form.loss.smooth]
CONVEX = [form for form in FORMS if form.loss.convex]
COMPILED = [form for form in FORMS if form.loss.compiled]
