"""Choose the grid of a study if none is given: for the data of a course, or from the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.data import Dataset
from separatrix.errors import Message, Parameter
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.inference.null_model import NullModel
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.study.planning.data import StudyData
from separatrix.study.results.facts import HOMEWORK_NOTE
from separatrix.training.task import Task
from separatrix.verdict.rate_limits import rounded_down
from separatrix.verdict.smoothness import smoothness
from separatrix.workflow.search.searching import DEFAULT_CS

# Fingerprints of the data sets of the course's homework, which has this grid on raw features.
_COURSE = {
    "a183bc9d69ec9faf23961586a393849a2b354293ccc45ad563af3d3b2c16a7ea": "iris",
    "5b68e89d2e3d1bc4295e19f72c9ad903cdd924ae89af4747236c8106a2924ec8": "cs725/iris",
    "80131abadf3758fd5286e69424ab2ae18424391d29131c08a33a779eb1da9f29": "cs725/binary",
}
HOMEWORK: dict[str, list[Any]] = {
    "learning_rate": [1e-1, 1e-2, 1e-4, 1e-6],
    "momentum": [0.0, 0.9],
    "epochs": [100, 250, 500, 1000],
}
RATES = (0.03, 0.3, 1.0, 3.0)  # multiples of the stable learning rate
PENALTIES = (1e-4, 1e-2)  # multiples of the largest useful penalty; 0 is added
MOMENTA = [0.0, 0.9]
LENGTHS = (1000, 300, 100, 30, 10)
BUDGET = 4e11  # largest number of multiplications, a few minutes
SHARES = (0.1, 0.3, 1.0)  # fractions of the largest number of epochs


@dataclass(frozen=True)
class ChosenGrid:
    """A grid, and sentences with the reasons for its values."""

    grid: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def homework_of(fingerprint: str) -> str | None:
    """Return the data set of the course's homework that has these rows, or None.

    The rows decide, and not the name or the place of their files.

    >>> from separatrix import load
    >>> homework_of(load("iris").fingerprint), homework_of(load("wine").fingerprint)
    ('iris', None)
    """
    return _COURSE.get(fingerprint)


def homework_note(name: str) -> str:
    """Return the note of a study that leaves the features of the homework as they are."""
    return Message(
        HOMEWORK_NOTE + " (data set {name!r}), so the features are left as they are. To "
        "standardise them, give {standardise}.",
        name=name,
        standardise=Parameter("standardise", True),
    )


def choose_grid(estimator: LinearClassifier, data: StudyData, given: dict[str, Any]) -> ChosenGrid:
    """Choose values for the most important parameters that the user has not given.

    For gradient descent on the data of the course, this is the grid of its homework. On other data,
    the learning rates are around the stable one, the penalties below the largest useful one, and
    the epochs are limited to a few minutes. Models trained to their optimum vary the penalty only.

    >>> from separatrix import GradientDescentClassifier, load
    >>> from separatrix.workflow.preparing import prepare_source
    >>> data = StudyData.from_prepared(prepare_source(load("wine")), "'wine'")
    >>> chosen = choose_grid(GradientDescentClassifier(), data, {"momentum": [0.9]})
    >>> list(chosen.grid), chosen.notes[0]
    (['learning_rate', 'momentum', 'l2', 'epochs'], 'Chose learning rates from 0.024 to 2.4: ...')
    """
    if not isinstance(estimator, GradientDescentClassifier):
        return _inverse_strengths(estimator, given)
    homework = homework_of(data.facts.fingerprint)
    if homework is not None:
        return _of_homework(homework, given)
    one: LinearClassifier = clone(estimator)
    one.set_params(**{name: values[0] for name, values in given.items() if _listed(values)})
    task = one._make_task(data.training)
    notes: list[str] = []
    grid: dict[str, Callable[[], list[Any]]] = {
        "learning_rate": lambda: _rates(task, data.training, notes),
        "momentum": lambda: MOMENTA if _takes_momentum(given, estimator) else [0.0],
        "l2": lambda: _penalties(task, data.training, notes),
        "epochs": lambda: _epochs(task, data, notes),
    }
    chosen = {name: given.get(name) or choose() for name, choose in grid.items()}
    return ChosenGrid(chosen | given, notes)


def _of_homework(name: str, given: dict[str, Any]) -> ChosenGrid:
    words = {
        parameter: f"{parameter.replace('_', ' ')} {', '.join(f'{value:g}' for value in values)}"
        for parameter, values in HOMEWORK.items()
        if parameter not in given
    }
    note = (
        f"Chose the values of the course's homework, because the rows are those of the data set "
        f"{name!r}: {'; '.join(words.values())}."
    )
    return ChosenGrid(HOMEWORK | given, [note] if words else [])


def _inverse_strengths(estimator: LinearClassifier, given: dict[str, Any]) -> ChosenGrid:
    if "C" in given or "C" not in estimator.get_params(deep=False):
        return ChosenGrid(given)
    low, high = DEFAULT_CS[0], DEFAULT_CS[-1]
    note = f"Chose C, the inverse strength of the penalty, from {low:g} to {high:g}."
    return ChosenGrid({"C": list(DEFAULT_CS), **given}, [note])


def _rates(task: Task, data: Dataset, notes: list[str]) -> list[float]:
    objective = Objective(data, task.loss, ElasticNet(0.0, 0.0), bias=task.bias)
    L = smoothness(objective, Model.zeros(data.n_features, 1, task.n_outputs))
    if L is not None and L[0] > 0.0:
        stable = 2.0 / float(L[0])
        why = "the largest stable rate (2/L, where L bounds the curvature of the loss)"
    else:
        squares = data.sum_of_squares() / data.n_samples
        stable = 2.0 / (1.0 + float(squares))
        why = "2 divided by the mean squared length of a row"
    rates = [float(rounded_down(times * stable)) for times in RATES]
    notes.append(
        f"Chose learning rates from {rates[0]:g} to {rates[-1]:g}: {RATES[0]:g} to {RATES[-1]:g} "
        f"times {rounded_down(stable)}, {why}."
    )
    return rates


def _penalties(task: Task, data: Dataset, notes: list[str]) -> list[float]:
    if not (task.loss.convex and task.loss.smooth):
        return [0.0]
    null = NullModel.of(task.loss, task.n_outputs, data, bias=task.bias)
    largest = null.largest_l2()
    if not (np.isfinite(largest) and largest > 0.0):
        return [0.0]
    strengths = [0.0, *(float(rounded_down(times * largest)) for times in PENALTIES)]
    notes.append(
        f"Chose L2 penalties (l2) of {', '.join(f'{l2:g}' for l2 in strengths)}: with l2 = "
        f"{largest:.2g} or more, the optimum is at most 1 % better than a constant model."
    )
    return strengths


def _epochs(task: Task, data: StudyData, notes: list[str]) -> list[int]:
    entries = data.training.facts.n_entries
    models = len(RATES) * len(MOMENTA) * (1 + len(PENALTIES))
    each = 4.0 * max(entries, 1) * task.n_outputs * models
    longest = next((n for n in LENGTHS if n * each <= BUDGET), LENGTHS[-1])
    epochs = sorted({max(round(share * longest), 1) for share in SHARES})
    if longest < LENGTHS[0]:
        notes.append(
            f"Limited the runs to {longest} epochs, because the data set is large and the study "
            "should take a few minutes at most. Use --epochs to train longer."
        )
    return epochs


def _takes_momentum(given: dict[str, Any], estimator: LinearClassifier) -> bool:
    """Whether any of the update rules has momentum."""
    rules = given.get("rule") or [estimator.get_params(deep=False)["rule"]]
    return any(rule in ("momentum", "nesterov") for rule in (rules if _listed(rules) else [rules]))


def _listed(values: Any) -> bool:
    return isinstance(values, list)
