"""Callbacks after every epoch: the epochs of each run as plain numbers, for people and logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from separatrix.training.recording.progress import Progress


@dataclass(frozen=True)
class Epoch:
    """One epoch of one configuration.

    Attributes
    ----------
    epoch : number of the epoch, from 1
    number : number of the configuration in its study, from 0; 0 for a single fit
    seed : random seed of the run; None for a single fit
    parameters : the parameters that the study varies, by name
    measures : the columns of `History` after this epoch's update, by name; NaN if not measured
    """

    epoch: int
    number: int
    seed: int | None
    parameters: Mapping[str, Any]
    measures: Mapping[str, float]


OnProgress: TypeAlias = Callable[[Progress], None]
OnEpoch: TypeAlias = Callable[[Sequence[Epoch]], None]


class RunLabel(NamedTuple):
    """The number, seed, parameters and largest number of epochs of a run."""

    number: int
    seed: int | None
    parameters: Mapping[str, Any]
    epochs: int


def epochs_of(progress: Progress, runs: Sequence[RunLabel]) -> list[Epoch]:
    """Return the current epoch of every running run; `runs` are the runs of the batch's tasks."""
    columns = [values.tolist() for values in progress.records.values()]
    out = []
    for model, *values in zip(progress.running.tolist(), *columns):
        measures = dict(zip(progress.records, values))
        out += [
            Epoch(progress.epoch, run.number, run.seed, run.parameters, measures)
            for run in (runs[member] for member in progress.members[model])
            if progress.epoch <= run.epochs
        ]
    return out


def telling(on_epoch: OnEpoch | None) -> Callable[[Progress], None] | None:
    """Return a callback for the training loop that passes the epochs of a single fit on."""
    if on_epoch is None:
        return None
    return lambda progress: on_epoch(epochs_of(progress, [RunLabel(0, None, {}, progress.epochs)]))


def renumbered(on_progress: OnProgress | None, numbers: Sequence[int]) -> OnProgress | None:
    """Return a callback that renumbers the members of a batch before it calls `on_progress`."""
    if on_progress is None:
        return None

    def renumber(progress: Progress) -> None:
        members = tuple(tuple(numbers[m] for m in same) for same in progress.members)
        on_progress(replace(progress, members=members))

    return renumber
