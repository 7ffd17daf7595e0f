"""The elastic-net penalty, with no penalty, L1 and L2 as special cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.errors import ParameterError
from separatrix.matrix import Array, sum_squares

__all__ = ["ElasticNet"]

# After scaling by `dual_scale` an entry may exceed its bound only by rounding.
DOMAIN_TOLERANCE = 512 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, init=False)
class ElasticNet:
    """l1 * sum f |W| + l2/2 * (sum f^2 W^2 + f_b^2 |b|^2), for B models together.

    Parameters
    ----------
    l1, l2 : a number, or (B,)
        Strengths, finite and >= 0. One number applies to every model.
    factors : None, (d,) or (d, B)
        The f of the formula, finite and > 0; 1 if None. If f contains the standard deviations of
        the features, the penalty is the same as for standardised features.
    bias_factor : a number, or (B,)
        The f_b of the formula, finite and >= 0. With 0 the bias is not penalised. With 1 / c it is
        penalised like the weight of a constant feature c. A value > 0 needs l1 = 0.

    In all methods W and V are (d, B, K) and do not include the bias.

    >>> import numpy as np
    >>> penalty = ElasticNet(l1=[0.0, 0.1], l2=0.5)
    >>> penalty.value(np.full((1, 2, 1), 2.0))
    array([1. , 1.2])
    >>> penalty.words(1)
    '0.1 * |W|_1 + 0.5/2 * |W|^2'
    """

    l1: NDArray[np.float64]
    l2: NDArray[np.float64]
    factors: NDArray[np.float64] | None
    bias_factor: NDArray[np.float64]

    def __init__(
        self,
        l1: ArrayLike,
        l2: ArrayLike,
        factors: ArrayLike | None = None,
        bias_factor: ArrayLike = 0.0,
    ) -> None:
        strengths = {
            name: _strength(name, given)
            for name, given in (("l1", l1), ("l2", l2), ("bias_factor", bias_factor))
        }
        f = None if factors is None else _factors(factors)
        sizes = {name: len(values) for name, values in strengths.items()}
        if sizes["bias_factor"] == 1:  # one for all models, so it cannot cause the error
            del sizes["bias_factor"]
        if f is not None and f.ndim == 2:
            sizes["factors"] = f.shape[1]
        n_models = next((size for size in sizes.values() if size != 1), 1)
        if any(size not in (1, n_models) for size in sizes.values()):
            found = ", ".join(f"{size} for '{name}'" for name, size in sizes.items())
            raise ValueError(
                "The parameters of ElasticNet must hold one value, or one per model. "
                f"Got {found} instead."
            )
        for name, values in strengths.items():
            object.__setattr__(self, name, _frozen(np.broadcast_to(values, (n_models,))))
        object.__setattr__(self, "factors", None if f is None else _frozen(f))
        mixed = np.flatnonzero((self.bias_factor > 0.0) & (self.l1 > 0.0))
        if len(mixed):
            raise ParameterError(
                "A penalised bias needs l1 = 0. Got "
                f"bias_factor={self.bias_factor[mixed[0]]:g} with l1={self.l1[mixed[0]]:g}. "
                "Leave the bias free (bias_factor=0), or set l1 to 0.",
                parameter="bias_factor",
            )

    def value(self, W: Array) -> Array:
        """Return the penalty of each model (B,), summed in float64."""
        out = np.zeros(W.shape[1])
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = W if self.factors is None else self._f() * W
            # A model that diverged to inf without a penalty has penalty 0, not 0 * inf.
            if self.l1.any():
                out += np.where(self.l1 > 0, self.l1 * _sum(np.abs(scaled)), 0.0)
            if self.l2.any():
                out += np.where(self.l2 > 0, 0.5 * self.l2 * sum_squares(scaled), 0.0)
        return out

    def gradient(self, W: Array) -> Array:
        """Return the gradient of the l2 part, l2 f^2 W, in the type of W."""
        curvature = self._once("_curvature", lambda: _across(self.l2) * self._f() ** 2)
        return W * curvature.astype(W.dtype, copy=False)

    def l1_slope(self, W: Array, V: Array) -> Array:
        """Return the left derivative (B,) of the l1 part at W + t V, t = 0: l1 sum f sign(W) V.

        A weight of 0 counts as -|V|, since t V has the opposite sign to V for t < 0.
        """
        each = np.where(W == 0.0, -np.abs(V), np.sign(W) * V)
        return np.where(self.l1 > 0, self.l1 * _sum(self._f() * each), 0.0)

    @property
    def bias_curvature(self) -> Array:
        """The curvature l2 f_b^2 of the bias penalty (B,): 0 if the bias is not penalised."""
        return self._once("_bias_curvature", lambda: self.l2 * self.bias_factor**2)

    def bias_value(self, b: Array) -> Array:
        """Return the penalty on the biases b (B, K) of each model (B,)."""
        if not self.bias_curvature.any():
            return np.zeros(len(b))
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.square(b.astype(np.float64, copy=False)).sum(axis=1)
            return np.where(self.bias_curvature > 0, 0.5 * self.bias_curvature * squares, 0.0)

    def bias_conjugate(self, v: Array) -> Array:
        """Return sup_b <v, b> - penalty(b) (B,) for v (B, K); 0 if the bias is not penalised."""
        curvature = self.bias_curvature
        if not curvature.any():
            return np.zeros(len(v))
        penalised = curvature > 0
        unit = np.sqrt(2.0 * np.where(penalised, curvature, 1.0))
        return np.where(penalised, np.square(v / unit[:, None]).sum(axis=1), 0.0)

    def shrink_l1(self, W: Array, step: ArrayLike) -> Array:
        """Return the proximal step of the l1 part: sign(W) max(|W| - step l1 f, 0).

        `step` is a number, (B,), (d, B) or broadcastable to (d, B, K).
        """
        threshold = (_across(step) * _across(self.l1) * self._f()).astype(W.dtype)
        return np.sign(W) * np.maximum(np.abs(W) - threshold, 0)

    def prox(self, W: Array, step: ArrayLike) -> Array:
        """Return the proximal step of the penalty: argmin_V |V - W|^2 / 2 + step * penalty(V).

        This is `shrink_l1`, divided by 1 + step l2 f^2.
        """
        shrink = 1.0 + _across(step) * _across(self.l2) * self._f() ** 2
        return self.shrink_l1(W, step) / shrink.astype(W.dtype)

    def conjugate(self, V: Array) -> Array:
        """Return sup_W <V, W> - penalty(W) of each model (B,), in float64.

        For l2 > 0 this is sum ((|V| - l1 f)_+)^2 / (2 l2 f^2). For l2 = 0 it is 0 if |V| <= l1 f
        everywhere (up to rounding), and inf otherwise.
        """
        size = beyond = V.astype(np.float64, copy=False)
        if not self._is_ridge:
            size = np.abs(size)
            beyond = np.maximum(size - self._bound(), 0.0)
        with np.errstate(over="ignore", under="ignore"):
            curved = sum_squares(beyond / self._once("_unit", self._find_unit))
        if self._is_curved:
            return curved
        inside = (size <= self._bound() * (1.0 + DOMAIN_TOLERANCE)).all(axis=(0, 2))
        return np.where(self.l2 > 0, curved, np.where(inside, 0.0, np.inf))

    def _find_unit(self) -> Array:
        """Return the unit of the conjugate: divided by it, the smallest numbers can be squared."""
        return self._f() * _across(np.sqrt(2.0 * np.where(self.l2 > 0, self.l2, 1.0)))

    def attain(self, V: Array) -> tuple[Array, Array]:
        """Overwrite V with the weights that maximise <V, W> - penalty(W); also return the maximum.

        The maximum (B,) is the conjugate at V. Requires l1 = 0 and l2 > 0.

        >>> ElasticNet(0.0, 2.0).attain(np.array([[[3.0]]]))
        (array([[[1.5]]]), array([2.25]))
        """
        unit = np.sqrt(2.0 * self.l2)
        with np.errstate(over="ignore", under="ignore"):
            V *= 1.0 / (self._f() * _across(unit))
            high = sum_squares(V)
            V *= _across(unit / self.l2) / self._f()
        return V, high

    def dual_scale(self, V: Array) -> Array:
        """Return the factor (B,) by which V must shrink for its conjugate to be finite.

        This is min(1, min_j l1 f_j / |V_j|) for l2 = 0, and 1 for l2 > 0.
        """
        if self._is_curved:
            return np.ones(V.shape[1])
        bound = self._bound()
        size = np.abs(V).astype(np.float64, copy=False)
        outside = size > bound
        with np.errstate(under="ignore"):
            ratio = np.where(outside, bound / np.where(outside, size, 1.0), 1.0)
        return np.where(self.l2 > 0, 1.0, ratio.min(axis=(0, 2), initial=1.0))

    def select(self, models: ArrayLike) -> ElasticNet:
        """Return the penalty of some models only (numbers or a mask)."""
        chosen = np.asarray(models)

        def pick(a: NDArray[np.float64]) -> NDArray[np.float64]:
            return a if a.shape[-1] == 1 else a[..., chosen]

        part = object.__new__(ElasticNet)  # the values have been checked already
        for name in ("l1", "l2", "bias_factor"):
            object.__setattr__(part, name, pick(getattr(self, name)))
        f = self.factors
        object.__setattr__(part, "factors", pick(f) if f is not None and f.ndim == 2 else f)
        return part

    def words(self, b: int = 0) -> str:
        """Return the penalty of model b as a formula in text."""
        l1, l2 = (float(a[b if len(a) > 1 else 0]) for a in (self.l1, self.l2))
        W = "W" if self.factors is None else "f W"
        terms = []
        if l1 > 0:
            terms.append(f"{l1:.6g} * |{W}|_1")
        if l2 > 0:
            terms.append(f"{l2:.6g}/2 * |{W}|^2")
        c = float(self.bias_curvature[b if len(self.l2) > 1 else 0])
        if c > 0:
            terms.append(f"{c:.6g}/2 * |b|^2")
        return " + ".join(terms) or "no penalty"

    @property
    def _is_curved(self) -> bool:
        """Whether l2 > 0 for every model."""
        return bool(self._once("_curved", lambda: (self.l2 > 0).all()))

    @property
    def _is_ridge(self) -> bool:
        """Whether l2 > 0 and l1 = 0 for every model."""
        return self._is_curved and bool(self._once("_ridge", lambda: ~self.l1.any()))

    def _once(self, name: str, make: Callable[[], Any]) -> Array:
        """Return the result of `make`, which is called only once.

        functools.cached_property takes a lock in Python 3.11: a child process forked while another
        thread holds it would wait forever.
        """
        if name not in self.__dict__:
            self.__dict__[name] = make()
        return np.asarray(self.__dict__[name])

    def _f(self) -> Array:
        if self.factors is None:
            return np.ones((1, 1, 1))
        return self.factors[:, None, None] if self.factors.ndim == 1 else self.factors[:, :, None]

    def _bound(self) -> Array:
        return _across(self.l1) * self._f()


def _across(a: ArrayLike) -> Array:
    """View a number, (B,), (d, B) or (d, B, K) so that it broadcasts against (d, B, K)."""
    array = np.asarray(a, dtype=np.float64)
    if array.ndim == 1:
        return array[None, :, None]
    return array[:, :, None] if array.ndim == 2 else array


def _sum(a: Array) -> Array:
    """Sum (d, B, K) over each model in the same order, independently of the other models."""
    return np.ascontiguousarray(a.transpose(1, 0, 2)).reshape(a.shape[1], -1).sum(axis=1)


def _frozen(a: Array) -> NDArray[np.float64]:
    copy = np.array(a, dtype=np.float64)
    copy.setflags(write=False)
    return copy


def _strength(name: str, given: ArrayLike) -> NDArray[np.float64]:
    values = _as_floats(name, given)
    if values.ndim > 1:
        raise ParameterError(
            f"The '{name}' parameter of ElasticNet must be a number or one number per model. "
            f"Got an array of shape {values.shape} instead.",
            parameter=name,
        )
    values = np.atleast_1d(values)
    _require(name, values, np.isfinite(values), "finite")
    _require(name, values, values >= 0, ">= 0")
    return values


def _factors(given: ArrayLike) -> NDArray[np.float64]:
    f = _as_floats("factors", given)
    if f.ndim not in (1, 2):
        raise ParameterError(
            "The 'factors' parameter of ElasticNet must be None or of shape (d,) or (d, B). "
            f"Got shape {f.shape} instead.",
            parameter="factors",
        )
    _require("factors", f, np.isfinite(f), "finite")
    _require("factors", f, f > 0, "> 0")
    return f


def _as_floats(name: str, given: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:  # text, lists of lists, huge ints
        raise ParameterError(
            f"The '{name}' parameter of ElasticNet must hold numbers that fit a float. "
            f"numpy refused them: {error}.",
            parameter=name,
        ) from None


def _require(name: str, values: Array, good: Array, rule: str) -> None:
    if not good.all():
        wrong = float(values[~good].flat[0])
        raise ParameterError(
            f"The '{name}' parameter of ElasticNet must be {rule}. Got {wrong!r} instead.",
            parameter=name,
        )
