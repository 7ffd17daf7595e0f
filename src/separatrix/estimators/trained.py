"""Fitting and going on fitting."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.arrays import Array
from separatrix.estimators.checks import in_words, require_two_classes
from separatrix.estimators.linear import LinearClassifier
from separatrix.estimators.many import copy_feature_names, fit_many, prepare
from separatrix.fit import Task, train
from separatrix.model import Model
from separatrix.solvers import Gradient, History, Stop


class TrainedClassifier(LinearClassifier):
    """A linear classifier that is trained epoch by epoch."""

    _state_of: Hashable

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Train on X (n, d) and y (n,); the validation set is recorded and watched by patience."""
        return fit_many([self], X, y, sample_weight, X_val, y_val)[0]

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One more epoch, on these rows, from where training stands.

        Momentum and the schedule go on from the last call; after `fit`, or with another rule, they
        begin anew from the weights. The history grows. The first call must name all `classes`.
        """
        known = self._known_classes(classes)
        before = self.history_ if hasattr(self, "classes_") else None
        checked = copy(self)
        data = prepare(checked, X, y, sample_weight, classes=known)
        task = self._next_task(len(known), data.n_features)
        result = train([task], data, keep_state=True)[0]
        copy_feature_names(checked, self)
        self._accept(result, task.loss, known)
        self._state_of = _kind(task)
        if before is not None:
            grown = {name: np.concatenate([before[name], self.history_[name]]) for name in before}
            self.history_ = History(grown)
            self.n_iter_ = self.best_epoch_ = self.history_.epochs
        return self

    def _next_task(self, n_classes: int, n_features: int) -> Task:
        task = replace(self._task(n_classes, n_features), stop=Stop(epochs=((1,),)))
        if not hasattr(self, "coef_"):
            return task
        if self._state is not None and self._state_of == _kind(task):
            return replace(task, state=self._state)
        if self.coef_.shape[0] != task.n_outputs:
            raise ValueError(
                f"Loss '{task.loss.name}' has {task.n_outputs} outputs, and the weights that "
                f"partial_fit would go on from have {self.coef_.shape[0]}. Set the loss back, or "
                "begin anew with fit."
            )
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
                f"The classes {in_words(given)} are not those of the first call of partial_fit, "
                f"{in_words(known)}. Leave them out after the first call."
            )
        return known


def _kind(task: Task) -> Hashable:
    """What must be the same for a solver's state to mean the same."""
    rule = task.solver.rule if isinstance(task.solver, Gradient) else None
    return task.solver.name, rule, task.n_outputs
