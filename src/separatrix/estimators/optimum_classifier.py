"""Classifiers that are brought to the optimum of a convex problem, with a proof."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix.data import Dataset
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.fit_many import fit_many
from separatrix.estimators.fit_warnings import diagnose_convergence
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.threshold import Threshold, choose_threshold
from separatrix.estimators.training_data import as_weights
from separatrix.estimators.validation import (
    as_seed,
    list_classes,
    require_choice,
    require_count,
    require_equal_lengths,
    require_flag,
    require_number,
    require_strength,
)
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.solvers import OPTIMISERS
from separatrix.training import OnEpoch, Result, Stop
from separatrix.training.callbacks import telling
from separatrix.training.legality import refuse_illegal
from separatrix.training.solver_choice import SolverChoice, choose_solver
from separatrix.training.task import Task
from separatrix.verdict.diagnosis import Diagnosis


class OptimumClassifier(LinearClassifier):
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
    _warned_kinds = frozenset({"diverged", "not_converged", "separable"})

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, on_epoch: OnEpoch | None = None
    ) -> Self:
        """Find the optimum for X (n, d) and y (n,).

        `on_epoch` is called after every iteration with a list of one `Epoch`, and may raise
        `Interrupted` to end the search and keep the model.
        """
        return fit_many([self], X, y, sample_weight, on_progress=telling(on_epoch))[0]

    def choose_threshold(
        self,
        X: Any,
        y: Any,
        *,
        cost: tuple[float, float] | None = None,
        precision: float | None = None,
        recall: float | None = None,
        sample_weight: Any = None,
        positive: Any = None,
    ) -> Threshold:
        """Set the decision value above which `predict` says the second of two classes.

        State one aim, to be met on these rows, which should not be those of the training:

        cost : (of a false positive, of a false negative); the cheapest threshold is taken
        precision : the threshold of at least this precision that has the highest recall
        recall : the threshold of at least this recall that has the highest precision

        They are those of the class `positive`, by default the second one.

        `threshold_` is set and what it gives on these rows is returned. The next fit sets it back
        to 0. `decision_function` and probabilities stay as they are.

        >>> from sklearn.datasets import load_breast_cancer
        >>> from separatrix import LogisticRegression
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = LogisticRegression(C=1e-3).fit(X[::2], y[::2])
        >>> found = model.choose_threshold(X[1::2], y[1::2], precision=0.99)
        >>> found.precision >= 0.99, model.threshold_ == found.value
        (True, True)
        """
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise ValueError(
                "A threshold is a line between two classes. This model has "
                f"{len(self.classes_)}: {list_classes(self.classes_)}."
            )
        require_equal_lengths(X, y)
        scores = self.decision_function(X)
        labels = column_or_1d(y)
        if not np.array_equal(np.unique(labels), self.classes_):
            raise ValueError(
                f"A threshold is found by rows of both classes, {list_classes(self.classes_)}, and "
                f"of no other. Got rows of {list_classes(np.unique(labels))}."
            )
        weights = as_weights(sample_weight, X, 1)
        weights = np.ones(len(labels)) if weights is None else weights
        aims = {"cost": cost, "precision": precision, "recall": recall}
        sign = self._sign_of(positive)
        found = choose_threshold(
            sign * scores, labels == self.classes_[int(sign > 0)], weights, **aims
        )
        # The first class is predicted up to the threshold, which is to be below its last score.
        value = found.value if sign > 0 else float(np.nextafter(-found.value, -np.inf))
        self.threshold_ = value
        return replace(found, value=value)

    def _sign_of(self, positive: Any) -> int:
        """1 if high scores speak for this class, the second one, and -1 if they speak against."""
        if positive is None:
            return 1
        if positive not in self.classes_.tolist():
            raise ParameterError(
                Message(
                    "{positive:subject} must be one of {classes}. Got {given!r} instead.",
                    positive=Parameter("positive"),
                    classes=list_classes(self.classes_),
                    given=positive,
                )
            )
        return 1 if positive == self.classes_[1] else -1

    def predict(self, X: Any) -> Array:
        """The class of the highest score; of two, the second if its score is above `threshold_`."""
        if not hasattr(self, "classes_") or len(self.classes_) != 2:
            return super().predict(X)
        above = self.decision_function(X).astype(np.float64) > self.threshold_
        return self.classes_[above.astype(int)]

    def sparsify(self) -> Self:
        """Keep `coef_` as a sparse matrix, which takes less room where most weights are 0."""
        check_is_fitted(self)
        self.coef_ = sp.csr_array(self.coef_)
        return self

    def densify(self) -> Self:
        """Keep `coef_` as an array again."""
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        return self

    def _loss_and_outputs(self, n_classes: int) -> tuple[Loss, int]:
        raise NotImplementedError

    def _bias_factor(self) -> float:
        """By how much the bias is penalised, relative to the weights."""
        return 0.0

    def _check_parameters(self) -> None:
        require_strength("C", self.C)
        require_number("l1_ratio", self.l1_ratio, high=1.0, closed_high=True)
        require_choice("solver", self.solver, ["auto", *OPTIMISERS])
        require_number("tol", self.tol)
        require_count("max_iter", self.max_iter)
        require_flag("fit_intercept", self.fit_intercept)
        require_flag("warm_start", self.warm_start)

    def _make_task(self, data: Dataset, factors: Array | None = None) -> Task:
        """What to minimise; `factors` (d,) are those of the penalty."""
        self._check_parameters()
        loss, n_outputs = self._loss_and_outputs(len(data.classes))
        _require_weight_of_classes(data)
        l1, l2 = self._strengths(data)
        if self.fit_intercept and self._bias_factor() == 0.0:
            data = data.without_constants()
        if self.solver == "auto":
            choice = choose_solver(loss, n_outputs, l1, l2, data, factors)
        else:
            choice = SolverChoice(self.solver, f"{self.solver}: it was asked for.")
            refuse_illegal(choice.name, loss, l1, l2, OPTIMISERS)
        kind, tol = OPTIMISERS[choice.name], float(self.tol)
        single = kind.single_is_enough(loss, n_outputs, l2, data, tol, factors)
        return Task(
            loss=loss,
            n_outputs=n_outputs,
            solver=kind.for_task(self._seed(), tol=tol, single=single, patience=choice.patience),
            stop=Stop(epochs=((int(self.max_iter),),), tol=np.array([tol])),
            l1=l1,
            l2=l2,
            bias=bool(self.fit_intercept),
            factors=factors,
            bias_factor=self._bias_factor(),
            precise=True,
            start=self._start(n_outputs, data) if self.warm_start else None,
            why=choice.why,
            fallback=choice.fallback,
        )

    def _seed(self) -> int:
        return 0 if self.random_state is None else as_seed(self.random_state)

    def _strengths(self, data: Dataset) -> tuple[float, float]:
        """l1 and l2 of the mean: shares of 1 / (C S), S being the weight of the model's rows."""
        weight = float(data.given_weight()[0])
        with np.errstate(over="ignore", divide="ignore"):
            strength = float(np.float64(1.0) / (np.float64(self.C) * weight))
        if not math.isfinite(strength):
            raise ParameterError(
                Message(
                    "{C} times the sum of the weights, {weight:g}, is too small: the penalty would "
                    "be infinite. Raise {larger}, or scale the weights up.",
                    C=Parameter("C", self.C),
                    weight=weight,
                    larger=Parameter("C"),
                )
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
                f"{self.coef_.shape} and the classes {list_classes(self.classes_)}. This one has "
                f"{shape} and {list_classes(data.classes)}. Set warm_start=False to begin anew."
            )
        return self._model()

    def _set_fitted(self, result: Result, loss: Loss, classes: Array) -> None:
        super()._set_fitted(replace(result, diagnoses=self._diagnose(result)), loss, classes)
        if len(self.intercept_) == len(classes) and not isinstance(loss, OneVsRest):
            self._centre(result.certificate.kind == "gradient_norm")
        self.solver_, self.solver_reason_ = result.solver, result.why
        self.threshold_ = 0.0
        self._note_direction()
        if self.separating_direction_ is not None:
            self.stop_reason_ = "separable"
        elif self.stop_reason_ == "epochs":
            self.stop_reason_ = "max_iter"

    def _note_direction(self) -> None:
        """Keep the proof of a diagnosis of separable classes as an attribute, too."""
        self.separating_direction_ = next(
            (d.direction for d in self.diagnoses_ if d.kind == "separable"), None
        )

    def _centre(self, unpenalised: bool) -> None:
        """Of the equal models that a shift common to all classes makes, take the centred one."""
        self.intercept_ = self.intercept_ - self.intercept_.mean()
        if unpenalised:
            self.coef_ = self.coef_ - self.coef_.mean(axis=0)

    def _diagnose(self, result: Result) -> list[Diagnosis]:
        """The diagnoses, what was found of the convergence said in terms of `tol`."""
        remedies = {"separable": "Use a finite C, which has an optimum."}
        found = [
            replace(d, remedy=remedies.get(d.kind, d.remedy))
            for d in result.diagnoses
            if d.kind != "not_converged"
        ]
        missed = diagnose_convergence(result, float(self.tol), self.max_iter, self.solver != "auto")
        separable = any(d.kind == "separable" for d in found)
        return found if missed is None or separable else [missed, *found]


def _require_weight_of_classes(data: Dataset) -> None:
    """Raise if a class has no row that counts: its bias would run to minus infinity."""
    missing = data.classes[data.class_weight() == 0.0]
    if len(missing):
        raise ValueError(
            f"The class {missing[0]!s} has no weight: sample_weight or class_weight is 0 for all "
            "its rows. Leave these rows out, or give some of them a positive weight."
        )
