"""Callbacks of scikit-learn, which its estimators have from version 1.9 on."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from separatrix.training import Interrupted


class IterationHooks:
    """Calls the hooks of an estimator's callbacks around its fit and around every iteration.

    The tasks are those of scikit-learn's solver "lbfgs": the fit, its iterations (at least one) and
    an empty task after the last one. A callback that asks for the fitted estimator gets one that
    was trained for the iterations done so far, which trains it again from the start.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self._estimator, self._before = estimator, copy(estimator)
        del self._before._skl_callbacks
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._task = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._done = 0
        self._known: tuple[int, dict[str, Any]] = (-1, {})
        self._fit = estimator._init_callback_context(max_subtasks=max(estimator.max_iter, 1) + 1)
        self._fit.call_on_fit_task_begin(**self._task)
        self._begin_iteration()

    def _begin_iteration(self) -> None:
        self._iteration = self._fit.subcontext(task_name="iteration")
        self._iteration.call_on_fit_task_begin(
            **self._task, reconstruction_attributes=self._fitted_attributes
        )

    def end_iteration(self) -> None:
        """End the current iteration and begin the next one; a callback can stop the fit."""
        self._done += 1
        stops = self._iteration.call_on_fit_task_end(
            **self._task, reconstruction_attributes=self._fitted_attributes
        )
        self._begin_iteration()
        if stops:
            raise Interrupted

    def end_fit(self) -> None:
        """End the task that is empty, and the fit."""
        if not self._done:
            self.end_iteration()
        self._iteration.call_on_fit_task_end(estimator=self._estimator)
        self._fit.call_on_fit_task_end(**self._task, reconstruction_attributes={})

    def _fitted_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes after the iterations done so far."""
        done = min(self._done, self._estimator.max_iter)
        if self._known[0] != done:
            model, weights = copy(self._before), self._task["metadata"] or {}
            model.set_params(max_iter=done)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(self._task["X"], self._task["y"], **weights)
            given = model.get_params(deep=False)
            self._known = done, {k: v for k, v in vars(model).items() if k not in given}
        return self._known[1]
