"""Classifiers that minimise a convex objective and prove their duality gap."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix._sklearn_compat import with_callbacks
from separatrix.cluster import is_collection
from separatrix.data import BlockRows, Dataset
from separatrix.device import check_device
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.certified.certifying import CertifyingClassifier, find_band
from separatrix.estimators.checks.training_data import as_weights
from separatrix.estimators.checks.validation import (
    as_seed,
    list_classes,
    require_choice,
    require_count,
    require_equal_lengths,
    require_flag,
    require_number,
    require_strength,
)
from separatrix.estimators.decisions.threshold import Threshold, choose_threshold
from separatrix.estimators.fit_callbacks import IterationHooks
from separatrix.estimators.fit_many import fit_many
from separatrix.estimators.fit_warnings import diagnose_convergence
from separatrix.estimators.scikit_learn_parameters import (
    LIBLINEAR,
    SOLVERS,
    check_penalty,
    own_penalty,
    own_solver,
    warn_about_penalty,
)
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.solvers import OPTIMISERS
from separatrix.training import OnEpoch, Progress, Result, Stop
from separatrix.training.legality import refuse_illegal
from separatrix.training.recording.callbacks import telling
from separatrix.training.rewriting import constant_model
from separatrix.training.solver_choice import SolverChoice, choose_device_solver, choose_solver
from separatrix.training.task import Task
from separatrix.verdict.diagnosis import Diagnosis

# Where no more predictions become certain, tol="predictions" ends at this relative gap.
SMALLEST_GAP = 1e-10


class OptimumClassifier(CertifyingClassifier):
    """A linear classifier whose fit stops when the relative duality gap is at most `tol`.

    A subclass implements `_loss_and_outputs`, which defines the loss.
    """

    C: float
    l1_ratio: float | None
    penalty: str | None = "auto"
    solver: str
    tol: Any
    max_iter: int
    fit_intercept: bool
    class_weight: Any
    warm_start: bool
    random_state: Any
    device: str | None = None
    _warned_kinds = frozenset({"diverged", "not_converged", "separable"})

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        on_epoch: OnEpoch | None = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or rows on disk
            Training data. Rows on disk come from `separatrix.open`.
        y : array-like of shape (n,), default=None
            Class labels. Rows on disk have their own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. None means 1 for every row.
        X_val, y_val : array-like of shape (m, d) and (m,), default=None
            Validation rows, for the history and for `tol="predictions"`.
        on_epoch : callable, default=None
            Function to call after every iteration with a list that holds one `Epoch`. It can
            raise `Interrupted` to stop the fit and keep the model.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        watch = telling(on_epoch)
        if not getattr(self, "_skl_callbacks", ()):
            return fit_many([self], X, y, sample_weight, X_val, y_val, on_progress=watch)[0]
        hooks = IterationHooks(self, X, y, sample_weight)

        def on_progress(progress: Progress) -> None:
            if watch is not None:
                watch(progress)
            hooks.end_iteration()

        fit_many([self], X, y, sample_weight, X_val, y_val, on_progress=on_progress)
        hooks.end_fit()
        return self

    def choose_threshold(
        self,
        X: Any,
        y: Any = None,
        *,
        cost: tuple[float, float] | None = None,
        precision: float | None = None,
        recall: float | None = None,
        sample_weight: Any = None,
        positive: Any = None,
    ) -> Threshold:
        """Choose the decision value above which `predict` returns the second of two classes.

        The threshold is stored in `threshold_`; the next fit resets it to 0. `decision_function`
        and the probabilities do not change. Pass exactly one of `cost`, `precision` and `recall`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or rows on disk
            Rows to choose the threshold on. They should not be training rows.
        y : array-like of shape (n,), default=None
            Class labels. Both classes must occur. Rows on disk have their own.
        cost : tuple of two floats, default=None
            Costs of a false positive and of a false negative. Choose the threshold with the
            lowest total cost.
        precision : float, default=None
            Choose the threshold with the highest recall among those with at least this precision.
        recall : float, default=None
            Choose the threshold with the highest precision among those with at least this recall.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        positive : label, default=None
            Class that `precision`, `recall` and `cost` treat as positive. None means the second
            class.

        Returns
        -------
        threshold : Threshold
            The threshold and its precision, recall and cost on these rows.

        Examples
        --------
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
                "choose_threshold needs a model with two classes. This model has "
                f"{len(self.classes_)}: {list_classes(self.classes_)}."
            )
        if isinstance(X, BlockRows):
            y, sample_weight = X.y, X.weights
        require_equal_lengths(X, y)
        scores = self.decision_function(X)
        labels = column_or_1d(y)
        if not np.array_equal(np.unique(labels), self.classes_):
            raise ValueError(
                f"choose_threshold needs rows of both classes, {list_classes(self.classes_)}, and "
                f"of no other class. Got rows of {list_classes(np.unique(labels))}."
            )
        weights = as_weights(sample_weight, X, 1)
        weights = np.ones(len(labels)) if weights is None else weights
        aims = {"cost": cost, "precision": precision, "recall": recall}
        sign = self._sign_of(positive)
        found = choose_threshold(
            sign * scores, labels == self.classes_[int(sign > 0)], weights, **aims
        )
        # A row at the threshold gets the first class. If that one is positive, move just below it.
        value = found.value if sign > 0 else float(np.nextafter(-found.value, -np.inf))
        self.threshold_ = value
        return replace(found, value=value)

    def _sign_of(self, positive: Any) -> int:
        """Return 1 if `positive` is the second class, which has high scores, -1 if the first."""
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
        """Return the class with the highest score for every row of X.

        With two classes, this is the second class if its score is above `threshold_`.
        """
        if not hasattr(self, "classes_") or len(self.classes_) != 2 or is_collection(X):
            return super().predict(X)
        above = self.decision_function(X).astype(np.float64, copy=False) > self.threshold_
        return self.classes_.take(above)

    def _loss_and_outputs(self, n_classes: int) -> tuple[Loss, int]:
        raise NotImplementedError

    def _bias_factor(self) -> float:
        """Return the penalty factor of the bias; 0 means that it is not penalised."""
        return 0.0

    def _has_free_bias(self) -> bool:
        return bool(self.fit_intercept) and self._bias_factor() == 0.0

    def _solver_name(self) -> str:
        """Return the solver's name in this library."""
        return own_solver(self.solver)

    def _gap_goal(self) -> float:
        """Return the relative duality gap at which a fit stops."""
        band = find_band(self.tol)
        return float(self.tol) if band is None else SMALLEST_GAP

    def _largest_gap(self) -> float:
        """Return the largest relative duality gap that gives no warning."""
        return self._gap_goal()

    def _penalty(self) -> tuple[float, float]:
        """Return C and l1_ratio, which `penalty` can override."""
        return own_penalty(self.penalty, self.C, self.l1_ratio)

    def _check_parameters(self) -> None:
        require_strength("C", self.C)
        require_number("l1_ratio", self.l1_ratio, high=1.0, closed_high=True, optional=True)
        check_penalty(self.penalty, self.l1_ratio)
        warn_about_penalty(self.penalty, self.C, self.l1_ratio)
        require_choice("solver", self._solver_name(), ["auto", *OPTIMISERS, *SOLVERS])
        if find_band(self.tol) is None:
            require_number("tol", self.tol)
        require_count("max_iter", self.max_iter, low=0)
        require_flag("fit_intercept", self.fit_intercept)
        require_flag("warm_start", self.warm_start)
        check_device(self.device)
        require_flag("certified", self.certified)

    def _make_task(self, data: Dataset, factors: Array | None = None) -> Task:
        """Return the training task; `factors` (d,) are the penalty factors of the features."""
        self._check_parameters()
        loss, n_outputs = self._loss_and_outputs(len(data.classes))
        l1, l2 = self._strengths(data)
        if self._has_free_bias():
            data = data.without_constants()
        if self.device is not None:
            choice = choose_device_solver(self.device, self._solver_name(), loss, l1, l2)
        elif self._solver_name() == "auto":
            choice = choose_solver(loss, n_outputs, l1, l2, data, factors)
        else:
            choice = SolverChoice(self.solver, f"{self.solver}: set by the solver parameter.")
            refuse_illegal(choice.name, loss, l1, l2, OPTIMISERS, in_one_block=data.in_one_block)
        kind, tol, epochs = OPTIMISERS[choice.name], self._gap_goal(), int(self.max_iter)
        band = self._check_band(loss, l2)
        start = self._previous_weights(n_outputs, data) if self.warm_start else None
        present = np.flatnonzero(data.class_weight() > 0.0)
        if self._has_free_bias() and len(present) == 1:
            start, epochs = constant_model(data, n_outputs, int(present[0])), 0
        elif self._has_free_bias() and 1 < n_outputs < len(data.classes) > len(present):
            _refuse_missing(data.classes[data.class_weight() == 0.0][0])
        single = kind.single_is_enough(loss, n_outputs, l2, data, tol, factors)
        return Task(
            loss=loss,
            n_outputs=n_outputs,
            solver=kind.for_task(self._seed(), tol=tol, single=single, patience=choice.patience),
            stop=Stop(epochs=((epochs,),), tol=np.array([tol]), band=np.array([band])),
            l1=l1,
            l2=l2,
            bias=bool(self.fit_intercept),
            factors=factors,
            bias_factor=self._bias_factor(),
            precise=True,
            rounds=self.solver != LIBLINEAR,  # LIBLINEAR's weights are always float64
            start=start,
            why=choice.why,
            fallback=choice.fallback,
            device=self.device,
        )

    def _seed(self) -> int:
        return 0 if self.random_state is None else as_seed(self.random_state)

    def _strengths(self, data: Dataset) -> tuple[float, float]:
        """Return l1 and l2: shares of 1 / (C S), where S is the total weight of the rows."""
        weight, (C, l1_ratio) = float(data.given_weight()[0]), self._penalty()
        with np.errstate(over="ignore", divide="ignore"):
            strength = float(np.float64(1.0) / (np.float64(C) * weight))
        if not math.isfinite(strength):
            raise ParameterError(
                Message(
                    "{C} times the sum of the sample weights, {weight:g}, is too small: the "
                    "penalty would be infinite. Raise {larger}, or scale up the weights.",
                    C=Parameter("C", self.C),
                    weight=weight,
                    larger=Parameter("C"),
                )
            )
        return l1_ratio * strength, (1.0 - l1_ratio) * strength

    def _set_fitted(self, result: Result, loss: Loss, classes: Array) -> None:
        super()._set_fitted(replace(result, diagnoses=self._diagnose(result)), loss, classes)
        kinds = {diagnosis.kind for diagnosis in result.diagnoses}
        rounded = self.coef_.dtype == np.float32 or "missing_class" in kinds  # already centred
        if len(self.intercept_) == len(classes) and not (rounded or isinstance(loss, OneVsRest)):
            self._centre(result.certificate.kind == "gradient_norm")
        self.solver_, self.solver_reason_ = result.solver, result.why
        self.threshold_, self._region = 0.0, None
        self._note_direction()
        if self.separating_direction_ is not None:
            self.stop_reason_ = "separable"
        elif self.stop_reason_ == "epochs":
            self.stop_reason_ = "tol" if self._needed_no_training(result) else "max_iter"

    def _note_direction(self) -> None:
        """Store the direction of a "separable" diagnosis as an attribute."""
        self.separating_direction_ = next(
            (d.direction for d in self.diagnoses_ if d.kind == "separable"), None
        )

    def _centre(self, unpenalised: bool) -> None:
        """Centre the scores: adding the same shift to all classes gives an equivalent model."""
        self.intercept_ = self.intercept_ - self.intercept_.mean()
        if unpenalised:
            self.coef_ = self.coef_ - self.coef_.mean(axis=0)

    def _diagnose(self, result: Result) -> list[Diagnosis]:
        """Return the diagnoses, with convergence described in terms of `tol`."""
        remedies = {"separable": "Use a finite C."}
        found = [
            replace(d, remedy=remedies.get(d.kind, d.remedy))
            for d in result.diagnoses
            if d.kind != "not_converged"
        ]
        named = self._solver_name() != "auto"
        goal = self._gap_goal()
        tol = goal if find_band(self.tol) is not None else float(self.tol)
        missed = None
        gap = result.certificate.relative_gap
        if gap is None or gap > self._largest_gap():
            missed = diagnose_convergence(result, tol, goal, self.max_iter, named)
        separable = any(d.kind == "separable" for d in found)
        if missed is None or separable or self._needed_no_training(result):
            return found
        return [missed, *found]

    def _needed_no_training(self, result: Result) -> bool:
        """Return whether all rows with weight are of one class, so that the optimum is known."""
        return self.max_iter > 0 and not result.history.epochs


def _refuse_missing(missing: Any) -> None:
    """Raise because the scores of a reference class have no lower bound without its rows."""
    raise ValueError(
        f"The class {missing!s} has no weight: sample_weight or class_weight is 0 for all its "
        "rows. With multiclass='reference', every class needs rows with a positive weight. Remove "
        "the rows of this class, or set multiclass='softmax'."
    )
