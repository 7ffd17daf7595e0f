"""Classifiers that are trained for a number of epochs, and that `partial_fit` trains further."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.data import Dataset
from separatrix.device import to_host
from separatrix.errors import ParameterError
from separatrix.estimators.checks.training_data import make_dataset
from separatrix.estimators.checks.validation import (
    list_classes,
    require_choice,
    require_count,
    require_number,
    require_two_classes,
)
from separatrix.estimators.fit_many import fit_many
from separatrix.estimators.linear_classifier import LinearClassifier, copy_feature_attributes
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.training import OnEpoch, Stop, train
from separatrix.training.recording.callbacks import telling
from separatrix.training.stopping.stopping_rules import MONITORS, PATIENCE_RULES
from separatrix.training.task import Task

DIVERGED = frozenset({"diverged"})
FAR_FROM_OPTIMUM = frozenset({"not_converged", "oscillating", "ended_higher"})


class EpochClassifier(LinearClassifier):
    """A linear classifier that is trained for a number of epochs."""

    epochs: int
    init: Any
    init_scale: float
    class_weight: Any
    warm_start: bool
    time_limit: float | None
    patience: int | None
    patience_rule: str
    monitor: str
    validate_every: int
    # Parameters that decide how far a run gets.
    _pace: ClassVar[tuple[str, ...]] = ("epochs",)

    @property
    def _warned_kinds(self) -> frozenset[str]:
        """A fit that ends far from the optimum is reported unless the user has set its pace."""
        defaults = signature(type(self).__init__).parameters
        chosen = any(getattr(self, name) != defaults[name].default for name in self._pace)
        return DIVERGED if chosen else DIVERGED | FAR_FROM_OPTIMUM

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        on_epoch: OnEpoch | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or rows on disk
            Training data. Rows on disk come from `separatrix.open`.
        y : array-like of shape (n,), default=None
            Class labels. Rows on disk have their own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. None means 1 for every row.
        X_val, y_val : array-like of shape (m, d) and (m,), default=None
            Validation set. Its loss and accuracy are recorded in `history_`, and early stopping
            (`patience`) uses them.
        on_epoch : callable, default=None
            Function to call after every epoch with a list that holds one `Epoch`. It can raise
            `Interrupted` to stop training and keep the model.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        watch = telling(on_epoch)
        return fit_many([self], X, y, sample_weight, X_val, y_val, on_progress=watch)[0]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one more epoch on the given rows.

        Training continues from the current weights, and the epoch is appended to `history_`.
        Momentum and the learning-rate schedule continue from the previous call. They are reset
        after `fit`, after a divergence, and if `rule`, `coef_` or `intercept_` was changed.
        `class_weight` must not be "balanced".

        The diagnoses "rare_class" and "separable" are not made, because these rows can be a small
        part of the data.

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
        X, y, sample_weight = (to_host(a) for a in (X, y, sample_weight))
        known = self._known_classes(classes)
        fitted = hasattr(self, "classes_")
        before, best = (self.history_, self.best_epoch_) if fitted else (None, 0)
        checked = copy(self)
        self._refuse_balanced()
        data = make_dataset(checked, X, y, sample_weight, [self.class_weight], classes=known)
        task = self._next_task(data)
        result = train([task], data, keep_state=True, whole=False)[0]
        copy_feature_attributes(checked, self)
        self._set_fitted(result, task.loss, known)
        self._warn(DIVERGED)
        self._state_of = task.state_kind()
        if before is not None:
            self.history_ = before.followed_by(self.history_)
            self.n_iter_ = self.history_.epochs
            self.best_epoch_ = self.n_iter_ if result.best_epoch else best
        return self

    def _check_stop_parameters(self) -> None:
        require_count("epochs", self.epochs)
        require_number("time_limit", self.time_limit, open_low=True, optional=True)
        require_count("patience", self.patience, low=0, optional=True)
        require_choice("patience_rule", self.patience_rule, PATIENCE_RULES)
        require_choice("monitor", self.monitor, MONITORS)
        require_count("validate_every", self.validate_every)

    def _epochs(self) -> int:
        """Return the maximum number of epochs."""
        return int(self.epochs)

    def _stop(self, **tolerances: float | None) -> Stop:
        """Return the stopping rules: the parameters shared by these estimators, and tolerances."""
        return Stop(
            epochs=((self._epochs(),),),
            patience=np.array([-1 if self.patience is None else self.patience]),
            patience_rule=self.patience_rule,
            monitor=self.monitor,
            validate_every=self.validate_every,
            time_limit=self.time_limit,
            **{
                name: np.array([np.nan if t is None else float(t)])
                for name, t in tolerances.items()
            },
        )

    def _start(self, n_outputs: int, data: Dataset, seed: int) -> Model | None:
        """Return the weights from which a fit starts; None means zeros."""
        if self.warm_start and hasattr(self, "coef_"):
            return self._previous_weights(n_outputs, data)
        return starting_weights(self.init, self.init_scale, seed, data.n_features, n_outputs)

    def _refuse_balanced(self) -> None:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ParameterError(
                "partial_fit cannot be used with class_weight='balanced', because the rows of one "
                "call can have other class frequencies than all rows. Compute the weights from all "
                "labels, with compute_class_weight of sklearn.utils.class_weight, and pass them as "
                "a dict.",
                parameter="class_weight",
            )

    def _one_epoch(self, task: Task) -> Task:
        """Return a task for one epoch of `partial_fit`."""
        return replace(task, stop=Stop(epochs=((1,),)))

    def _next_task(self, data: Dataset) -> Task:
        task = self._one_epoch(self._make_task(data))
        if not hasattr(self, "coef_"):
            return task
        start = self._model()
        if (
            self._state is not None
            and self._state_of == task.state_kind()
            and np.array_equal(self._state.model.W, start.W)
            and np.array_equal(self._state.model.b, start.b)
        ):
            return replace(task, state=self._state)
        if self.coef_.shape[0] != task.n_outputs:
            raise ValueError(
                f"Loss '{task.loss.name}' has {task.n_outputs} outputs, but the weights from "
                f"which partial_fit continues have {self.coef_.shape[0]}. Restore the previous "
                "loss, or start again with fit."
            )
        return replace(task, start=start)

    def _known_classes(self, classes: Any) -> Array:
        known: Array | None = getattr(self, "classes_", None)
        given = None if classes is None else np.unique(classes)
        if known is None and given is None:
            raise ValueError(
                "The first call of partial_fit must name all classes, because later rows can have "
                "new ones. Pass classes=np.unique(y_all)."
            )
        if known is None:
            assert given is not None
            require_two_classes(given)
            return given
        if given is not None and not np.array_equal(given, known):
            raise ValueError(
                "The classes must be the same in every call of partial_fit. The first call had "
                f"{list_classes(known)}. Got {list_classes(given)} instead. Omit 'classes' after "
                "the first call."
            )
        return known


def starting_weights(
    init: Any, init_scale: float, seed: int, n_features: int, n_outputs: int
) -> Model | None:
    """Return the initial weights; None means zeros."""
    if isinstance(init, str):
        require_choice("init", init, ("zeros", "random"))
        if init == "zeros":
            return None
        W = np.random.default_rng(seed).standard_normal((n_features, 1, n_outputs))
        return Model(init_scale * W, np.zeros((1, n_outputs)))
    try:
        coef, intercept = (np.asarray(part, float) for part in init)
        fits = coef.shape in ((n_outputs, n_features), (n_features,)) and np.isfinite(coef).all()
        coef = coef.reshape(n_outputs, n_features)
        intercept = intercept.reshape(n_outputs)
        if not (fits and np.isfinite(intercept).all()):
            raise ValueError
    except (TypeError, ValueError):
        raise ParameterError(
            "The 'init' parameter must be 'zeros', 'random' or a pair (coef, intercept) of finite "
            f"numbers of shapes ({n_outputs}, {n_features}) and ({n_outputs},). "
            f"Got {init!r} instead.",
            parameter="init",
        ) from None
    return Model(np.ascontiguousarray(coef.T[:, None, :]), intercept[None].copy())
