"""The curves that `training_curves` draws, from a study or from named histories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.study.results.facts import Row, StudyFacts, configuration_words
from separatrix.text import describe_configuration, value_words
from separatrix.training.recording.history import History


@dataclass(frozen=True, eq=False)
class TrainingCurve:
    """A configuration and its histories, one for every random seed.

    Attributes
    ----------
    number : number of the configuration in its study
    label : short name, with the values only, such as "0.1 · 0.9"
    words : full name, such as "learning rate 0.1, momentum 0.9"
    best_epoch : epoch of the lowest validation loss (median over the seeds), or None
    best : whether it is the best configuration
    diverged : how it diverged, such as "diverged at epoch 10"; "" if no seed diverged
    diverged_seeds : number of seeds that diverged
    parameters : the parameters that vary in the study, without the epochs
    configurations : the number of configurations, different only in their epochs, that share it
    """

    number: int
    label: str
    words: str
    histories: tuple[History, ...]
    best_epoch: int | None
    best: bool
    diverged: str
    diverged_seeds: int
    parameters: dict[str, Any] = field(default_factory=dict)
    configurations: int = 1

    @property
    def ring_epoch(self) -> int | None:
        """The best epoch of the first seed, whose line gets the mark."""
        return _best_epoch(self.histories[0])

    @property
    def epochs(self) -> int:
        """The number of epochs (median over the seeds)."""
        return median_low(history.epochs for history in self.histories)

    @property
    def merit(self) -> float:
        """The lowest validation loss, else the lowest training loss; infinite if it diverged."""
        return math.inf if self.diverged else _lowest(self.histories[0])

    def last(self, field: str) -> float:
        """Return the last measured value (mean over the seeds)."""
        return sum(_last(history[field]) for history in self.histories) / len(self.histories)


CurveSource = StudyFacts | Mapping[str, History] | History


def curves_of(given: CurveSource) -> list[TrainingCurve]:
    """Return the curves of a study, of named histories, or of one history.

    Configurations of a study that differ only in the number of epochs share one curve. It ends
    with the best configuration of the study if that is one of them, and with the longest otherwise.
    """
    if isinstance(given, StudyFacts):
        return _of_study(given)
    named: Any = {"training run": given} if isinstance(given, History) else given
    if not isinstance(named, Mapping) or not all(isinstance(h, History) for h in named.values()):
        raise TypeError(
            "Curves need the facts of a study, a history, or a dictionary of histories such as "
            f"{{'learning rate 0.1': model.history_}}. Got {type(given).__name__} instead."
        )
    if not named:
        raise ValueError("There are no histories to draw. Give at least one.")
    return _of_histories(named)


def label_names(facts: StudyFacts) -> list[str]:
    """Return the parameters in the label of a curve: all that vary, except the epochs."""
    return [name for name in facts.varied if name != "epochs"]


def _of_study(facts: StudyFacts) -> list[TrainingCurve]:
    if not facts.histories:
        raise ValueError(
            f"The facts of the study {facts.name!r} have no histories: either none of its runs has "
            "finished, or the facts were read with histories=False."
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
                label=" · ".join(_short(name, value) for name, value in own.items())
                or "training run",
                words=describe_configuration(own) or configuration_words({}, facts.grid),
                histories=facts.histories[told.number],
                best_epoch=told.best_epoch,
                best=told.mark == "best",
                diverged=told.stopped if told.diverged else "",
                diverged_seeds=told.diverged,
                parameters=own,
                configurations=len(rows),
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
    for measure in ("val_loss", "train_loss"):
        values = history[measure]
        values = values[np.isfinite(values)]
        if len(values):
            return float(values.min())
    return math.inf


def best_curve(curves: Sequence[TrainingCurve]) -> TrainingCurve | None:
    """Return the best curve, or None."""
    return next((curve for curve in curves if curve.best), None)
