"""Fitting and going on fitting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.arrays import Array
from separatrix.estimators.checks import require_two_classes
from separatrix.estimators.linear import LinearClassifier
from separatrix.estimators.many import fit_many, prepare
from separatrix.fit import Task, train
from separatrix.model import Model
from separatrix.solvers import History, State, Stop


class TrainedClassifier(LinearClassifier):
    """A linear classifier that is trained epoch by epoch."""

    _state: State | None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Train on X (n, d) and y (n,); the validation set is recorded and watched by patience."""
        self._state = None
        return fit_many([self], X, y, sample_weight, X_val, y_val)[0]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One more epoch, on these rows, from where training stands.

        Momentum and the schedule go on; the history grows. The first call must name all `classes`.
        """
        known = self._known_classes(classes)
        before = self.history_ if hasattr(self, "classes_") else None
        data = prepare(self, X, y, sample_weight, classes=known)
        task = self._next_task(len(known), data.n_features)
        result = train([task], data, keep_state=True)[0]
        self._accept(result, task.loss, known)
        self._state = result.state
        if before is not None:
            grown = {name: np.concatenate([before[name], self.history_[name]]) for name in before}
            self.history_ = History(grown)
            self.n_iter_ = self.best_epoch_ = self.history_.epochs
        return self

    def _next_task(self, n_classes: int, n_features: int) -> Task:
        task = replace(self._task(n_classes, n_features), stop=Stop(epochs=((1,),)))
        if not hasattr(self, "coef_"):
            return task
        state = getattr(self, "_state", None)
        if state is not None:
            return replace(task, state=state)
        # After fit the weights go on; what the rule remembered of them is gone.
        start = Model(np.ascontiguousarray(self.coef_.T[:, None, :]), self.intercept_[None])
        return replace(task, start=start)

    def _known_classes(self, classes: Any) -> Array:
        known: Array | None = getattr(self, "classes_", None)
        given = None if classes is None else np.unique(classes)
        if known is None and given is None:
            raise ValueError(
                "The first call of partial_fit must name all classes: later rows may bring new "
                "ones. Pass classes=np.unique(y_all)."
            )
        if known is None:
            assert given is not None
            require_two_classes(given)
            return given
        if given is not None and not np.array_equal(given, known):
            raise ValueError(
                f"classes={list(given)} is not the same as at the first call of partial_fit, "
                f"{list(known)}. Leave it out after the first call."
            )
        return known
