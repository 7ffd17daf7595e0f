"""The parts that all pages of a model have: heading, data, tables of metrics, how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from separatrix.metrics import rows_right
from separatrix.study.planning.description import library_versions
from separatrix.text import counted, named_class, number, percent
from separatrix.web.drawings import (
    boundary_drawing,
    calibration_drawing,
    sample_drawing,
    weights_drawing,
)
from separatrix.workflow.pictures.model_pictures import ModelPictures

PART_WORDS = {"train": "training", "validation": "validation", "test": "test", "measured": ""}
MOST_CLASSES = 50  # classes of a confusion matrix


def page_frame(
    facts: Mapping[str, Any], made: Mapping[str, str], work: Sequence[str]
) -> dict[str, Any]:
    """Return what is at the top and the bottom of a page.

    `made` has the `command` and the `python` code that repeat the work, and `when` it was done, an
    ISO date and time. `work` are words for the header.
    """
    source = facts["source"]
    when = datetime.fromisoformat(made["when"])
    code = (("In a terminal", made["command"]), ("In Python", made["python"]))
    return {
        "name": source["name"],
        "heading": " · ".join([f"{when.day} {when:%b %Y}", *work]),
        "data": {
            "words": _data_words(source),
            "fingerprint": source.get("fingerprint") or "",
            "classes": [named_class(label) for label in source["classes"]],
            "notes": list(dict.fromkeys(facts["notes"])),
        },
        "objective": [],
        "reproduce": [{"label": label, "text": text} for label, text in code if text],
        "versions": ", ".join(f"{name} {version}" for name, version in library_versions().items()),
        "drawings": {},
    }


def _data_words(source: Mapping[str, Any]) -> str:
    parts = [
        f"{n:,} {PART_WORDS.get(part, part)}" for part, n in source.get("parts", {}).items() if n
    ]
    rows = counted(source["rows"], "row")
    rows = f"{rows} ({', '.join(parts)})" if parts else rows
    features = [counted(source["features"], "feature")] if "features" in source else []
    classes = counted(len(source["classes"]), "class", "classes")
    return f"{source['name']}: {', '.join([rows, *features, classes])}"


def model_drawings(
    pictures: ModelPictures, classes: Sequence[Any], found: Mapping[str, Any] | None, part: str
) -> dict[str, Any]:
    """Return the drawings of a model; `found` are the metrics of the rows of `part`."""
    names, sample = pictures.names, pictures.sample
    out = {
        "part": PART_WORDS.get(part, part),
        "confusion": None if found is None else confusion_drawing(found),
        "calibration": calibration_drawing(pictures.calibration),
        "weights": weights_drawing(pictures.coef, classes, names),
        "sample": None if sample is None else sample_drawing(sample, names),
        "boundary": None
        if sample is None or pictures.coef.shape[1] != 2
        else boundary_drawing(
            sample,
            names,
            pictures.link,
            [max(len(next(iter(pictures.history.values()))), 1)],
            np.column_stack([pictures.coef, pictures.intercept])[None],
            len(classes),
        ),
    }
    return {name: value for name, value in out.items() if value is not None}


def confusion_drawing(found: Mapping[str, Any]) -> list[list[int]] | None:
    """Return the confusion matrix unless there are too many classes."""
    confusion: list[list[int]] = found["confusion"]
    return confusion if len(confusion) <= MOST_CLASSES else None


def parts_table(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of every part as a table of words."""
    rows = [
        [
            PART_WORDS.get(part, part) or "all",
            f"{found['rows']:,}",
            f"{rows_right(found):,}",
            percent(found["accuracy"]),
            in_short(found["log_loss"]),
        ]
        for part, found in metrics.items()
        if isinstance(found, dict) and "confusion" in found
    ]
    return {"head": ["rows of", "rows", "right", "accuracy", "log-loss"], "rows": rows}


def classes_table(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return precision, recall and F1 of every class as a table of words."""
    rows = [
        [
            named_class(entry["class"]),
            f"{entry['rows']:,}",
            *(share(entry[key]) for key in ("precision", "recall", "f1")),
        ]
        for entry in found["classes"]
    ]
    return {"head": ["class", "rows", "precision", "recall", "F1"], "rows": rows}


def right_of(found: Mapping[str, Any]) -> str:
    """Return how many rows are right, such as " (22 of 25)"; "" if the rows have unequal weights.

    >>> right_of({"rows": 4, "accuracy": 0.75, "confusion": [[1, 1], [0, 2]]})
    ' (3 of 4)'
    >>> right_of({"rows": 4, "accuracy": 0.9, "confusion": [[1, 1], [0, 2]]})
    ''
    """
    right, rows = rows_right(found), found["rows"]
    is_count = math.isclose(found["accuracy"] * rows, right, abs_tol=1e-6)
    return f" ({right:,} of {rows:,})" if is_count else ""


def share(value: float | None) -> str:
    """Return a fraction in per cent, or a dash if it is unknown."""
    return "–" if value is None else percent(value)


def in_short(value: float | None) -> str:
    """Return a number with four significant digits, or a dash.

    >>> in_short(0.123456), in_short(None)
    ('0.1235', '–')
    """
    return "–" if value is None or not math.isfinite(value) else number(value)


def numbers(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    """Return the numbers next to the verdict; each is a value and its label."""
    return [{"value": value, "label": label} for value, label in pairs]
