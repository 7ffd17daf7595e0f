"""Tasks that are trained as an equivalent task on other data.

Two kinds of tasks have no solver of their own:

    A bias with an L1 penalty is the weight of one more, constant feature.
    A class without rows has the score -infinity, and the other classes are trained without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from separatrix.data import Dataset
from separatrix.errors import Message
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.training.result import Result
from separatrix.training.task import Task
from separatrix.verdict.diagnosis import Diagnosis

FAR = 1000.0  # a score so low that its exponential is 0


class Rewriting(ABC):
    """The data and the task that are trained instead of a task, and the way back."""

    @abstractmethod
    def key(self) -> Hashable:
        """Return a key that tasks with the same rewritten data share."""

    @abstractmethod
    def data(self, data: Dataset) -> Dataset:
        """Return the rewritten data."""

    @abstractmethod
    def task(self) -> Task:
        """Return the rewritten task."""

    @abstractmethod
    def restore(self, result: Result, data: Dataset) -> Result:
        """Return the result of the original task; `data` are its rows."""


def rewriting_of(task: Task, data: Dataset) -> Rewriting | None:
    """Return how a task is rewritten, or None if it is trained as it is.

    `data` are the rows of the task.
    """
    if task.precise and task.l1 > 0.0 and task.bias and task.bias_factor > 0.0:
        return _BiasAsFeature(task)
    if task.ignores_constants and task.n_outputs == len(data.classes):
        present = np.flatnonzero(data.class_weight() > 0.0)
        if 1 < len(present) < len(data.classes):
            return _WithoutMissingClasses(task, tuple(present.tolist()))
    return None


@dataclass(frozen=True)
class _BiasAsFeature(Rewriting):
    original: Task

    @property
    def value(self) -> float:
        return 1.0 / self.original.bias_factor

    def key(self) -> Hashable:
        return "bias", self.value

    def data(self, data: Dataset) -> Dataset:
        return data.with_column(self.value)

    def task(self) -> Task:
        task, start, factors = self.original, self.original.start, self.original.factors
        if start is not None:
            start = Model(np.concatenate([start.W, start.b[None] / self.value]), 0.0 * start.b)
        if factors is not None:
            factors = np.append(factors, 1.0)
        return replace(task, bias=False, bias_factor=0.0, start=start, factors=factors)

    def restore(self, result: Result, data: Dataset) -> Result:
        W = result.model.W
        model = Model(np.ascontiguousarray(W[:-1]), W[-1] * W.dtype.type(self.value))
        words = result.objective.removesuffix("no bias") + "bias penalised"
        return replace(result, model=model, objective=words)


@dataclass(frozen=True)
class _WithoutMissingClasses(Rewriting):
    original: Task
    present: tuple[int, ...]

    def key(self) -> Hashable:
        return "classes", self.present

    def data(self, data: Dataset) -> Dataset:
        return data.with_classes(self.present)

    def task(self) -> Task:
        task, start = self.original, self.original.start
        if start is not None:
            W, b = start.W[:, :, self.present], start.b[:, self.present]
            start = Model(np.ascontiguousarray(W), np.ascontiguousarray(b))
        return replace(task, n_outputs=len(self.present), start=start)

    def restore(self, result: Result, data: Dataset) -> Result:
        task, some = self.original, list(self.present)
        d, (W, b) = data.n_features, (result.model.W, result.model.b)
        model = Model.zeros(d, 1, task.n_outputs, W.dtype)
        model.W[:, :, some] = W
        b = b - b.mean(axis=1, keepdims=True) if task.loss.name == "softmax" else b
        model.b[:] = b.min() - FAR
        model.b[:, some] = b
        objective = Objective(data, task.loss, ElasticNet([task.l1], [task.l2], task.factors))
        primal = float(objective.value(model.astype(np.float64))[0])
        missing = np.setdiff1d(np.arange(len(data.classes)), some)
        return replace(
            result,
            model=model,
            certificate=result.certificate.of_objective(primal),
            diagnoses=[*result.diagnoses, diagnose_missing(data, missing.tolist())],
        )


def constant_model(data: Dataset, n_outputs: int, present: int) -> Model:
    """Return the optimal model of rows of a single class: no weights, and a bias so far from zero
    that the loss is 0.
    """
    model = Model.zeros(data.n_features, 1, n_outputs)
    if n_outputs == len(data.classes):
        model.b[:] = -FAR
        model.b[:, present] = FAR
    else:  # the first class has the score 0
        model.b[:] = -FAR
        if present > 0:
            model.b[:, present - 1] = FAR
    return model


def diagnose_missing(data: Dataset, missing: list[int]) -> Diagnosis:
    """Return the diagnosis of classes without rows in the training data."""
    names = ", ".join(str(data.classes[c]) for c in missing)
    one = len(missing) == 1
    return Diagnosis(
        "missing_class",
        Message(
            "{subject} {names} {verb} no training row with a positive weight, so {its} "
            "probability is 0 for every row.",
            subject="Class" if one else "Classes",
            names=names,
            verb="has" if one else "have",
            its="its" if one else "their",
        ),
        "Add rows, give some of them a positive weight, or use stratified folds.",
    )
