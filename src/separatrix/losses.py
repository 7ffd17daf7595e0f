"""The losses: value, gradient, Hessian-times, conjugate and balance of each, in numpy.

Shapes (n samples, B models, K outputs per model, C classes):

    y (n,) or (n, B)   class numbers 0 .. C-1
    Z (n, B, K)        scores x_i W + b
    U (n, B, K)        duals, one per score
    s (n,) or (n, B)   sample weights

K = 1 is the binary form, with ty = 2 y - 1 in {-1, +1}. All losses but `squared` and
`sigmoid_mse` see the scores through the differences z_j - z_y only. For them one output z is
the pair of scores (0, z), so that the binary form is the multiclass form of a lifted array and
is not written a second time. `softmax_reference` is lifted in the same way for every K.

>>> import numpy as np
>>> Z = np.array([[[5.6, 6.4, -4.6]]])
>>> LOSSES["perceptron"].value(np.array([0]), Z).round(3)
array([[0.8]])
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from separatrix.balance import balance_flows

__all__ = ["LOSSES", "Loss", "OneVsRest", "make_loss"]

Array: TypeAlias = NDArray[Any]

# Added to the number of a loss's kernel for its one-vs-rest form.
ONE_VS_REST = 16

# Duals come from sums of some hundred rounded terms: they may leave a domain by this many eps.
DOMAIN_TOLERANCE = 512

# Scores of +-1e300 overflow and underflow on the way to the right limits.
_quiet = np.errstate(all="ignore")


@runtime_checkable
class Loss(Protocol):
    """What solvers, certificates and printing need of a loss.

    `curvature_of(K)` bounds |second derivative| along a unit direction of K scores; None where
    there is no second derivative. `curvature` is that bound where it is the same for every K; for
    `squared_hinge`, whose bound grows as 2 K, it is the one of the binary form. `kernel` is the
    number by which compiled code knows the loss (used only where `compiled`), `margin` its margin
    (0.0 where it has none) and `words` its formula for a reader.
    """

    @property
    def name(self) -> str: ...
    @property
    def convex(self) -> bool: ...
    @property
    def smooth(self) -> bool: ...
    @property
    def curvature(self) -> float | None: ...
    @property
    def compiled(self) -> bool: ...
    @property
    def kernel(self) -> int: ...
    @property
    def margin(self) -> float: ...
    @property
    def words(self) -> str: ...

    def n_outputs(self, n_classes: int) -> int: ...
    def curvature_of(self, n_outputs: int) -> float | None: ...
    def value(self, y: Array, Z: Array) -> Array: ...
    def gradient(self, y: Array, Z: Array) -> Array: ...
    def hessian_times(self, y: Array, Z: Array, V: Array) -> Array: ...
    def conjugate(self, y: Array, U: Array) -> Array: ...
    def balance(self, y: Array, U: Array, s: Array) -> Array: ...
    def probabilities(self, Z: Array) -> Array | None: ...
    def predict(self, Z: Array) -> Array: ...


@dataclass(frozen=True)
class ClassDifferences:
    """The common part of the losses that depend on z_j - z_y, j != y, only.

    Such a loss has a gradient of one shape: flows a_j >= 0 on the wrong classes and
    -sum_j a_j on the true one. Its conjugate is finite for such U only, and is a function of
    the flows. A subclass says what its flows are, how large they may be and what they cost.
    """

    name: str
    kernel: int
    formula: str  # for a reader; {margin} stands for the margin
    outputs: str = "one or all"  # or "one", "all", "all but the first"
    margin: float = 0.0
    convex: bool = True
    compiled: bool = True

    @property
    def words(self) -> str:
        return f"mean {self.formula.format(margin=f'{self.margin:.12g}')}"

    @property
    def curvature(self) -> float | None:
        return self.curvature_of(1 if self.outputs.startswith("one") else 2)

    def curvature_of(self, n_outputs: int) -> float | None:
        raise NotImplementedError

    def n_outputs(self, n_classes: int) -> int:
        return _count_outputs(self.name, self.outputs, n_classes)

    @_quiet
    def value(self, y: Array, Z: Array) -> Array:
        scores = self._lift(Z)
        return self._value(scores, _own(y, scores))

    @_quiet
    def gradient(self, y: Array, Z: Array) -> Array:
        scores = self._lift(Z)
        own = _own(y, scores)
        return self._drop(_close(self._flows(scores, own), own), Z)

    @_quiet
    def hessian_times(self, y: Array, Z: Array, V: Array) -> Array:
        scores = self._lift(Z)
        return self._drop(self._hessian_times(scores, _own(y, scores), self._lift(V)), Z)

    @_quiet
    def conjugate(self, y: Array, U: Array) -> Array:
        duals = self._lift_duals(U)
        own = _own(y, duals)
        size = np.maximum(1.0, np.abs(duals).max(axis=2))
        tolerance = DOMAIN_TOLERANCE * np.finfo(duals.dtype).eps * size
        raw = np.where(own, 0.0, duals)
        flows = np.maximum(raw, 0.0)
        inside = (
            (np.abs(duals.sum(axis=2)) <= tolerance)
            & (raw.min(axis=2) >= -tolerance)
            & (self._extent(flows) <= 1.0 + tolerance)
        )
        return np.where(inside, self._conjugate(flows), np.inf).astype(U.dtype, copy=False)

    @_quiet
    def balance(self, y: Array, U: Array, s: Array) -> Array:
        duals = self._lift_duals(U)
        own = _own(y, duals)
        flows = np.where(own, 0.0, np.maximum(duals, 0.0)).astype(np.float64, copy=False)
        balanced = _close(balance_flows(flows, own, _per_model(s)), own)
        return self._drop(balanced, U).astype(U.dtype, copy=False)

    def probabilities(self, Z: Array) -> Array | None:
        return None

    def predict(self, Z: Array) -> Array:
        return _predict(Z if Z.shape[2] == 1 else self._lift(Z))

    def _is_lifted(self, Z: Array) -> bool:
        return Z.shape[2] == 1 or self.outputs == "all but the first"

    def _lift(self, Z: Array) -> Array:
        return _prepend(np.zeros_like(Z[:, :, :1]), Z) if self._is_lifted(Z) else Z

    def _lift_duals(self, U: Array) -> Array:
        return _prepend(-U.sum(axis=2, keepdims=True), U) if self._is_lifted(U) else U

    def _drop(self, lifted: Array, like: Array) -> Array:
        return lifted[:, :, 1:] if self._is_lifted(like) else lifted

    def _value(self, Z: Array, own: Array) -> Array:
        raise NotImplementedError

    def _flows(self, Z: Array, own: Array) -> Array:
        """Gradient on the wrong classes; what stands at the true class is ignored."""
        raise NotImplementedError

    def _hessian_times(self, Z: Array, own: Array, V: Array) -> Array:
        raise NotImplementedError

    def _extent(self, flows: Array) -> Array:
        """The quantity (n, B) that is at most 1 inside the domain of the conjugate."""
        raise NotImplementedError

    def _conjugate(self, flows: Array) -> Array:
        raise NotImplementedError


@dataclass(frozen=True)
class Margin(ClassDifferences):
    """Perceptron, hinge (Weston-Watkins) and squared hinge.

        loss(y, z) = sum_{j != y} max(0, margin + z_j - z_y)^power

    and max(0, margin - ty z)^power with one output. At a tie the term counts as violated.
    Conjugate: sum_j -margin a_j for flows a_j in [0, 1] (power 1), sum_j a_j^2/4 - margin a_j for
    a_j >= 0 (power 2). With a violated terms the Hessian is twice the Laplacian of a star with
    a <= K - 1 leaves, whose largest eigenvalue is a + 1: at most 2 K (2 with one output).

    See J. Weston and C. Watkins, Support vector machines for multi-class pattern recognition,
    ESANN 1999.
    """

    power: int = 1

    @property
    def smooth(self) -> bool:
        return self.power == 2

    def curvature_of(self, n_outputs: int) -> float | None:
        return 2.0 * n_outputs if self.smooth else None

    def predict(self, Z: Array) -> Array:
        """With no margin a tie is class 1: the perceptron's rule has no mistake there."""
        if self.margin == 0.0 and Z.shape[2] == 1:
            return (Z[:, :, 0] >= 0).astype(np.int32)
        return super().predict(Z)

    def _terms(self, Z: Array, own: Array) -> Array:
        """margin + z_j - z_y, and -inf at the true class, where there is no term."""
        return np.where(own, -np.inf, self.margin + (Z - _at(Z, own))).astype(Z.dtype, copy=False)

    def _value(self, Z: Array, own: Array) -> Array:
        return (np.maximum(self._terms(Z, own), 0.0) ** self.power).sum(axis=2)

    def _flows(self, Z: Array, own: Array) -> Array:
        terms = self._terms(Z, own)
        return 2.0 * np.maximum(terms, 0.0) if self.smooth else (terms >= 0.0).astype(Z.dtype)

    def _hessian_times(self, Z: Array, own: Array, V: Array) -> Array:
        if not self.smooth:
            raise ValueError(
                f"Loss '{self.name}' has no second derivative: it is not smooth. "
                "Smooth losses of this family: 'squared_hinge'."
            )
        return _close(np.where(self._terms(Z, own) >= 0.0, 2.0 * (V - _at(V, own)), 0.0), own)

    def _extent(self, flows: Array) -> Array:
        return np.zeros_like(flows[:, :, 0]) if self.smooth else flows.max(axis=2)

    def _conjugate(self, flows: Array) -> Array:
        quadratic = 0.25 * flows**2 if self.smooth else 0.0
        return (quadratic - self.margin * np.minimum(flows, self._cap)).sum(axis=2)

    @property
    def _cap(self) -> float:
        return math.inf if self.smooth else 1.0


@dataclass(frozen=True)
class CrammerSinger(Margin):
    """The multiclass hinge that counts the worst class only.

        loss(y, z) = max(0, max_{j != y} margin + z_j - z_y)

    The gradient lies on the first worst class. Conjugate: -margin sum_j a_j for flows a_j >= 0
    with sum_j a_j <= 1.

    See K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based
    vector machines, JMLR 2001.
    """

    def _value(self, Z: Array, own: Array) -> Array:
        return np.maximum(self._terms(Z, own).max(axis=2), 0.0)

    def _flows(self, Z: Array, own: Array) -> Array:
        terms = self._terms(Z, own)
        worst = terms.argmax(axis=2)[:, :, None]
        first = np.arange(Z.shape[2]) == worst
        return (first & (terms >= 0.0)).astype(Z.dtype)

    def _extent(self, flows: Array) -> Array:
        return flows.sum(axis=2)

    def _conjugate(self, flows: Array) -> Array:
        return -self.margin * np.minimum(flows.sum(axis=2), 1.0)


@dataclass(frozen=True)
class CrossEntropy(ClassDifferences):
    """Logistic, softmax and softmax with a reference class.

        loss(y, z) = log sum_j exp(z_j) - z_y,    gradient p - e_y,    p = softmax(z)

    With one output, or a reference class, a score 0 stands first: log(1 + exp(-ty z)).
    Conjugate: sum_j p_j log p_j for p = U + e_y in the simplex. The second derivative along v is
    the variance of v under p, at most (max v - min v)^2 / 4: 1/2 for unit v, 1/4 for one output
    beside a fixed 0.
    """

    smooth: bool = True

    def curvature_of(self, n_outputs: int) -> float | None:
        return 0.25 if n_outputs == 1 and self.outputs != "all" else 0.5

    @_quiet
    def probabilities(self, Z: Array) -> Array | None:
        return _softmax(self._lift(Z))[0]

    def _value(self, Z: Array, own: Array) -> Array:
        _, rest = _softmax(Z)
        return np.log1p(rest) + (Z.max(axis=2) - _at(Z, own)[:, :, 0])

    def _flows(self, Z: Array, own: Array) -> Array:
        return _softmax(Z)[0]

    def _hessian_times(self, Z: Array, own: Array, V: Array) -> Array:
        P, _ = _softmax(Z)
        return P * (V - (P * V).sum(axis=2, keepdims=True))

    def _extent(self, flows: Array) -> Array:
        return flows.sum(axis=2)

    def _conjugate(self, flows: Array) -> Array:
        total = np.minimum(flows.sum(axis=2), 1.0)
        below = np.where(total < 1.0, total, 0.0)  # 0 log 0 is 0
        wrong = flows * np.log(np.where(flows > 0.0, flows, 1.0))
        return (1.0 - below) * np.log1p(-below) + wrong.sum(axis=2)


@dataclass(frozen=True)
class SigmoidSquared(ClassDifferences):
    """Squared error on a sigmoid: not convex, kept to show why it is not used.

        loss(y, z) = (y - sigma(z))^2 / 2 = r^2 / 2,    r = sigma(-ty z)

    First derivative -ty r^2 (1 - r), second r^2 (1 - r) (2 - 3 r): negative where r > 2/3. Its
    stationary points in r solve 12 r^2 - 15 r + 4 = 0; the one at (15 - sqrt 33) / 24 has the
    larger modulus (0.0770 against 0.0601), which is the curvature.
    """

    convex: bool = False
    smooth: bool = True

    def curvature_of(self, n_outputs: int) -> float | None:
        r = (15.0 - math.sqrt(33.0)) / 24.0
        return r * r * (1.0 - r) * (2.0 - 3.0 * r)

    def conjugate(self, y: Array, U: Array) -> Array:
        raise ValueError(
            f"Loss '{self.name}' has no conjugate: it is not convex, so it has no duality gap. "
            "Judge its fits by the gradient norm, or use 'logistic'."
        )

    def balance(self, y: Array, U: Array, s: Array) -> Array:
        return self.conjugate(y, U)

    @_quiet
    def probabilities(self, Z: Array) -> Array | None:
        return _softmax(self._lift(Z))[0]

    def _value(self, Z: Array, own: Array) -> Array:
        miss = np.where(own, 0, _softmax(Z)[0])
        return 0.5 * np.square(miss).sum(axis=2)

    def _flows(self, Z: Array, own: Array) -> Array:
        miss = _softmax(Z)[0]
        return miss**2 * _at(miss, own)

    def _hessian_times(self, Z: Array, own: Array, V: Array) -> Array:
        miss = _softmax(Z)[0]
        second = miss**2 * _at(miss, own) * (2.0 - 3.0 * miss)
        return _close(second * (V - _at(V, own)), own)


@dataclass(frozen=True)
class Squared:
    """Linear regression used as a classifier.

        loss(y, z) = |t - z|^2 / 2,    gradient z - t,    conjugate u.t + |u|^2 / 2

    with t = ty for one output and the one-hot vector of y for C.
    """

    name: str = "squared"
    kernel: int = 6
    words: str = "mean squared error (t - z)^2 / 2, t = y or one-hot and summed"
    convex: bool = True
    smooth: bool = True
    compiled: bool = True
    margin: float = 0.0
    curvature: float | None = 1.0

    def n_outputs(self, n_classes: int) -> int:
        return _count_outputs(self.name, "one or all", n_classes)

    def curvature_of(self, n_outputs: int) -> float | None:
        return self.curvature

    @_quiet
    def value(self, y: Array, Z: Array) -> Array:
        return (0.5 * (Z - _targets(y, Z)) ** 2).sum(axis=2)

    def gradient(self, y: Array, Z: Array) -> Array:
        return Z - _targets(y, Z)

    def hessian_times(self, y: Array, Z: Array, V: Array) -> Array:
        return V.copy()

    @_quiet
    def conjugate(self, y: Array, U: Array) -> Array:
        return (U * (_targets(y, U) + 0.5 * U)).sum(axis=2)

    @_quiet
    def balance(self, y: Array, U: Array, s: Array) -> Array:
        weights = _per_model(s).astype(np.float64, copy=False)[:, :, None]
        total = _sum_samples(weights)
        mean = _sum_samples(weights * U) / np.where(total > 0.0, total, 1.0)
        return (U - mean).astype(U.dtype, copy=False)

    def probabilities(self, Z: Array) -> Array | None:
        return None

    def predict(self, Z: Array) -> Array:
        return _predict(Z)


@dataclass(frozen=True)
class OneVsRest:
    """C binary losses over C classes: output k tells class k from all others.

        loss(y, z) = sum_k base(1{y = k}, z_k)

    The outputs share nothing, so that training them together is training each alone. The class of
    the highest score wins.
    """

    base: Loss

    @property
    def name(self) -> str:
        return f"{self.base.name}, one-vs-rest"

    @property
    def words(self) -> str:
        return f"sum over the classes, each against the rest, of the {self.base.words}"

    @property
    def convex(self) -> bool:
        return self.base.convex

    @property
    def smooth(self) -> bool:
        return self.base.smooth

    @property
    def curvature(self) -> float | None:
        return self.base.curvature_of(1)

    @property
    def compiled(self) -> bool:
        return self.base.compiled

    @property
    def kernel(self) -> int:
        return self.base.kernel + ONE_VS_REST

    @property
    def margin(self) -> float:
        return self.base.margin

    def n_outputs(self, n_classes: int) -> int:
        return n_classes

    def curvature_of(self, n_outputs: int) -> float | None:
        return self.base.curvature_of(1)

    def split(self, y: Array, Z: Array) -> tuple[Array, Array]:
        """The binary labels and scores (n, B K) and (n, B K, 1) of B K binary models."""
        n, B, K = Z.shape
        own = np.broadcast_to(_own(y, Z), Z.shape)
        return own.reshape(n, B * K).astype(np.int32), Z.reshape(n, B * K, 1)

    def value(self, y: Array, Z: Array) -> Array:
        return self.base.value(*self.split(y, Z)).reshape(Z.shape).sum(axis=2)

    def gradient(self, y: Array, Z: Array) -> Array:
        return self.base.gradient(*self.split(y, Z)).reshape(Z.shape)

    def hessian_times(self, y: Array, Z: Array, V: Array) -> Array:
        n, B, K = Z.shape
        return self.base.hessian_times(*self.split(y, Z), V.reshape(n, B * K, 1)).reshape(Z.shape)

    def conjugate(self, y: Array, U: Array) -> Array:
        return self.base.conjugate(*self.split(y, U)).reshape(U.shape).sum(axis=2)

    def balance(self, y: Array, U: Array, s: Array) -> Array:
        binary, duals = self.split(y, U)
        weights = np.broadcast_to(_per_model(s), U.shape[:2]).repeat(U.shape[2], axis=1)
        return self.base.balance(binary, duals, weights).reshape(U.shape)

    def probabilities(self, Z: Array) -> Array | None:
        """Each class's own probability, divided by their sum."""
        n, B, K = Z.shape
        alone = self.base.probabilities(Z.reshape(n, B * K, 1))
        if alone is None:
            return None
        P = alone[:, :, 1].reshape(Z.shape)
        total = P.sum(axis=2, keepdims=True)
        return np.where(total > 0.0, P / np.where(total > 0.0, total, 1.0), 1.0 / K)

    def predict(self, Z: Array) -> Array:
        return _predict(Z)


_ALL: tuple[Loss, ...] = (
    Margin(
        "perceptron", 0, "perceptron loss max(0, z_j - z_y) over j != y; one output: max(0, -y z)"
    ),
    Margin(
        "hinge",
        0,
        "hinge max(0, {margin} + z_j - z_y) over j != y; one output: max(0, {margin} - y z)",
        margin=1.0,
    ),
    CrammerSinger(
        "crammer_singer",
        2,
        "Crammer-Singer hinge max(0, {margin} + z_j - z_y) of the worst j != y",
        outputs="all",
        margin=1.0,
    ),
    Margin(
        "squared_hinge",
        1,
        "squared hinge max(0, {margin} + z_j - z_y)^2 over j != y; "
        "one output: max(0, {margin} - y z)^2",
        margin=1.0,
        power=2,
    ),
    CrossEntropy("logistic", 3, "cross-entropy log(1 + exp(-y z))", outputs="one"),
    CrossEntropy("softmax", 4, "cross-entropy log(sum_j exp(z_j)) - z_y", outputs="all"),
    CrossEntropy(
        "softmax_reference",
        5,
        "cross-entropy log(1 + sum_j exp(z_j)) - z_y, the first class's score being 0",
        outputs="all but the first",
    ),
    Squared(),
    SigmoidSquared(
        "sigmoid_mse",
        7,
        "squared error of the sigmoid (y - sigma(z))^2 / 2, not convex",
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
        raise ValueError(
            f"The 'loss' parameter must be one of {_quoted(LOSSES)}. Got {name!r} instead."
        )
    loss = LOSSES[name]
    if margin is None:
        return loss
    if name == "perceptron" and margin != 0:
        raise ValueError(
            f"The 'margin' parameter of loss 'perceptron' must be 0. Got {margin!r} instead. "
            "Use 'hinge' for a margin."
        )
    if not isinstance(loss, Margin):
        adjustable = [other.name for other in _ALL if other.margin > 0.0]
        raise ValueError(
            f"Loss '{name}' has no margin. Got margin={margin!r}. "
            f"Losses with a margin: {_quoted(adjustable)}."
        )
    if name != "perceptron" and not (math.isfinite(margin) and margin > 0):
        raise ValueError(
            f"The 'margin' parameter of loss '{name}' must be finite and > 0. "
            f"Got {margin!r} instead."
        )
    return replace(loss, margin=float(margin))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _count_outputs(name: str, outputs: str, n_classes: int) -> int:
    if n_classes < 2:
        raise ValueError(
            f"Loss '{name}' needs at least two classes, got {n_classes}. "
            "Give samples of another class."
        )
    if outputs == "one" and n_classes > 2:
        raise ValueError(
            f"Loss '{name}' takes two classes, got {n_classes}. Use 'softmax', or multiclass='ovr'."
        )
    if outputs == "all but the first":
        return n_classes - 1
    return 1 if outputs != "all" and n_classes == 2 else n_classes


def _per_model(a: Array) -> Array:
    """View (n,) as (n, 1), which broadcasts over the models; leave (n, B)."""
    a = np.asarray(a)
    return a[:, None] if a.ndim == 1 else a


def _sum_samples(a: Array) -> Array:
    """Sum (n, B, K) over the samples, each column in the same order whatever its neighbours."""
    return np.ascontiguousarray(np.moveaxis(a, 0, 2)).sum(axis=2)


def _own(y: Array, Z: Array) -> Array:
    """Mark the true class: booleans (n, 1 or B, C)."""
    return _per_model(y)[:, :, None] == np.arange(Z.shape[2])


def _targets(y: Array, Z: Array) -> Array:
    """ty in {-1, +1} for one output, one-hot for several, in the type of Z."""
    if Z.shape[2] == 1:
        return (2 * _per_model(y)[:, :, None] - 1).astype(Z.dtype)
    return _own(y, Z).astype(Z.dtype)


def _at(Z: Array, own: Array) -> Array:
    """The entry (n, B, 1) of Z at the true class."""
    return np.where(own, Z, 0).sum(axis=2, keepdims=True)


def _prepend(first: Array, Z: Array) -> Array:
    return np.concatenate([first, Z], axis=2)


def _close(flows: Array, own: Array) -> Array:
    """Put minus the sum of the other classes at the true class: small sums keep their digits."""
    wrong = np.where(own, 0, flows)
    return np.where(own, -wrong.sum(axis=2, keepdims=True), wrong)


def _predict(Z: Array) -> Array:
    """Class numbers (n, B): 1 if z > 0 for one output, the first maximum for several."""
    labels = Z[:, :, 0] > 0 if Z.shape[2] == 1 else Z.argmax(axis=2)
    return labels.astype(np.int32)


def _softmax(Z: Array) -> tuple[Array, Array]:
    """Return softmax(Z) and the sum of exp(z_j - max z) over all j but the first maximum.

    log1p of that sum keeps the digits of a loss far below 1, which log of 1 + sum would drop.
    """
    top = Z.argmax(axis=2)[:, :, None]
    E = np.exp(Z - np.take_along_axis(Z, top, axis=2))
    np.put_along_axis(E, top, 0.0, axis=2)
    rest = E.sum(axis=2)
    np.put_along_axis(E, top, 1.0, axis=2)
    return E / (1.0 + rest[:, :, None]), rest
