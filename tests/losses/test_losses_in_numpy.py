"""A loss written in one Python file can be fitted and certified."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pytest

from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.losses.differences import ClassDifferences
from separatrix.losses.shapes import at_true, fill_true_class
from separatrix.matrix import Array
from separatrix.solvers import OPTIMISERS
from separatrix.training import Result, Stop, Task, train
from separatrix.training.solver_choice import choose_solver


@dataclass(frozen=True)
class RoundedHinge(ClassDifferences):
    """The hinge with its corner rounded over a width h.

    With t_j = 1 + z_j - z_y and a_j = min(max(t_j / h, 0), 1), the loss is the sum over j != y of
    a_j t_j - h a_j^2 / 2, its flows are a_j and its conjugate is the sum of h a_j^2 / 2 - a_j.
    """

    name: str = "rounded_hinge"
    formula: str = "hinge with a rounded corner"
    margin: float = 1.0
    smooth: bool = True
    width: float = 0.5

    def curvature_of(self, n_outputs: int) -> float:
        return n_outputs / self.width

    def _terms(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        return xp.where(own, -math.inf, self.margin + (Z - at_true(Z, own, xp)))

    def _value(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        a = self._flows(Z, own, xp)
        terms = xp.where(own, 0.0, self._terms(Z, own, xp))
        return (a * terms - 0.5 * self.width * a**2).sum(axis=2)

    def _flows(self, Z: Array, own: Array, xp: ModuleType) -> Array:
        return xp.clip(self._terms(Z, own, xp) / self.width, 0.0, 1.0)

    def _hessian_times(self, Z: Array, own: Array, V: Array, xp: ModuleType) -> Array:
        a = self._flows(Z, own, xp)
        slope = (V - at_true(V, own, xp)) / self.width
        return fill_true_class(xp.where((a > 0.0) & (a < 1.0), slope, 0.0), own, xp)

    def _extent(self, flows: Array, xp: ModuleType) -> Array:
        return xp.amax(flows, axis=2)

    def _conjugate(self, flows: Array, xp: ModuleType) -> Array:
        return (0.5 * self.width * flows**2 - self.margin * flows).sum(axis=2)


TOL = 1e-7


def rows(classes: int) -> Dataset:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, 120)
    return Dataset.of(rng.standard_normal((120, 4)) + y[:, None], y)


def fit(loss: ClassDifferences, classes: int, name: str, l2: float = 0.01) -> Result:
    stop = Stop(epochs=((2000,),), tol=np.array([TOL]))
    K = loss.n_outputs(classes)
    task = Task(loss, K, OPTIMISERS[name].for_task(), stop, l2=l2, precise=True)
    return train([task], rows(classes))[0]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_loss_without_a_kernel_is_fitted_to_a_proven_gap(classes: int) -> None:
    loss = RoundedHinge()
    assert not loss.compiled
    chosen = choose_solver(loss, loss.n_outputs(classes), 0.0, 0.01, rows(classes)).name
    found = [fit(loss, classes, name) for name in (chosen, "newton")]
    for result in found:
        assert result.stop_reason == "tol"
        assert result.certificate.kind == "duality_gap"
        assert result.certificate.relative_gap <= TOL
    a, b = (result.certificate.primal for result in found)
    assert abs(a - b) <= 2.0 * TOL * a


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_conjugate_of_a_loss_without_a_kernel_obeys_fenchel_and_young(outputs: int) -> None:
    rng = np.random.default_rng(1)
    loss, y = RoundedHinge(), rng.integers(0, max(outputs, 2), 200)
    Z, other = 2.0 * rng.standard_normal((2, 200, 1, outputs))
    U = loss.gradient(y, Z)
    conjugate = loss.conjugate(y, U)
    np.testing.assert_allclose(loss.value(y, Z) + conjugate, (U * Z).sum(axis=2), atol=1e-12)
    assert (loss.value(y, other) + conjugate >= (U * other).sum(axis=2) - 1e-12).all()


def test_duals_outside_the_domain_have_an_infinite_conjugate() -> None:
    loss, y = RoundedHinge(), np.array([0])
    for U in ([-1.2, 1.2, 0.0], [0.5, -0.5, 0.0], [-0.5, 0.4, 0.0]):
        assert np.isinf(loss.conjugate(y, np.array([[U]]))).all()


@pytest.mark.parametrize(
    "name", [n for n, loss in LOSSES.items() if loss.convex and n != "squared"]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_conjugates_in_numpy_are_those_of_the_kernels(name: str, classes: int) -> None:
    loss = LOSSES[name]
    if name in ("logistic", "modified_huber"):
        classes = 2
    K, rng = loss.n_outputs(classes), np.random.default_rng(2)
    y = rng.integers(0, classes, 100)
    U = loss.gradient(y, rng.standard_normal((100, 2, K))) * rng.random((100, 2, 1))
    assert isinstance(loss, ClassDifferences)
    in_numpy = replace(loss, native_code=-1).conjugate(y, U)
    np.testing.assert_allclose(in_numpy, loss.conjugate(y, U), rtol=1e-12, atol=1e-14)
