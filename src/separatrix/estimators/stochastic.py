"""Classifiers trained by stochastic gradient descent, with the parameters of scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Hashable
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from separatrix._sklearn_compat import count_rows
from separatrix.data import Block, Dataset
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.checks.training_data import make_dataset
from separatrix.estimators.checks.validation import (
    as_seed,
    require_choice,
    require_count,
    require_flag,
    require_number,
)
from separatrix.estimators.checks.validation_rows import Split, hold_out
from separatrix.estimators.epoch_classifier import DIVERGED, EpochClassifier
from separatrix.estimators.fit_many import fit_many
from separatrix.estimators.scikit_learn_parameters import PENALTIES, own_ratio
from separatrix.losses import LOSSES, Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.solvers import Gradient
from separatrix.training import OnEpoch, Result, Stop
from separatrix.training.recording.callbacks import telling
from separatrix.training.task import Task
from separatrix.verdict.diagnosis import Diagnosis

RATES = ("constant", "optimal", "invscaling", "adaptive")
NO_PLATEAU = -1
SPARSE_BIAS_RATE = 0.01  # as in scikit-learn: all rows move the bias, but few move a weight
UNBOUNDED_SLOPE = ("squared_hinge", "squared_error")
TINY = 1e-200


class StochasticClassifier(EpochClassifier):
    """A linear classifier trained by stochastic gradient descent, one row at a time.

    With u the mean weight of the rows, the mean loss is divided by u, and so are the strengths of
    the penalty. All learning rates are multiplied by u. So every step is that of scikit-learn,
    which does not divide by the weights.
    """

    loss: str
    penalty: str | None
    alpha: float
    l1_ratio: float | None
    fit_intercept: bool
    tol: float | None
    shuffle: bool
    random_state: Any
    learning_rate: str = "constant"
    eta0: float
    power_t: float = 0.5
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    average: bool | int = False
    t_: float
    loss_functions: ClassVar[dict[str, Loss]] = {
        "hinge": LOSSES["hinge"],
        "squared_hinge": LOSSES["squared_hinge"],
        "perceptron": LOSSES["perceptron"],
        "log_loss": LOSSES["logistic"],
        "modified_huber": LOSSES["modified_huber"],
        "squared_error": LOSSES["squared"],
    }
    _keeps_state = True
    _given_start: tuple[Any, Any] = (None, None)  # coef_init and intercept_init, during a fit

    @property
    def _warned_kinds(self) -> frozenset[str]:
        return super()._warned_kinds if self.tol is None else DIVERGED | {"not_converged"}

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one more epoch on the given rows.

        Training continues from the current weights, learning rates and averages, also after `fit`.
        They are reset after a divergence, and if `coef_` or `intercept_` was changed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Training data of this epoch.
        y : array-like of shape (n,)
            Class labels.
        classes : array-like of shape (C,), default=None
            All classes that can occur. Required in the first call, optional afterwards.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. None means 1 for every row.

        Returns
        -------
        self : object
            The classifier.
        """
        if self.early_stopping:
            raise ParameterError(
                "early_stopping should be False with partial_fit: one call trains for one epoch, "
                "so there is nothing to stop. Set early_stopping=False.",
                parameter="early_stopping",
            )
        steps = getattr(self, "t_", 1.0)
        super().partial_fit(X, y, classes, sample_weight)
        self.t_ = steps + count_rows(X)
        return self

    def _fit_from(
        self,
        coef_init: Any,
        intercept_init: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        held_out: tuple[Any, Any],
        on_epoch: OnEpoch | None,
    ) -> Self:
        """Fit, starting from the given weights and biases if they are not None."""
        self._given_start = coef_init, intercept_init
        try:
            watch = telling(on_epoch)
            return fit_many([self], X, y, sample_weight, *held_out, on_progress=watch)[0]
        finally:
            del self._given_start

    def _check_descent_parameters(self) -> None:
        require_choice("loss", self.loss, self.loss_functions)
        require_choice("penalty", self.penalty, PENALTIES, optional=True)
        require_number("alpha", self.alpha)
        require_number("l1_ratio", self.l1_ratio, high=1.0, closed_high=True, optional=True)
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ParameterError(
                "l1_ratio must be set when penalty is 'elasticnet'. Set a number from 0 to 1.",
                parameter="l1_ratio",
            )
        require_number("tol", self.tol, optional=True)
        require_choice("learning_rate", self.learning_rate, RATES)
        if self.learning_rate == "optimal":
            require_number("eta0", self.eta0)
            self._require_alpha()
        else:
            require_number("eta0", self.eta0, open_low=True)
        require_number("power_t", self.power_t, low=-math.inf)
        if not isinstance(self.average, (bool, np.bool_)):
            require_count("average", self.average, low=0)
        require_number("validation_fraction", self.validation_fraction, open_low=True, high=1.0)
        require_count("n_iter_no_change", self.n_iter_no_change)
        for name in ("fit_intercept", "shuffle", "early_stopping", "warm_start"):
            require_flag(name, getattr(self, name))

    def _require_alpha(self) -> None:
        if not self.alpha > 0.0:
            raise ParameterError(
                Message(
                    "{alpha:subject} must be > 0 with learning_rate='optimal', whose rates are "
                    "divided by it. Got {given!r} instead. Raise {alpha}, or set another "
                    "learning_rate.",
                    alpha=Parameter("alpha"),
                    given=self.alpha,
                )
            )

    def _likely_loss(self) -> Loss | None:
        return self.loss_functions.get(self.loss)

    def _has_probabilities(self) -> bool:
        loss = self._likely_loss()
        if loss is not None and loss.probabilities(np.zeros((1, 1, 1))) is not None:
            return True
        raise AttributeError(
            f"probability estimates are not available for loss={self.loss!r}. Use loss='log_loss' "
            "or 'modified_huber', or wrap the classifier in scikit-learn's CalibratedClassifierCV."
        )

    def _make_task(self, data: Dataset) -> Task:
        self._check_parameters()
        return self._descent_task(data)

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _descent_task(self, data: Dataset) -> Task:
        """Return the task of stochastic gradient descent, one class against the rest."""
        loss, n_outputs = self.loss_functions[self.loss], len(data.classes)
        loss, n_outputs = (loss, 1) if n_outputs == 2 else (OneVsRest(loss), n_outputs)
        mean_weight = float(data.given_weight()[0]) / data.n_samples
        ratio = own_ratio(self.penalty, self.l1_ratio)
        strength = 0.0 if self.penalty is None else self.alpha / mean_weight
        seed = as_seed(self.random_state) if self.shuffle else None
        rate, shift, power = self._rate(data)
        waits = self.tol is not None and not self.early_stopping
        return Task(
            loss=loss,
            n_outputs=n_outputs,
            solver=Gradient(
                learning_rate=np.array([rate * mean_weight]),
                momentum=np.zeros(1),
                decay=np.zeros(1),
                rule="plain",
                batch_size=1,
                seed=seed,
                shift=np.array([shift]),
                power=np.array([power]),
                average_from=np.array([int(self.average) or -1]),
                plateau_epochs=np.array([self.n_iter_no_change if waits else NO_PLATEAU]),
                plateau_tol=np.array([float(self.tol or 0.0) if waits else 0.0]),
                descends=False,
                divides=self.tol is not None and self.learning_rate == "adaptive",
                bias_rate=SPARSE_BIAS_RATE if any(data.map_blocks(_is_sparse)) else 1.0,
            ),
            stop=self._stop(),
            l1=ratio * strength,
            l2=(1.0 - ratio) * strength,
            bias=bool(self.fit_intercept),
            start=self._start(n_outputs, data, 0 if seed is None else seed),
        )

    def _rate(self, data: Dataset) -> tuple[float, float, float]:
        """Return rate, shift and power: step t = 1, 2, ... has rate / (shift + t)^power.

        "optimal" starts from the size of a typical weight, a heuristic by L. Bottou. If the slope
        of the loss has no bound, larger and larger steps could overshoot, so the first rate is at
        most the largest one that is stable for every row alone.
        """
        if self.learning_rate == "optimal":
            first = 1.0 / math.sqrt(math.sqrt(self.alpha))
            if self.loss in UNBOUNDED_SLOPE:
                curvature = self.loss_functions[self.loss].curvature_of(1)
                assert curvature is not None
                stable = 1.0 / max(curvature * _largest_square(data, self.fit_intercept), TINY)
                first = max(min(first, stable), TINY)
            return 1.0 / self.alpha, 1.0 / (first * self.alpha) - 1.0, 1.0
        power = self.power_t if self.learning_rate == "invscaling" else 0.0
        return float(self.eta0), 0.0, float(power)

    def _stop(self, **tolerances: float | None) -> Stop:
        stop = super()._stop(**tolerances)
        if self.patience is not None or not self._stops_early():
            return stop
        patience = np.array([int(self.n_iter_no_change)])
        return replace(stop, patience=patience, patience_rule="best", monitor="accuracy")

    def _stops_early(self) -> bool:
        return bool(self.early_stopping) and self.tol is not None

    def _one_epoch(self, task: Task) -> Task:
        task = super()._one_epoch(task)
        if not isinstance(task.solver, Gradient):
            return task
        solver = replace(task.solver, plateau_epochs=np.array([NO_PLATEAU]), divides=False)
        return replace(task, solver=solver)

    def _start(self, n_outputs: int, data: Dataset, seed: int) -> Model | None:
        start = super()._start(n_outputs, data, seed)
        coef, intercept = self._given_start
        if coef is None and intercept is None:
            return start
        W, b = np.zeros((n_outputs, data.n_features)), np.zeros(n_outputs)
        if start is not None:
            W, b = start.W[:, 0].T, start.b[0]
        if coef is not None:
            W = _shaped("coef_init", coef, W.shape, data.n_features)
        if intercept is not None:
            b = _shaped("intercept_init", intercept, b.shape, n_outputs)
        return Model(np.ascontiguousarray(W.T[:, None, :]), b[None].copy())

    def _split_key(self) -> Hashable:
        if not self.early_stopping:
            return None
        known = isinstance(self.random_state, (int, np.integer))
        seed = int(self.random_state) if known else object()
        return self.validation_fraction, seed, repr(self.class_weight)

    def _needs_memory(self, has_validation: bool) -> str:
        splits = self.early_stopping and not has_validation
        return "early_stopping=True and without X_val" if splits else ""

    def _set_aside(self, X: Any, y: Any, sample_weight: Array | None) -> Split | None:
        if not self.early_stopping:
            return None
        self._check_parameters()
        make_dataset(copy(self), X, y, None)  # raises the usual errors
        share, seed = self.validation_fraction, self.random_state
        return hold_out(X, y, sample_weight, self.class_weight, share, seed)

    def _set_fitted(self, result: Result, loss: Loss, classes: Array) -> None:
        state = None if result.state is None else replace(result.state, memory={})
        if result.solver == Gradient.name:
            result = replace(result, diagnoses=self._diagnose(result))
        super()._set_fitted(replace(result, state=state), loss, classes)

    def _diagnose(self, result: Result) -> list[Diagnosis]:
        """Return the diagnoses, with convergence described in terms of `tol`."""
        if self.tol is None or result.stop_reason != "epochs":
            return result.diagnoses
        missed = Diagnosis(
            "not_converged",
            Message(
                "Training stopped at {max_iter}, before {epochs} epochs in a row had failed to "
                "lower the training loss by {tol}.",
                max_iter=Parameter("max_iter", self._epochs()),
                epochs=Parameter("n_iter_no_change", self.n_iter_no_change),
                tol=Parameter("tol", self.tol),
            ),
            Message(
                "Raise {max_iter} or {tol}, or standardise the features.",
                max_iter=Parameter("max_iter"),
                tol=Parameter("tol"),
            ),
        )
        return [missed, *(d for d in result.diagnoses if d.kind != "not_converged")]

    def _finish(self, X: Any, y: Any, sample_weight: Array | None) -> None:
        self.t_ = 1.0 + float(self.n_iter_ * count_rows(X))


def _is_sparse(block: Block) -> bool:
    return block.X.is_sparse


def _largest_square(data: Dataset, bias: bool) -> float:
    """Return the largest s |x|^2 of a row x with weight s, where a bias counts as a feature."""
    return max(data.map_blocks(_largest_square_of_block, bias))


def _largest_square_of_block(block: Block, bias: bool) -> float:
    X, s = block.X.X, block.weights.reshape(block.X.shape[0])
    with np.errstate(over="ignore"):
        if block.X.is_sparse:
            squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", X, X, dtype=np.float64, casting="same_kind")
    return float((s * (squares + bias)).max(initial=0.0))


def _shaped(name: str, given: Any, shape: tuple[int, ...], columns: int) -> Array:
    """Return starting weights or biases in the given shape; (columns,) is one row."""
    try:
        array = np.asarray(given, np.float64)
        if array.size != math.prod(shape) or array.shape not in (shape, (columns,), ()):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"Provided {name} does not match dataset: it must hold finite numbers in the shape "
            f"{shape}. Got {given!r}."
        ) from None
    return array.reshape(shape)
