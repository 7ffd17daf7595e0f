"""The path of two weights over the surface of the objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from scipy import ndimage
from sklearn.base import clone

from separatrix.charts.drawing.chart_data import column_names, data, short
from separatrix.charts.drawing.labels import haloed, shade_key
from separatrix.charts.drawing.png_image import colour, image
from separatrix.charts.drawing.row_choice import feature_number
from separatrix.charts.drawing.theme import CHOSEN, CLASSES, DASHES, OTHERS, finish
from separatrix.charts.models.model_words import model_words
from separatrix.estimators import GradientDescentClassifier, fit_many
from separatrix.estimators.checks.training_data import make_dataset
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.text import counted, named_class

_WIDTH, _HEIGHT = 420, 360
_GRID = (48, 56)  # grid points at which the objective is evaluated
_AT_ONCE = 128  # grid points per evaluation
_FINER = 6  # pixels of the image per grid point
_BANDS = 14  # levels of the shading
_DOTS = 50  # epochs drawn as dots; later ones would overlap
_DENSE = 150  # first epochs, which are all drawn, and number of points for later ones


def weight_path(
    estimator: GradientDescentClassifier | Mapping[str, GradientDescentClassifier],
    X: Any,
    y: Any,
    weights: tuple[int | str, int | str] = (0, 1),
    *,
    output: int = 0,
    names: Sequence[str] | None = None,
) -> Any:
    """Train by gradient descent and draw the path of two weights over the objective.

    Parameters
    ----------
    estimator : an estimator, fitted or not, or a dictionary of estimators that minimise the same
        objective
    X, y : the training rows
    weights : two features, by number or name, or "bias"
    output : number of the score that the weights belong to, if there are several
    names : names of the features. None means the column names of X, or x0, x1, ...

    The shading shows the objective as a function of these two weights, on a logarithmic scale
    above its lowest value. All other weights have their values from the end of the first run.

    >>> import numpy as np
    >>> from separatrix import GradientDescentClassifier, charts
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [0, 1, 1]
    >>> model = GradientDescentClassifier(l2=0.1, learning_rate=0.5, epochs=30)
    >>> charts.weight_path(model, X, y).to_dict()["description"][:63]
    'Path of the weight of x0 and the weight of x1 in 30 epochs. Obj'
    """
    named = dict(estimator) if isinstance(estimator, Mapping) else {"": estimator}
    if not named:
        raise ValueError("There is no estimator to train. Give at least one.")
    for one in named.values():
        if not isinstance(one, GradientDescentClassifier):
            raise TypeError(
                "The path of the weights needs a GradientDescentClassifier. Got "
                f"{type(one).__name__} instead."
            )
    first = next(iter(named.values()))
    objective, start = _objective(first, X, y)
    axes = _Axes.of(weights, output, column_names(X, names), start, y)
    paths = {name: _path(one, X, y, axes, objective) for name, one in named.items()}
    base = next(iter(paths.values()))[1]
    box = _box(np.concatenate([points for points, _, _ in paths.values()]))
    values = _values(objective, base, axes, box)
    layers = [*_shade(values, box, axes), *_lowest(values, box), *_lines(paths)]
    chart = alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    subtitle = [f"{model_words(first)}."] if len(named) == 1 else []
    subtitle.append(f"Objective: {_formula(objective)}.")
    if start.W.size + start.b.size * objective.bias > 2:
        subtitle.append("All other weights have their values from the end of the first run.")
    ends = "; ".join(
        f"{name + ' ' if name else ''}from {short(float(P[0]))} to {short(float(P[-1]))}"
        for name, (_, _, P) in paths.items()
    )
    epochs = counted(max(int(one.epochs) for one in named.values()), "epoch")
    described = " and the ".join(axes.names)
    description = f"Path of the {described} in {epochs}. Objective: {ends}."
    return finish(chart, "Path of two weights over the objective", subtitle, description)


@dataclass(frozen=True)
class _Axes:
    """The two weights: their rows of W (None for the bias), their output and their names."""

    features: tuple[int | None, int | None]
    output: int
    names: tuple[str, str]

    @classmethod
    def of(
        cls,
        weights: tuple[int | str, int | str],
        output: int,
        names: list[str],
        like: Model,
        y: Any,
    ) -> _Axes:
        if len(weights) != 2:
            raise ValueError(f"The 'weights' parameter must have two entries. Got {len(weights)}.")
        if not 0 <= output < like.n_outputs:
            raise ValueError(
                f"The 'output' parameter must be from 0 to {like.n_outputs - 1}. Got {output}."
            )
        found = [_feature(weight, names) for weight in weights]
        if found[0] == found[1]:
            raise ValueError(f"The two weights must be different. Got {weights[0]!r} twice.")
        words = ["bias" if j is None else f"weight of {names[j]}" for j in found]
        if like.n_outputs > 1:
            classes = np.unique(y)[-like.n_outputs :].tolist()
            words = [f"{each}, {named_class(classes[output])}" for each in words]
        return cls((found[0], found[1]), output, (words[0], words[1]))

    def of_model(self, model: Model) -> Array:
        """Return the two weights of each model (B, 2)."""
        k = self.output
        columns = [model.b[:, k] if j is None else model.W[j, :, k] for j in self.features]
        return np.stack(columns, axis=1).astype(np.float64)

    def put(self, model: Model, points: Array) -> Model:
        """Return B copies of a model with the two weights replaced by points (B, 2)."""
        out = Model(
            np.repeat(model.W, len(points), axis=1), np.repeat(model.b, len(points), axis=0)
        )
        for j, values in zip(self.features, points.T):
            if j is None:
                out.b[:, self.output] = values
            else:
                out.W[j, :, self.output] = values
        return out


def _feature(weight: int | str, names: list[str]) -> int | None:
    if weight == "bias":
        return None
    return feature_number(weight, names)


def _objective(estimator: GradientDescentClassifier, X: Any, y: Any) -> tuple[Objective, Model]:
    """Return the objective and the starting weights of an estimator."""
    data_ = make_dataset(copy(estimator), X, y, None)
    task = estimator._make_task(data_)
    penalty = ElasticNet(task.l1, task.l2, task.factors, task.bias_factor)
    start = task.start or Model.zeros(data_.n_features, 1, task.n_outputs)
    return Objective(data_, task.loss, penalty, bias=task.bias), start.astype(np.float64)


def _path(
    estimator: GradientDescentClassifier, X: Any, y: Any, axes: _Axes, objective: Objective
) -> tuple[Array, Model, Array]:
    """Return the two weights at some epochs, the last model and the values of the objective."""
    own, start = _objective(estimator, X, y)
    if _formula(own) != _formula(objective):
        raise ValueError(
            "All estimators must minimise the same objective. These are different objectives: "
            f"{_formula(objective)}; {_formula(own)}."
        )
    # Keep all of the first epochs, so that oscillations from epoch to epoch are visible.
    last = estimator._epochs()
    sparse = np.geomspace(min(_DENSE, last), last, _DENSE).round().astype(int)
    epochs = np.union1d(np.arange(1, min(_DENSE, last) + 1), sparse)
    # The models differ only in the number of epochs, so fit_many trains them as one run.
    models = fit_many(
        [clone(estimator).set_params(epochs=int(e), max_iter=None) for e in epochs], X, y
    )
    all_models = Model.stack([start, *(m._model().astype(np.float64) for m in models)])
    points = axes.of_model(all_models)
    finite = np.flatnonzero(np.isfinite(points).all(axis=1))
    chosen = all_models.select(finite)
    return points[finite], chosen.select(np.array([-1])), objective.value(chosen)


def _formula(objective: Objective) -> str:
    return objective.words(0)


def _box(points: Array) -> tuple[float, float, float, float]:
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-3)
    # Limit the ratio of the sides: a straight path would have no width.
    half = 1.35 * np.maximum(half, 0.35 * half.max())
    (left, bottom), (right, top) = (middle - half).tolist(), (middle + half).tolist()
    return left, right, bottom, top


def _values(
    objective: Objective, base: Model, axes: _Axes, box: tuple[float, float, float, float]
) -> Array:
    """Return the objective on a grid over the box, from top to bottom."""
    grid = np.stack(np.meshgrid(*_places(box)), axis=-1).reshape(-1, 2)
    parts = [
        objective.value(axes.put(base, grid[k : k + _AT_ONCE]))
        for k in range(0, len(grid), _AT_ONCE)
    ]
    return np.concatenate(parts).reshape(_GRID)


def _places(box: tuple[float, float, float, float]) -> tuple[Array, Array]:
    """Return the centres of the columns, and of the lines from top to bottom."""
    left, right, bottom, top = box
    height, width = _GRID
    across = left + (right - left) * (np.arange(width) + 0.5) / width
    return across, top - (top - bottom) * (np.arange(height) + 0.5) / height


def _shade(values: Array, box: tuple[float, float, float, float], axes: _Axes) -> list[Any]:
    left, right, bottom, top = box
    lowest, highest = float(values.min()), float(values.max())
    level = np.log1p((values - lowest) / (1e-2 * (highest - lowest or 1.0))) / np.log1p(1e2)
    fine = ndimage.zoom(level, _FINER, order=1, grid_mode=True, mode="nearest")
    pixels = np.empty((*fine.shape, 4))
    pixels[..., :3] = colour(OTHERS)
    pixels[..., 3] = 0.85 * np.floor(np.clip(fine, 0.0, 0.999) * _BANDS) / _BANDS
    row = {"url": image(pixels), "left": left, "right": right, "bottom": bottom, "top": top}
    x, y = _sides(axes.names, box)
    picture = alt.Chart(data([row])).mark_image(aspect=False)
    picture = picture.encode(x=x, x2="right:Q", y=y, y2="top:Q", url="url:N")
    # The inverse of `level` at the lightest, the middle and the darkest band.
    depths = [0.0, 0.5, 1.0]
    shown = [
        lowest + 1e-2 * (highest - lowest) * float(np.expm1(t * np.log1p(1e2))) for t in depths
    ]
    return [picture, shade_key("objective", list(map(short, shown)), [0.04, 0.425, 0.85])]


def _lowest(values: Array, box: tuple[float, float, float, float]) -> list[Any]:
    """Draw a cross at the lowest grid point, unless it is at the border of the box."""
    line, column = np.unravel_index(values.argmin(), values.shape)
    if line in (0, values.shape[0] - 1) or column in (0, values.shape[1] - 1):
        return []
    across, up = _places(box)
    words = f"lowest objective: {short(float(values.min()))}"
    place = alt.Chart(data([{"x": across[column], "y": up[line], "words": words}]))
    place = place.encode(x="x:Q", y="y:Q")
    cross = place.mark_point(shape="cross", angle=45, size=70, color=CHOSEN, fill=CHOSEN, opacity=1)
    right = column < 0.6 * values.shape[1]
    look: dict[str, Any] = {
        "align": "left" if right else "right",
        "dx": 11 if right else -11,
        "dy": 12,
    }
    text = place.encode(text="words:N")
    return [cross, *haloed(text, fontWeight="bold", color=CHOSEN, **look)]


def _sides(names: tuple[str, str], box: tuple[float, float, float, float]) -> tuple[Any, Any]:
    """Return the axes of the box that the image fills."""
    left, right, bottom, top = box
    scales = (
        alt.Scale(domain=[left, right], nice=False, zero=False),
        alt.Scale(domain=[bottom, top], nice=False, zero=False),
    )
    axis = alt.Axis(grid=False, tickCount=5, format=".6~g")
    x = alt.X("left:Q", title=names[0], scale=scales[0], axis=axis)
    return x, alt.Y("bottom:Q", title=names[1], scale=scales[1], axis=axis)


def _lines(paths: Mapping[str, tuple[Array, Model, Array]]) -> list[Any]:
    rows: list[dict[str, Any]] = []
    for name, (points, _, values) in paths.items():
        for k, ((x, y), value) in enumerate(zip(points.tolist(), values.tolist())):
            end = "start" if k == 0 else "end" if k == len(points) - 1 else ""
            row = {"run": name, "order": k, "x": x, "y": y, "value": value, "end": end}
            rows.append(row)
    names = list(paths)
    legend = alt.Legend(title=None, orient="top", symbolType="stroke") if len(names) > 1 else None
    shades = [CLASSES[k % len(CLASSES)] for k in range(len(names))]
    dashes = [DASHES[k % len(DASHES)] for k in range(len(names))]
    base = alt.Chart(data(rows)).encode(
        x="x:Q",
        y="y:Q",
        color=alt.Color("run:N").scale(domain=names, range=shades).legend(legend),
        tooltip=[
            "run:N",
            alt.Tooltip("x:Q", title="horizontal"),
            alt.Tooltip("y:Q", title="vertical"),
            alt.Tooltip("value:Q", title="objective", format=".4g"),
        ],
    )
    dash = alt.StrokeDash("run:N").scale(domain=names, range=dashes).legend(legend)
    starts = base.transform_filter(alt.datum.end == "start")
    return [
        base.mark_line(strokeWidth=1.6, clip=True).encode(order="order:Q", strokeDash=dash),
        base.transform_filter(f"datum.end == '' && datum.order <= {_DOTS}").mark_point(
            filled=True, size=10, opacity=0.8
        ),
        starts.mark_point(shape="circle", size=70, strokeWidth=2, opacity=1),
        *_starts(paths),
        base.transform_filter(alt.datum.end == "end").mark_point(filled=True, size=70, opacity=1),
    ]


def _starts(paths: Mapping[str, tuple[Array, Model, Array]]) -> list[Any]:
    """Write "start" once for all paths that start at the same point."""
    places = {(float(x), float(y)) for (x, y), *_ in (points for points, _, _ in paths.values())}
    rows = [{"x": x, "y": y, "text": "start"} for x, y in sorted(places)]
    words = alt.Chart(data(rows)).encode(x="x:Q", y="y:Q", text="text:N")
    return haloed(words, style="ink", dy=-15)
