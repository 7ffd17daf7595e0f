"""Read the runs that are still in training from the checkpoint of their batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix.packing import TREE, from_arrays
from separatrix.study.results.facts import MEASURES, Row
from separatrix.study.results.table_row import means
from separatrix.study.store.database import Store
from separatrix.training.recording.history import FIELDS, History

# The array of a checkpoint with a row for every run: configuration, seed, model, number of epochs.
LIVE = "live_runs"
IN_TRAINING = "in training"  # why a configuration has not ended


@dataclass(frozen=True, eq=False)
class LiveRun:
    """A run whose batch is in training.

    `history` has the epochs of the last checkpoint. `reason` is why the run has ended, or "" if it
    goes on. `most` is the number of epochs after which it ends.
    """

    history: History
    reason: str
    most: int


def read_live_runs(store: Store, study: sqlite3.Row) -> dict[int, list[LiveRun]]:
    """Return the runs of all batches in training, by the number of their configuration."""
    pieces: dict[int, list[bytes]] = {}
    for row in store.rows(
        "SELECT batch, arrays FROM checkpoints WHERE study = ? ORDER BY batch, piece",
        (study["id"],),
    ):
        pieces.setdefault(row["batch"], []).append(row["arrays"])
    out: dict[int, list[LiveRun]] = {}
    for batch, blobs in pieces.items():
        arrays = store.arrays(b"".join(blobs), f"the checkpoint of batch {batch}")
        if LIVE not in arrays or TREE not in arrays:
            continue  # written by an earlier version
        state = from_arrays(arrays)
        history = np.asarray(state["history"])
        ends = {(one["model"], one["reading"]): one["reason"] for one in state["finished"]}
        readings: dict[int, list[int]] = {}
        for _, _, model, most in arrays[LIVE].tolist():
            readings[model] = sorted({*readings.get(model, []), most})
        for configuration, _, model, most in arrays[LIVE].tolist():
            reason = ends.get((model, readings[model].index(most)), "")
            run = LiveRun(_history(history[:, model], most), reason, most)
            out.setdefault(configuration, []).append(run)
    return out


def _history(records: np.ndarray, most: int) -> History:
    """Return the epochs that a run has made: those with a time."""
    made = min(int(np.isfinite(records[FIELDS.index("seconds")]).sum()), most)
    return History({name: values[:made] for name, values in zip(FIELDS, records)})


def live_rows(rows: Sequence[Row], live: Mapping[int, Sequence[LiveRun]]) -> list[Row]:
    """Return the rows of a table, with the latest measures of those that are in training."""
    return [
        _live_row(row, live[row.number]) if row.state == "waiting" and row.number in live else row
        for row in rows
    ]


def live_histories(live: Mapping[int, Sequence[LiveRun]]) -> dict[int, tuple[History, ...]]:
    """Return the histories of the configurations all of whose runs have made an epoch."""
    return {
        number: tuple(run.history for run in runs)
        for number, runs in live.items()
        if all(run.history.epochs for run in runs)
    }


def _live_row(row: Row, runs: Sequence[LiveRun]) -> Row:
    if not all(run.history.epochs for run in runs):
        return row
    latest = [{name: _latest(run.history, name) for name in MEASURES} for run in runs]
    epochs = min(run.history.epochs for run in runs)
    diverged = sum(run.reason == "diverged" for run in runs)
    words = IN_TRAINING if any(not run.reason for run in runs) else "trained"
    return replace(
        row,
        state="training",
        last=means(latest),
        epochs=epochs,
        diverged=diverged,
        stopped=f"diverged at epoch {epochs}" if diverged else words,
    )


def _latest(history: History, name: str) -> float | None:
    known = np.flatnonzero(~np.isnan(history[name]))
    return float(history[name][known[-1]]) if len(known) else None
