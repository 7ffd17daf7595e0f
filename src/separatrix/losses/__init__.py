"""The losses in numpy: value, gradient, Hessian-times, conjugate and balance of each.

Shapes (n samples, B models, K outputs per model, C classes):

    y (n,) or (n, B)   class numbers 0 .. C-1
    Z (n, B, K)        scores x_i W + b
    U (n, B, K)        duals, one per score
    s (n,) or (n, B)   sample weights

K = 1 is the binary form, with ty = 2 y - 1 in {-1, +1}. All losses but `squared` and
`sigmoid_mse` depend on the differences z_j - z_y only. For them one output z stands for the pair of
scores (0, z): the binary form is the multiclass form of a lifted array, so there is no second
implementation. `softmax_reference` is lifted in the same way for every K.

>>> import numpy as np
>>> Z = np.array([[[5.6, 6.4, -4.6]]])
>>> LOSSES["perceptron"].value(np.array([0]), Z).round(3)
array([[0.8]])
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.losses.cross_entropy import CrossEntropy, SigmoidSquared
from separatrix.losses.margin import CrammerSinger, Margin
from separatrix.losses.modified_huber import ModifiedHuber
from separatrix.losses.one_vs_rest import OneVsRest
from separatrix.losses.protocol import Loss
from separatrix.losses.squared import Squared

__all__ = ["LOSSES", "Loss", "OneVsRest", "make_loss"]

_ALL: tuple[Loss, ...] = (
    Margin(
        "perceptron",
        "perceptron loss, the sum over j != y of max(0, z_j - z_y) (one output: max(0, -y z))",
        native_code=0,
    ),
    Margin(
        "hinge",
        "hinge, the sum over j != y of max(0, {margin} + z_j - z_y) "
        "(one output: max(0, {margin} - y z))",
        native_code=0,
        margin=1.0,
    ),
    CrammerSinger(
        "crammer_singer",
        "Crammer-Singer hinge max(0, {margin} + z_j - z_y) of the worst j != y",
        native_code=2,
        outputs="all",
        margin=1.0,
    ),
    Margin(
        "squared_hinge",
        "squared hinge, the sum over j != y of max(0, {margin} + z_j - z_y)^2 "
        "(one output: max(0, {margin} - y z)^2)",
        native_code=1,
        margin=1.0,
        power=2,
    ),
    ModifiedHuber(
        "modified_huber",
        "modified Huber loss max(0, 1 - y z)^2, continued as the line -4 y z below y z = -1",
        native_code=8,
        outputs="one",
    ),
    CrossEntropy("logistic", "cross-entropy log(1 + exp(-y z))", native_code=3, outputs="one"),
    CrossEntropy(
        "softmax", "cross-entropy log(sum_j exp(z_j)) - z_y", native_code=4, outputs="all"
    ),
    CrossEntropy(
        "softmax_reference",
        "cross-entropy log(1 + sum_j exp(z_j)) - z_y, the first class's score being 0",
        native_code=5,
        outputs="all but the first",
    ),
    Squared(),
    SigmoidSquared(
        "sigmoid_mse",
        "squared error of the sigmoid (y - sigma(z))^2 / 2, not convex",
        native_code=7,
        outputs="one",
    ),
)

LOSSES: dict[str, Loss] = {loss.name: loss for loss in _ALL}


def make_loss(name: str, margin: float | None = None) -> Loss:
    """Return the loss called `name`, with another margin if one is given.

    >>> make_loss("hinge", margin=0.5).margin
    0.5
    """
    if name not in LOSSES:
        raise ParameterError(
            Message(
                "{loss:subject} must be one of {known}. Got {given!r} instead.",
                loss=Parameter("loss"),
                known=_quoted(LOSSES),
                given=name,
            )
        )
    loss = LOSSES[name]
    if margin is None:
        return loss
    if name == "perceptron" and margin != 0:
        raise ParameterError(
            f"The 'margin' parameter of loss 'perceptron' must be 0. Got {margin!r} instead. "
            "Use 'hinge' for a margin.",
            parameter="margin",
        )
    if not isinstance(loss, Margin):
        adjustable = [
            other.name for other in _ALL if isinstance(other, Margin) and other.margin > 0.0
        ]
        raise ParameterError(
            f"Loss '{name}' has no margin. Got margin={margin!r}. "
            f"Losses with a margin: {_quoted(adjustable)}.",
            parameter="margin",
        )
    if name != "perceptron" and not (math.isfinite(margin) and margin > 0):
        raise ParameterError(
            f"The 'margin' parameter of loss '{name}' must be finite and > 0. "
            f"Got {margin!r} instead.",
            parameter="margin",
        )
    return replace(loss, margin=float(margin))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
