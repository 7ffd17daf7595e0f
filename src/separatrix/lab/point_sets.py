"""Points in the plane for the playground: built in, drawn, or from a loaded table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix.errors import ParameterError
from separatrix.matrix import Array
from separatrix.readers import Source
from separatrix.workflow.preparing import choose_settings, prepare_source

MOST_POINTS = 2000
MOST_CLASSES = 10
TRAIN_SHARE = 0.7
PADDING = 0.12  # space around the points, as a share of their extent
DRAWN_REACH = 3.0  # the plane on which points are drawn; it grows in steps, not with every point
GROWTH = 1.5


@dataclass(frozen=True)
class Points:
    """Labelled points in the plane.

    Attributes
    ----------
    X : (n, 2), on a scale on which the points have mean 0 and standard deviation 1, roughly
    y : (n,), class numbers
    classes : names of the classes
    train : (n,), True for training points and False for validation points
    axes : names of the two axes
    centre, scale : (2,), a value x of the data is drawn at (x - centre) / scale
    colours : the number of the colour of every class; the number of the class if it is empty
    reach : the plane is shown from -reach to reach in both directions
    """

    X: Array
    y: Array
    classes: tuple[str, ...]
    train: Array
    axes: tuple[str, str] = ("x", "y")
    centre: tuple[float, float] = (0.0, 0.0)
    scale: tuple[float, float] = (1.0, 1.0)
    colours: tuple[int, ...] = ()

    @property
    def reach(self) -> float:
        most = float(np.abs(self.X).max(initial=0.0))
        if not self.colours:
            return max(most * (1.0 + PADDING), 1.0)
        reach = DRAWN_REACH
        while reach < most:
            reach *= GROWTH
        return reach


def make_points(kind: str, count: int, noise: float, classes: int, seed: int) -> Points:
    """Return one of the built-in point sets.

    >>> points = make_points("moons", 100, 0.2, 2, seed=0)
    >>> points.X.shape, points.classes
    ((100, 2), ('0', '1'))
    """
    rng = np.random.default_rng(seed)
    X, y = SHAPES[kind](count, noise, classes, rng)
    names = tuple(str(c) for c in range(int(y.max()) + 1))
    return Points(X, y, names, _draw_train(y, rng))


def drawn_points(coordinates: Array, labels: Array) -> Points:
    """Return points drawn by hand. All of them are training points.

    The classes are the labels that were drawn, and keep their names and colours.

    >>> points = drawn_points(np.eye(2), np.array([3, 1]))
    >>> points.y.tolist(), points.classes, points.colours
    ([1, 0], ('1', '3'), (1, 3))
    """
    drawn, y = np.unique(labels, return_inverse=True)
    names = tuple(str(c) for c in drawn.tolist())
    return Points(coordinates, y, names, np.ones(len(y), bool), colours=tuple(drawn.tolist()))


def table_points(source: Source, columns: tuple[str, str] | None, seed: int) -> Points:
    """Return two columns of a table as points, or its first two principal components.

    Categories, text and missing values are converted as for a fit. Large tables are sampled.

    >>> from separatrix import load
    >>> table_points(load("iris"), None, seed=0).axes
    ('PC1', 'PC2')
    """
    settings = choose_settings(source.table, standardise=columns is None)
    prepared = prepare_source(source, settings)
    names = list(prepared.preparation.feature_names_out)
    parts = [part for part in ("train", "validation") if part in prepared.X]
    rng = np.random.default_rng(seed)
    chosen = {
        part: _sample(len(prepared.y[part]), MOST_POINTS // len(parts), rng) for part in parts
    }
    tables = [_as_array(prepared.X[part][chosen[part]]) for part in parts]
    labels = np.concatenate([prepared.y[part][chosen[part]] for part in parts])
    train = np.concatenate([np.full(len(t), part == "train") for t, part in zip(tables, parts)])
    X = np.vstack(tables)
    classes, y = np.unique(labels, return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise ParameterError(
            f"The playground shows at most {MOST_CLASSES} classes. {source.name} has "
            f"{len(classes)}. Choose another label column.",
            parameter="columns",
        )
    if columns is None:
        axes = ("PC1", "PC2")
        X = _principal_components(X, train)
    else:
        axes = columns
        X = X[:, [_position(names, column, source.name) for column in columns]]
    centre = X[train].mean(axis=0)
    scale = X[train].std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    return Points(
        (X - centre) / scale,
        y,
        tuple(str(c) for c in classes),
        train,
        axes,
        (float(centre[0]), float(centre[1])),
        (float(scale[0]), float(scale[1])),
    )


def _as_array(X: object) -> Array:
    toarray = getattr(X, "toarray", None)
    return np.asarray(toarray() if toarray is not None else X, np.float64)


def _sample(rows: int, most: int, rng: np.random.Generator) -> Array:
    return np.arange(rows) if rows <= most else np.sort(rng.choice(rows, most, replace=False))


def _position(names: list[str], column: str, source: str) -> int:
    if column not in names:
        raise ParameterError(
            f"{source} has no column {column!r}. Its columns are: {', '.join(names[:20])}.",
            parameter="columns",
        )
    return names.index(column)


def _principal_components(X: Array, train: Array) -> Array:
    """Return the first two principal components of the rows; directions are those of training."""
    centred = X - X[train].mean(axis=0)
    _, _, directions = np.linalg.svd(centred[train], full_matrices=False)
    found = centred @ directions[:2].T
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))


def _draw_train(y: Array, rng: np.random.Generator) -> Array:
    """Draw the training points of every class; at least one of each."""
    train = np.zeros(len(y), bool)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        train[rows[: max(1, round(TRAIN_SHARE * len(rows)))]] = True
    return train


def _moons(n: int, noise: float, classes: int, rng: np.random.Generator) -> tuple[Array, Array]:
    y = np.arange(n) % 2
    angle = rng.uniform(0.0, np.pi, n)
    upper = np.column_stack([np.cos(angle) - 0.5, np.sin(angle) - 0.25])
    X = np.where(y[:, None] == 0, upper, -upper)
    return 1.6 * (X + noise * rng.normal(size=(n, 2))), y


def _circles(n: int, noise: float, classes: int, rng: np.random.Generator) -> tuple[Array, Array]:
    y = np.arange(n) % 2
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = np.where(y == 0, 2.0, 0.8)[:, None]
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return radius * circle + 1.5 * noise * rng.normal(size=(n, 2)), y


def _blobs(n: int, noise: float, classes: int, rng: np.random.Generator) -> tuple[Array, Array]:
    y = np.arange(n) % classes
    angle = 2.0 * np.pi * (np.arange(classes) / classes) + 0.6
    centres = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    return centres[y] + (0.2 + 2.0 * noise) * rng.normal(size=(n, 2)), y


def _exclusive_or(
    n: int, noise: float, classes: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = (X[:, 0] * X[:, 1] < 0.0).astype(int)
    return X + noise * rng.normal(size=(n, 2)), y


def _spirals(n: int, noise: float, classes: int, rng: np.random.Generator) -> tuple[Array, Array]:
    y = np.arange(n) % 2
    t = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 3.5 * np.pi * t + np.pi * y
    X = 2.3 * t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.5 * noise * rng.normal(size=(n, 2)), y


Shape = Callable[[int, float, int, np.random.Generator], tuple[Array, Array]]
SHAPES: dict[str, Shape] = {
    "blobs": _blobs,
    "moons": _moons,
    "circles": _circles,
    "xor": _exclusive_or,
    "spirals": _spirals,
}
