"""The curves that `training_curves` draws: configurations of a study, or histories with names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.study.results.facts import Row, StudyFacts
from separatrix.text import describe_configuration, value_words
from separatrix.training.history import History


@dataclass(frozen=True, eq=False)
class TrainingCurve:
    """A configuration with its histories, one for every seed.

    Attributes
    ----------
    number : of the configuration in its study
    label, words : what it is called in a picture and in a sentence
    best_epoch : of the lowest validation loss, of several seeds the median; None if there is none
    best : whether it is the best of all
    diverged : how, in words; "" if no seed did
    diverged_seeds : how many seeds did
    """

    number: int
    label: str
    words: str
    histories: tuple[History, ...]
    best_epoch: int | None
    best: bool
    diverged: str
    diverged_seeds: int

    @property
    def ring_epoch(self) -> int | None:
        """The best epoch of the first seed, whose line is marked."""
        return _best_epoch(self.histories[0])

    @property
    def epochs(self) -> int:
        """The epochs made, of several seeds the median."""
        return median_low(history.epochs for history in self.histories)

    @property
    def merit(self) -> float:
        """The lowest validation loss, or training loss without one; infinite if it diverged."""
        return math.inf if self.diverged else _lowest(self.histories[0])

    def last(self, field: str) -> float:
        """The last value measured, of several seeds the mean."""
        return sum(_last(history[field]) for history in self.histories) / len(self.histories)


CurveSource = StudyFacts | Mapping[str, History] | History


def curves_of(given: CurveSource) -> list[TrainingCurve]:
    """The curves of a study, of histories by name, or of one history.

    Configurations of a study that differ only in their epochs are beginnings of one curve, which
    is taken once: as far as the best of all goes, where that is one of them, or the longest.
    """
    if isinstance(given, StudyFacts):
        return _of_study(given)
    named: Any = {"the run": given} if isinstance(given, History) else given
    if not isinstance(named, Mapping) or not all(isinstance(h, History) for h in named.values()):
        raise TypeError(
            "Curves are drawn of the facts of a study, of a history, or of histories by name: "
            f"{{'rate 0.1': model.history_}}. Got {type(given).__name__} instead."
        )
    if not named:
        raise ValueError("There are no histories to draw.")
    return _of_histories(named)


def label_names(facts: StudyFacts) -> list[str]:
    """What a curve's label tells, in its order: all parameters that vary but the epochs."""
    return [name for name in facts.varied if name != "epochs"]


def _of_study(facts: StudyFacts) -> list[TrainingCurve]:
    if not facts.histories:
        raise ValueError(
            f"The facts of the study {facts.name!r} have no histories: either none of its runs is "
            "done yet, or they were read with histories=False."
        )
    names = label_names(facts)
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in facts.rows:
        if row.state == "done":
            key = tuple(repr(row.parameters.get(name)) for name in names)
            groups.setdefault(key, []).append(row)
    out = []
    for rows in groups.values():
        longest = max(rows, key=lambda row: row.epochs or 0)
        told = next((row for row in rows if row.mark == "best"), longest)
        own = {name: told.parameters[name] for name in names if name in told.parameters}
        out.append(
            TrainingCurve(
                number=told.number,
                label=" · ".join(_short(name, value) for name, value in own.items()) or "the run",
                words=describe_configuration(own) or "the only configuration",
                histories=facts.histories[told.number],
                best_epoch=told.best_epoch,
                best=told.mark == "best",
                diverged=told.stopped if told.diverged else "",
                diverged_seeds=told.diverged,
            )
        )
    return out


def _short(name: str, value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else value_words(name, value)


def _last(values: Array) -> float:
    measured = values[~np.isnan(values)]
    return float(measured[-1]) if len(measured) else math.nan


def _of_histories(given: Mapping[str, History]) -> list[TrainingCurve]:
    lowest = {name: _lowest(history) for name, history in given.items() if _ended_well(history)}
    best = min(lowest, key=lambda name: lowest[name]) if lowest else None
    return [
        TrainingCurve(
            number=k,
            label=str(name),
            words=str(name),
            histories=(history,),
            best_epoch=_best_epoch(history),
            best=name == best,
            diverged="" if _ended_well(history) else f"diverged at epoch {history.epochs}",
            diverged_seeds=0 if _ended_well(history) else 1,
        )
        for k, (name, history) in enumerate(given.items())
    ]


def _ended_well(history: History) -> bool:
    return bool(np.isfinite(history["train_loss"][-1]))


def _best_epoch(history: History) -> int | None:
    measured = np.isfinite(history["val_loss"])
    if not measured.any():
        return None
    return int(np.where(measured, history["val_loss"], np.inf).argmin()) + 1


def _lowest(history: History) -> float:
    for field in ("val_loss", "train_loss"):
        values = history[field]
        values = values[np.isfinite(values)]
        if len(values):
            return float(values.min())
    return math.inf


def best_curve(curves: Sequence[TrainingCurve]) -> TrainingCurve | None:
    """The best curve, if there is one."""
    return next((curve for curve in curves if curve.best), None)
