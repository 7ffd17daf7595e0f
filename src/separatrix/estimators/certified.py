"""Classifiers that are brought to the optimum of a convex problem, with a proof."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from separatrix.arrays import Array
from separatrix.data import Dataset
from separatrix.diagnose import Diagnosis
from separatrix.estimators.checks import (
    in_words,
    require_choice,
    require_count,
    require_flag,
    require_number,
    require_strength,
)
from separatrix.estimators.linear import LinearClassifier
from separatrix.estimators.many import fit_many
from separatrix.estimators.start import seed_of
from separatrix.estimators.verdict import verdict
from separatrix.fit import OPTIMISERS, Task, choose_solver, make_solver, refuse_illegal
from separatrix.losses import Loss
from separatrix.model import Model
from separatrix.solvers import SOLVERS, Result, Stop


class CertifiedClassifier(LinearClassifier):
    """A linear classifier whose fit ends when its optimality is proven to `tol`.

    A subclass says which loss it minimises, in `_loss_and_outputs`.
    """

    C: float
    l1_ratio: float
    solver: str
    tol: float
    max_iter: int
    fit_intercept: bool
    class_weight: Any
    warm_start: bool
    random_state: Any
    _alarms = frozenset({"diverged", "not_converged", "separable"})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the optimum for X (n, d) and y (n,)."""
        return fit_many([self], X, y, sample_weight)[0]

    def _loss_and_outputs(self, n_classes: int) -> tuple[Loss, int]:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        require_strength("C", self.C)
        require_number("l1_ratio", self.l1_ratio, high=1.0, closed_high=True)
        require_choice("solver", self.solver, ["auto", *_solvers()])
        require_number("tol", self.tol)
        require_count("max_iter", self.max_iter)
        require_flag("fit_intercept", self.fit_intercept)
        require_flag("warm_start", self.warm_start)

    def _task(self, data: Dataset) -> Task:
        self._check_parameters()
        loss, n_outputs = self._loss_and_outputs(len(data.classes))
        _require_weight_of_classes(data)
        l1, l2 = self._strengths(data)
        if self.solver == "auto":
            name, why = choose_solver(loss, n_outputs, l1, l2, data)
        else:
            name, why = self.solver, f"{self.solver}: it was asked for."
            refuse_illegal(name, loss, l1, l2, _solvers())
        return Task(
            loss=loss,
            n_outputs=n_outputs,
            solver=make_solver(
                name, 0 if self.random_state is None else seed_of(self.random_state)
            ),
            stop=Stop(epochs=((int(self.max_iter),),), tol=np.array([self.tol], float)),
            l1=l1,
            l2=l2,
            bias=bool(self.fit_intercept),
            start=self._start(n_outputs, data) if self.warm_start else None,
            why=why,
        )

    def _strengths(self, data: Dataset) -> tuple[float, float]:
        """l1 and l2 of the mean: shares of 1 / (C S), S being the weight of the model's rows."""
        weight = float(data.given_weight()[0])
        with np.errstate(over="ignore", divide="ignore"):
            strength = float(np.float64(1.0) / (np.float64(self.C) * weight))
        if not math.isfinite(strength):
            raise ValueError(
                f"C={self.C!r} times the sum of the weights, {weight:g}, is too small: the penalty "
                "would be infinite. Raise C, or scale the weights up."
            )
        return self.l1_ratio * strength, (1.0 - self.l1_ratio) * strength

    def _start(self, n_outputs: int, data: Dataset) -> Model | None:
        """The weights of the last fit, if there was one."""
        if not hasattr(self, "coef_"):
            return None
        shape = (n_outputs, data.n_features)
        if self.coef_.shape != shape or not np.array_equal(self.classes_, data.classes):
            raise ValueError(
                f"warm_start=True goes on from the last fit, with coef_ of shape "
                f"{self.coef_.shape} and the classes {in_words(self.classes_)}. This one has "
                f"{shape} and {in_words(data.classes)}. Set warm_start=False to begin anew."
            )
        return self._model()

    def _accept(self, result: Result, loss: Loss, classes: Array) -> None:
        super()._accept(result, loss, classes)
        self.solver_, self.solver_reason_ = result.solver, result.why
        if self.stop_reason_ == "epochs":
            self.stop_reason_ = "max_iter"

    def _judge(self, result: Result) -> list[Diagnosis]:
        """The diagnoses, what was found of the convergence said in terms of `tol`."""
        others = [d for d in result.diagnoses if d.kind != "not_converged"]
        missed = verdict(result, self.tol, self.max_iter)
        return others if missed is None else [missed, *others]


def _solvers() -> list[str]:
    return [name for name in OPTIMISERS if name in SOLVERS]


def _require_weight_of_classes(data: Dataset) -> None:
    """Raise if a class has no row that counts: its bias would run to minus infinity."""
    missing = data.classes[data.class_weight() == 0.0]
    if len(missing):
        raise ValueError(
            f"Class {missing[0]!s} has no weight: sample_weight or class_weight is 0 for all its "
            "rows. Leave these rows out, or give some of them a positive weight."
        )
