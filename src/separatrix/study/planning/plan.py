"""The configurations, seeds and runs of a study."""

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
    """One training of a configuration (numbered from 0) with one seed."""

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
                "A study needs an estimator of separatrix, such as GradientDescentClassifier(). "
                f"Got {type(estimator).__name__} instead."
            )
        if estimator._feature_map_key() is not None:
            raise TypeError(
                "A study trains all configurations on the same features, but a "
                f"{type(estimator).__name__} computes its own. Use GridSearchCV instead."
            )
        if draws is not None and not isinstance(grid, Mapping):
            raise ValueError("Random draws need a single grid. Got a list of grids instead.")
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
                    "A grid cannot vary 'random_state'. Use seeds=N instead.",
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
        """All runs. Everywhere else in a study, a run is a position in this list."""
        return [Run(c, seed) for c in range(len(self.configurations)) for seed in self.seeds]

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The values of every parameter in the grid."""
        return values_by_name(self.configurations)

    def estimator_of(self, run: Run) -> LinearClassifier:
        """Return the estimator with the parameters and the seed of a run."""
        estimator: LinearClassifier = clone(self.estimator)
        return estimator.set_params(**self.configurations[run.configuration], random_state=run.seed)

    def shared_parameters(self) -> dict[str, Any]:
        """Return the shared parameters that differ from the defaults of the estimator."""
        defaults = type(self.estimator)().get_params(deep=False)
        given = self.estimator.get_params(deep=False)
        varied = {*self.values, "random_state"}
        return {
            name: value
            for name, value in given.items()
            if name not in varied and repr(value) != repr(defaults[name])
        }

    def identity(self, data: StudyData) -> dict[str, Any]:
        """Return plain values that identify the study. It can be resumed only if they are equal."""
        return {
            "estimator": type(self.estimator).__name__,
            "parameters": self.shared_parameters(),
            "grid": self.configurations,
            "seeds": self.seeds,
            "data": data.digest,
        }


def _require_plain(parameters: Mapping[str, Any]) -> None:
    """Raise a ParameterError unless all values can be stored and compared on resuming."""
    for name, value in parameters.items():
        try:
            to_text(value)
        except ValueError:
            raise ParameterError(
                f"Parameters of a study must be numbers or strings. Got {type(value).__name__} for "
                f"{name!r}. Use the name of a loss, or train such models with fit_many.",
                parameter=name,
            ) from None


def _seeds(given: int | Sequence[int], first: int) -> list[int]:
    numbers = [given] if not isinstance(given, Sequence | np.ndarray) else list(given)
    whole = all(isinstance(n, Integral) and not isinstance(n, bool) for n in numbers)
    if whole and isinstance(given, Integral):
        numbers = list(range(first, first + int(given)))
    if not whole or not numbers or len(set(numbers)) != len(numbers):
        raise ParameterError(
            "seeds must be a whole number >= 1, or a list of different whole numbers. Got "
            f"{given!r} instead.",
            parameter="seeds",
        )
    return [int(n) for n in numbers]
