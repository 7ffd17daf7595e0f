"""Settings of a play: parsed from JSON, checked, and turned into points and classifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.checks.validation import require_choice, require_count, require_number
from separatrix.lab.feature_maps import MAPS, FeatureMap, fit_map
from separatrix.lab.point_sets import (
    MOST_CLASSES,
    MOST_POINTS,
    SHAPES,
    Points,
    drawn_points,
    make_points,
    table_points,
)
from separatrix.readers import Source

MOST_MODELS = 100
MOST_EPOCHS = 20_000
FAR = 100.0  # largest coordinate of a drawn point

# Parameters of a model that the playground sets, and their values in a new playground.
PARAMETERS: dict[str, Any] = {
    "loss": "logistic",
    "l1": 0.0,
    "l2": 0.0,
    "learning_rate": 0.1,
    "rule": "momentum",
    "momentum": 0.0,
    "batch_size": None,
    "init": "zeros",
    "multiclass": "auto",
}


@dataclass(frozen=True)
class PlaySettings:
    """What a play trains: points, their features, and the classifiers."""

    points: Points
    features: FeatureMap
    models: tuple[GradientDescentClassifier, ...]


def read_settings(given: Mapping[str, Any], file: Callable[[str], Source]) -> PlaySettings:
    """Check the settings of a play and return it.

    `given` has the entries "data", "features", "gamma", "seed" and "models". Every model is a
    dictionary of parameters. `file` returns a loaded table by its key.
    """
    given = _object("The settings", given)
    _only("The settings", given, ("data", "features", "gamma", "seed", "models"))
    seed = given.get("seed", 0)
    require_count("seed", seed, low=0)
    points = _points(_object("'data'", given.get("data", {"kind": "moons"})), seed, file)
    kind, gamma = given.get("features", "linear"), given.get("gamma", 1.0)
    require_choice("features", kind, MAPS)
    require_number("gamma", gamma, open_low=True, high=1000.0)
    models = given.get("models", [{}])
    if not isinstance(models, list) or not 1 <= len(models) <= MOST_MODELS:
        raise ParameterError(
            f"'models' must be a list of 1 to {MOST_MODELS} models. Got {_short(models)} instead.",
            parameter="models",
        )
    features = fit_map(kind, points.X[points.train], float(gamma), points.axes)
    return PlaySettings(points, features, tuple(_model(m, seed) for m in models))


def _points(given: Mapping[str, Any], seed: int, file: Callable[[str], Source]) -> Points:
    kind = given.get("kind", "moons")
    require_choice("kind", kind, (*SHAPES, "drawn", "file"))
    if kind == "drawn":
        _only("'data'", given, ("kind", "points"))
        return _drawn(given.get("points"))
    if kind == "file":
        _only("'data'", given, ("kind", "file", "columns"))
        columns = given.get("columns")
        if columns is not None:
            if not (isinstance(columns, list) and len(columns) == 2):
                raise ParameterError(
                    f"'columns' must be two names or null. Got {_short(columns)} instead.",
                    parameter="columns",
                )
            columns = (str(columns[0]), str(columns[1]))
        return table_points(file(str(given.get("file"))), columns, seed)
    _only("'data'", given, ("kind", "count", "noise", "classes"))
    count, noise = given.get("count", 200), given.get("noise", 0.2)
    classes = given.get("classes", 2)
    require_count("count", count, low=10)
    require_number("count", count, high=MOST_POINTS, closed_high=True)
    require_number("noise", noise, high=1.0, closed_high=True)
    require_count("classes", classes, low=2)
    require_number("classes", classes, high=5, closed_high=True)
    return make_points(kind, count, float(noise), classes, seed)


def _drawn(points: Any) -> Points:
    """Return drawn points, given as a list of [x, y, class]."""
    wanted = (
        f"'points' must be a list of at most {MOST_POINTS} points [x, y, class] with coordinates "
        f"from -{FAR:g} to {FAR:g} and whole class numbers from 0 to {MOST_CLASSES - 1}."
    )
    try:
        array = np.array(points, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(wanted, parameter="points") from None
    if array.ndim != 2 or array.shape[1] != 3 or len(array) > MOST_POINTS:
        raise ParameterError(wanted, parameter="points")
    labels = array[:, 2]
    inside = np.isfinite(array).all() and (np.abs(array[:, :2]) <= FAR).all()
    if not inside or (labels != np.rint(labels)).any() or labels.min() < 0:
        raise ParameterError(wanted, parameter="points")
    if labels.max() >= MOST_CLASSES:
        raise ParameterError(wanted, parameter="points")
    if len(np.unique(labels)) < 2:
        raise ParameterError(
            "Draw points of at least two classes: a classifier needs something to tell apart.",
            parameter="points",
        )
    return drawn_points(array[:, :2].copy(), labels.astype(int))


def _model(given: Any, seed: int) -> GradientDescentClassifier:
    chosen = _object("A model", given)
    _only("A model", chosen, tuple(PARAMETERS))
    model = GradientDescentClassifier(**{**PARAMETERS, **chosen}, random_state=seed)
    if not isinstance(model.init, str):
        require_choice("init", model.init, ("zeros", "random"))
    model.set_params(init_scale=1.0)  # large enough to be seen
    model._check_parameters()
    return model


def _object(what: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{what} must be a JSON object. Got {_short(value)} instead.")
    return value


def _only(what: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            raise ParameterError(
                f"{what} cannot have {_short(name)}. Allowed: {', '.join(known)}.",
                parameter=str(name)[:40],
            )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
