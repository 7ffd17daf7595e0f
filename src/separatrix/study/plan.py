"""What a study trains: an estimator with many configurations and seeds, on which rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.data import Dataset
from separatrix.errors import Message, ParameterError, message_of
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.fit_many import prepare, prepare_validation
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.readers import Source
from separatrix.study.facts import DataFacts
from separatrix.study.grid import Configuration, Grid, configurations, draw, values_of
from separatrix.study.store.database import to_text
from separatrix.text import counted, in_words, value_words
from separatrix.training.legality import refuse_illegal
from separatrix.training.task import Task

NAME = re.compile(r"[^\W_][\w. -]*")
LONGEST_NAME = 100  # bytes


@dataclass(frozen=True, eq=False)
class Plan:
    """An estimator, its configurations, and the random states of the repeats."""

    estimator: LinearClassifier
    chosen: list[Configuration]
    seeds: list[int]

    @classmethod
    def of(
        cls,
        estimator: LinearClassifier,
        grid: Grid | Sequence[Grid],
        seeds: int | Sequence[int] = 1,
        draws: int | None = None,
        seed: int = 0,
    ) -> Plan:
        """Check the parts, and make the configurations."""
        if not isinstance(estimator, LinearClassifier):
            raise TypeError(
                "A study takes an estimator of separatrix, such as GradientDescentClassifier(). "
                f"Got {type(estimator).__name__} instead."
            )
        if estimator._rows_key() is not None:
            raise TypeError(
                "A study trains all configurations on the rows as they are, which a "
                f"{type(estimator).__name__} changes. Search its parameters by GridSearchCV."
            )
        if draws is not None and not isinstance(grid, Mapping):
            raise ValueError("Random draws are made from one grid. Got a list of grids instead.")
        if draws is None or not isinstance(grid, Mapping):
            chosen = configurations(grid)
        else:
            chosen = draw(grid, draws, seed)
        known = estimator.get_params(deep=False)
        for name in values_of(chosen):
            if name not in known:
                raise ValueError(
                    f"{type(estimator).__name__} has no parameter {name!r}, which the grid varies. "
                    f"Parameters: {', '.join(known)}."
                )
            if name == "random_state":
                raise ValueError("A grid does not vary 'random_state': say seeds=N instead.")
        plan = cls(estimator, chosen, _seeds(seeds, seed))
        for parameters in (*chosen, plan.parameters()):
            _require_plain(parameters)
        return plan

    def __len__(self) -> int:
        return len(self.chosen) * len(self.seeds)

    def runs(self) -> list[tuple[int, int]]:
        """Configuration and seed of every run."""
        return [(c, seed) for c in range(len(self.chosen)) for seed in self.seeds]

    def build(self, configuration: int, seed: int) -> LinearClassifier:
        """The estimator of a run."""
        made: LinearClassifier = clone(self.estimator)
        return made.set_params(**self.chosen[configuration], random_state=seed)

    def parameters(self) -> dict[str, Any]:
        """The parameters of all configurations that are not the estimator's defaults."""
        defaults = type(self.estimator)().get_params(deep=False)
        given = self.estimator.get_params(deep=False)
        varied = {*values_of(self.chosen), "random_state"}
        return {
            name: value
            for name, value in given.items()
            if name not in varied and repr(value) != repr(defaults[name])
        }

    def identity(self, rows: Rows) -> dict[str, Any]:
        """What makes a study this one, as plain values."""
        return {
            "estimator": type(self.estimator).__name__,
            "parameters": self.parameters(),
            "grid": self.chosen,
            "seeds": self.seeds,
            "data": rows.digest,
        }


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows to train and to validate on, and what is told of them."""

    X: Any
    y: Any
    data: Dataset
    validation: Dataset | None
    facts: DataFacts
    digest: str  # sha256 of the matrices that are trained on
    call: str  # what `Study.run` is to be given for the same rows

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        *,
        name: str = "data",
        fingerprint: str | None = None,
        feature_names: list[str] | None = None,
        notes: Sequence[str] = (),
        call: str = "X, y, X_val, y_val",
    ) -> Rows:
        """Rows as arrays or frames; `fingerprint` is that of the source, if they come from one."""
        checked = GradientDescentClassifier()  # all estimators ask the same of their rows
        data = prepare(checked, X, y, None)
        validation = prepare_validation(checked, X_val, y_val, data)
        if feature_names is None and hasattr(X, "columns"):
            feature_names = [str(column) for column in X.columns]
        digest = _digest(X, y, X_val, y_val)
        rows = {"train": data.n_samples}
        if validation is not None:
            rows["validation"] = validation.n_samples
        facts = DataFacts(
            name,
            rows,
            data.n_features,
            data.classes.tolist(),
            feature_names,
            fingerprint or digest,
            list(notes),
        )
        return cls(X, y, data, validation, facts, digest, call)


@dataclass(frozen=True, eq=False)
class Work:
    """All runs of a plan as tasks over one data set."""

    estimators: list[LinearClassifier]
    tasks: list[Task]
    data: Dataset
    validation: Dataset | None

    @property
    def own_rows(self) -> bool:
        """Whether runs weigh the rows differently."""
        return any("weights" in block.own() for block in self.data.blocks())

    @classmethod
    def of(cls, plan: Plan, rows: Rows) -> Work:
        """Check every run before any is made; an error names the configuration."""
        estimators = [plan.build(*run) for run in plan.runs()]
        weights = [getattr(estimator, "class_weight", None) for estimator in estimators]
        data, validation = rows.data, rows.validation
        if any(weight is not None for weight in weights):
            data = prepare(copy(estimators[0]), rows.X, rows.y, None, weights)
        tasks = []
        for k, (configuration, _) in enumerate(plan.runs()):
            try:
                task = estimators[k]._task(data.select(np.array([k])))
                refuse_illegal(task.solver.name, task.loss, task.l1, task.l2)
            except ValueError as error:
                kind = ParameterError if isinstance(error, ParameterError) else ValueError
                which = in_words(plan.chosen[configuration])
                message = Message("{which}: {what}", which=which, what=message_of(error))
                raise kind(message) from None
            if validation is None and (task.stop.patience >= 0).any():
                raise ParameterError(
                    "patience watches validation rows, and this study has none. Give it some "
                    "(X_val and y_val, or --split 80/20/0), or leave patience out.",
                    parameter="patience",
                )
            tasks.append(task)
        return cls(estimators, tasks, data, validation)


def require_name(name: str) -> None:
    """Raise unless a study may have this name: reports are files of the same name."""
    if not (NAME.fullmatch(name) and len(name.encode()) <= LONGEST_NAME):
        raise ParameterError(
            "The name of a study is made of letters, digits, dots, dashes, underscores and spaces, "
            f"begins with a letter or digit, and has at most {LONGEST_NAME} bytes. Got {name!r} "
            "instead.",
            parameter="name",
        )


def difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """What tells two plans apart, in words; None if nothing does."""
    for part, words in {
        "data": "other data",
        "estimator": "another estimator",
        "parameters": "other parameters",
        "seeds": "other seeds",
        "grid": "another grid",
    }.items():
        if to_text(then[part]) == to_text(now[part]):
            continue
        if part == "data":
            return f"{words} (fingerprint {then[part][:12]} there, {now[part][:12]} here)"
        if part == "grid":
            return f"{words} ({_grid_words(then[part])} there, {_grid_words(now[part])} here)"
        return f"{words} ({then[part]} there, {now[part]} here)"
    return None


def facts_of(rows: Rows) -> dict[str, Any]:
    """What is stored of the data."""
    return asdict(rows.facts)


def _grid_words(chosen: list[Configuration]) -> str:
    values = values_of(chosen)
    return f"{counted(len(chosen), 'configuration')} of " + "; ".join(
        f"{name} {', '.join(value_words(name, value) for value in each)}"
        for name, each in values.items()
    )


def _require_plain(parameters: Mapping[str, Any]) -> None:
    """Raise unless all values can be kept, and compared when the study is resumed."""
    for name, value in parameters.items():
        try:
            to_text(value)
        except ValueError:
            raise ValueError(
                f"A study keeps its parameters as numbers and words. Got {type(value).__name__} "
                f"for {name!r}: give the name of a loss, or train such models by fit_many."
            ) from None


def _seeds(given: int | Sequence[int], first: int) -> list[int]:
    numbers = [given] if not isinstance(given, Sequence | np.ndarray) else list(given)
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in numbers)
    if whole and isinstance(given, Integral):
        numbers = list(range(first, first + int(given)))
    if not whole or not numbers or len(set(numbers)) != len(numbers):
        raise ParameterError(
            "seeds is a whole number of at least 1, or a list of different whole numbers. Got "
            f"{given!r} instead.",
            parameter="seeds",
        )
    return [int(n) for n in numbers]


def _digest(X: Any, y: Any, X_val: Any, y_val: Any) -> str:
    """One sha256 of all rows: what is trained on, and what is validated on."""
    digest = hashlib.sha256()
    for table, labels in ((X, y), (X_val, y_val)):
        if table is None:
            digest.update(b"none")
            continue
        table = table if hasattr(table, "tocsr") else np.asarray(table)
        table = table.tocsr() if hasattr(table, "tocsr") else table
        digest.update(Source("", table, np.asarray(labels)).fingerprint.encode())
    return digest.hexdigest()
