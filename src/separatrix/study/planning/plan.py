"""The configurations and seeds of a study, and the runs they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from separatrix.errors import ParameterError
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.study.planning.data import StudyData
from separatrix.study.planning.grid import (
    Configuration,
    Grid,
    draw_configurations,
    list_configurations,
    values_by_name,
)
from separatrix.study.store.encoding import to_text


class Run(NamedTuple):
    """One training of a configuration (its number, from 0) with one seed."""

    configuration: int
    seed: int


@dataclass(frozen=True, eq=False)
class StudyPlan:
    """An estimator, its configurations, and the seeds of the repeats."""

    estimator: LinearClassifier
    configurations: list[Configuration]
    seeds: list[int]

    @classmethod
    def from_grid(
        cls,
        estimator: LinearClassifier,
        grid: Grid | Sequence[Grid],
        seeds: int | Sequence[int] = 1,
        draws: int | None = None,
        seed: int = 0,
    ) -> StudyPlan:
        """Check the estimator, the grid and the seeds, and list or draw the configurations."""
        if not isinstance(estimator, LinearClassifier):
            raise TypeError(
                "A study takes an estimator of separatrix, such as GradientDescentClassifier(). "
                f"Got {type(estimator).__name__} instead."
            )
        if estimator._feature_map_key() is not None:
            raise TypeError(
                "A study trains all configurations on the rows as they are, which a "
                f"{type(estimator).__name__} changes. Search its parameters by GridSearchCV."
            )
        if draws is not None and not isinstance(grid, Mapping):
            raise ValueError("Random draws are made from one grid. Got a list of grids instead.")
        if draws is None or not isinstance(grid, Mapping):
            configurations = list_configurations(grid)
        else:
            configurations = draw_configurations(grid, draws, seed)
        known = estimator.get_params(deep=False)
        for name in values_by_name(configurations):
            if name not in known:
                raise ParameterError(
                    f"{type(estimator).__name__} has no parameter {name!r}, which the grid varies. "
                    f"Parameters: {', '.join(known)}.",
                    parameter=name,
                )
            if name == "random_state":
                raise ParameterError(
                    "A grid does not vary 'random_state': say seeds=N instead.",
                    parameter="random_state",
                )
        plan = cls(estimator, configurations, _seeds(seeds, seed))
        for parameters in (*configurations, plan.shared_parameters()):
            _require_plain(parameters)
        return plan

    def __len__(self) -> int:
        return len(self.runs)

    @cached_property
    def runs(self) -> list[Run]:
        """All runs; everywhere else in a study, a run is a position in this list."""
        return [Run(c, seed) for c in range(len(self.configurations)) for seed in self.seeds]

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The values of each parameter of the grid."""
        return values_by_name(self.configurations)

    def estimator_of(self, run: Run) -> LinearClassifier:
        """The estimator with the parameters and the seed of a run."""
        estimator: LinearClassifier = clone(self.estimator)
        return estimator.set_params(**self.configurations[run.configuration], random_state=run.seed)

    def shared_parameters(self) -> dict[str, Any]:
        """The parameters of all configurations that are not the estimator's defaults."""
        defaults = type(self.estimator)().get_params(deep=False)
        given = self.estimator.get_params(deep=False)
        varied = {*self.values, "random_state"}
        return {
            name: value
            for name, value in given.items()
            if name not in varied and repr(value) != repr(defaults[name])
        }

    def identity(self, data: StudyData) -> dict[str, Any]:
        """What makes a study this one, as plain values: it can be resumed only if all are equal."""
        return {
            "estimator": type(self.estimator).__name__,
            "parameters": self.shared_parameters(),
            "grid": self.configurations,
            "seeds": self.seeds,
            "data": data.digest,
        }


def _require_plain(parameters: Mapping[str, Any]) -> None:
    """Raise unless all values can be stored, and compared when the study is resumed."""
    for name, value in parameters.items():
        try:
            to_text(value)
        except ValueError:
            raise ParameterError(
                f"A study keeps its parameters as numbers and words. Got {type(value).__name__} "
                f"for {name!r}: give the name of a loss, or train such models by fit_many.",
                parameter=name,
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
