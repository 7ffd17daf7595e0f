"""The plays and files of a running lab, by key."""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.lab.lessons import Lesson
from separatrix.lab.play import MEASURES, Play
from separatrix.lab.settings import read_settings
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.readers import Columns, Source, load

MOST_PLAYS = 8  # the least recently used play is forgotten
MOST_FILES = 8
MOST_COLUMNS = 200  # that a menu offers
ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".npz", ".npy", ".svm", ".libsvm")


class LabState:
    """Plays in training and uploaded files. Its methods can be called from any thread."""

    def __init__(self, lessons: Sequence[Lesson] = ()) -> None:
        self.lessons = list(lessons)
        self.opened: dict[str, Any] | None = None  # the table that the lab was started with
        self._plays: OrderedDict[str, tuple[Play, threading.Lock]] = OrderedDict()
        self._files: OrderedDict[str, Source] = OrderedDict()
        self._lock = threading.Lock()

    def open_with(self, source: Source, name: str) -> None:
        """Show a table when the playground is opened."""
        self.opened = self.describe_file(self.add_source(source), name)

    def start(self, given: Any) -> dict[str, Any]:
        """Start a play with settings from a page, and describe it."""
        play = Play(read_settings(given, self.file))
        key = secrets.token_urlsafe(9)
        with self._lock:
            self._plays[key] = play, threading.Lock()
            while len(self._plays) > MOST_PLAYS:
                self._plays.popitem(last=False)
        return {"id": key} | describe_play(play)

    def play(self, key: str) -> tuple[Play, threading.Lock]:
        """Return a play and the lock that its user holds; an unknown key is a KeyError."""
        with self._lock:
            self._plays.move_to_end(key)
            return self._plays[key]

    def add_source(self, source: Source) -> str:
        """Keep a loaded table and return its key."""
        key = secrets.token_urlsafe(9)
        with self._lock:
            self._files[key] = source
            while len(self._files) > MOST_FILES:
                self._files.popitem(last=False)
        return key

    def file(self, key: str) -> Source:
        """Return a loaded table."""
        with self._lock:
            if key not in self._files:
                raise ParameterError(
                    "The lab no longer has this file. Choose it again.", parameter="file"
                )
            return self._files[key]

    def upload(self, name: str, content: bytes, label: str | None) -> dict[str, Any]:
        """Load an uploaded file and describe its columns."""
        ending = os.path.splitext(name)[1].lower()
        if ending not in ENDINGS:
            raise ParameterError(
                f"The lab reads files that end in {', '.join(ENDINGS)}. Got a name that ends in "
                f"{ending!r}.",
                parameter="name",
            )
        with tempfile.TemporaryDirectory() as folder:
            # The name in the browser is only shown: the file gets a name of its own.
            path = Path(folder) / f"data{ending}"
            path.write_bytes(content)
            source = load(path, label=label)
        return self.describe_file(self.add_source(source), name)

    def describe_file(self, key: str, name: str) -> dict[str, Any]:
        """Describe a loaded table: its numeric columns, classes and first rows."""
        source = self.file(key)
        return {"key": key, "name": name, "rows": len(source), "notes": list(source.notes)} | (
            _columns(source)
        )


def describe_play(play: Play) -> dict[str, Any]:
    """Return what a page needs to draw a play, as JSON values."""
    points = play.settings.points
    return {
        "width": play.width,
        "measures": list(MEASURES),
        "features": list(play.settings.features.names),
        "classes": list(points.classes),
        "colours": list(points.colours or range(len(points.classes))),
        "axes": list(points.axes),
        "centre": list(points.centre),
        "scale": list(points.scale),
        "reach": points.reach,
        "points": [
            [round(float(x), 5), round(float(y), 5), int(c), bool(t)]
            for (x, y), c, t in zip(points.X, points.y, points.train)
        ],
        "models": [
            {
                "offset": place.offset,
                "outputs": place.outputs,
                "probability": _probability(play.objective(m).loss),
                "descends": play.batches[place.batch].solver.descends,
                "margin": _margin(play.objective(m).loss),
                "objective": play.objective(m).words(0),
            }
            for m, place in enumerate(play.places)
        ],
    }


def grid_features(play: Play, reach: float, size: int) -> Array:
    """Return the features (size * size, d) of a grid of pixels, from the top left, row by row."""
    step = 2.0 * reach / size
    centres = -reach + step * (np.arange(size) + 0.5)
    Y, X = np.meshgrid(centres[::-1], centres, indexing="ij")
    return play.settings.features.of(np.column_stack([X.ravel(), Y.ravel()])).astype(np.float32)


def _probability(loss: Loss) -> str | None:
    """Return how scores become probabilities; None if they do not."""
    if isinstance(loss, OneVsRest):
        return None if _probability(loss.base) is None else "one-vs-rest"
    return {"logistic": "sigmoid", "sigmoid_mse": "sigmoid", "softmax": "softmax"}.get(loss.name)


def _margin(loss: Loss) -> float | None:
    base = loss.base if isinstance(loss, OneVsRest) else loss
    margin = getattr(base, "margin", None)
    return None if margin is None or "hinge" not in base.name else float(margin)


def _columns(source: Source) -> dict[str, Any]:
    table = source.table
    if isinstance(table, Columns):
        names = [name for name in table if table.kind(name) == "numbers"]
    else:
        names = source.feature_names or [f"x{j}" for j in range(table.shape[1])]
    classes = [] if source.y is None else [str(c) for c in np.unique(source.y)[:20]]
    layout = source.reading.get("layout", {})
    return {
        "columns": names[:MOST_COLUMNS],
        "classes": classes,
        "names": layout.get("names", [])[:MOST_COLUMNS],
        "label": layout.get("label"),
    }
