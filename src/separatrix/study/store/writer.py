"""Write a study: its runs, the checkpoints of a batch, and the records of finished runs."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.study.results.pictures import FailedSteps, WeightFrames
from separatrix.study.store.database import Store
from separatrix.study.store.encoding import to_archive, to_bytes, to_text
from separatrix.study.store.errors import StoreError
from separatrix.study.store.ownership import HELD, claim, refuse_claimed
from separatrix.training.recording.history import History
from separatrix.workflow.pictures.data_sample import DataSample

PIECE = 1 << 26  # bytes; the limit of SQLite is 10^9
_ARRAYS = (
    "coef",
    "intercept",
    "val_right",
    "val_loss",
    "val_log_loss",
    "val_confusion",
    "val_calibration",
)


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The stored record of a finished run. Runs with the same `history` object share it.

    `facts` are plain values. `history` has the epochs of the longest run that shares it. The first
    `facts["epochs"]` of them belong to this run.
    """

    configuration: int
    seed: int
    facts: Mapping[str, Any]
    history: History
    coef: Array
    intercept: Array
    val_right: Array | None = None
    val_loss: Array | None = None
    val_log_loss: Array | None = None
    val_confusion: Array | None = None
    val_calibration: Array | None = None
    frames: WeightFrames | None = None


def create_study(
    store: Store,
    name: str,
    identity: Mapping[str, Any],
    description: Mapping[str, Any],
    batches: Sequence[Sequence[tuple[int, int]]],
) -> StudyWriter:
    """Add a new study to the store, and return its writer.

    `batches` has the configuration and the seed of every run in every batch.
    """
    token = uuid.uuid4().hex
    with store.writing() as connection:
        if connection.execute("SELECT 1 FROM studies WHERE name = ?", (name,)).fetchone():
            raise StoreError(
                f"Another process has just created a study {name!r} in {store.path}. Choose "
                "another name, or continue that study with --resume."
            )
        created = datetime.now(UTC).isoformat(timespec="seconds")
        cursor = connection.execute(
            "INSERT INTO studies (name, created, plan, about) VALUES (?, ?, ?, ?)",
            (name, created, to_text(identity), to_text(description)),
        )
        study = int(cursor.lastrowid or 0)
        connection.executemany(
            "INSERT INTO runs (study, configuration, seed, batch) VALUES (?, ?, ?, ?)",
            [(study, *run, batch) for batch, runs in enumerate(batches) for run in runs],
        )
        claim(connection, study, token)
    return StudyWriter(store, study, name, token)


def claim_study(store: Store, row: sqlite3.Row) -> StudyWriter:
    """Return the writer of a stored study. Raise a StoreError if another process writes to it."""
    token = uuid.uuid4().hex
    with store.writing() as connection:
        refuse_claimed(store, connection, row)
        claim(connection, int(row["id"]), token)
    return StudyWriter(store, int(row["id"]), str(row["name"]), token)


def delete_study(store: Store, name: str) -> None:
    """Delete a study with all its runs."""
    row = store.study(name)
    with store.writing() as connection:
        refuse_claimed(store, connection, row)
        connection.execute("DELETE FROM studies WHERE id = ?", (row["id"],))


@dataclass(eq=False)
class StudyWriter:
    """The writer of a study. Every call is one transaction.

    A call fails if another process has claimed the study. Use the writer in a `with` statement,
    which releases the claim at the end.
    """

    store: Store
    study: int
    name: str
    token: str

    def __enter__(self) -> StudyWriter:
        HELD.add(self.token)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        HELD.discard(self.token)
        with suppress(StoreError) if kind else nullcontext():  # keep the first error
            self.release()

    def pending_batches(self) -> dict[int, list[tuple[int, int]]]:
        """Return the unfinished batches, with configuration and seed of their runs."""
        batches: dict[int, list[tuple[int, int]]] = {}
        for row in self.store.rows(
            "SELECT configuration, seed, batch FROM runs WHERE study = ? AND found IS NULL "
            "ORDER BY batch, configuration, seed",
            (self.study,),
        ):
            batches.setdefault(row["batch"], []).append((row["configuration"], row["seed"]))
        return batches

    def failed_runs(self) -> dict[tuple[int, int], str]:
        """Return why stored runs failed, such as "diverged", by configuration and seed."""
        rows = self.store.rows(
            "SELECT id, configuration, seed, found FROM runs WHERE study = ? AND found IS NOT NULL",
            (self.study,),
        )
        out = {}
        for row in rows:
            found = self.store.values(row["found"], f"run {row['id']}")
            diverged = found["stop_reason"] == "diverged"
            reason = "diverged" if diverged else found.get("unsettled", "")
            if reason:
                out[row["configuration"], row["seed"]] = reason
        return out

    def history_of(self, configuration: int, seed: int) -> History:
        """Return the stored history of a finished run."""
        (row,) = self.store.rows(
            "SELECT h.id, h.fields, h.records FROM runs r JOIN histories h ON h.id = r.history "
            "WHERE r.study = ? AND r.configuration = ? AND r.seed = ?",
            (self.study, configuration, seed),
        )
        names = self.store.values(row["fields"], "the fields of a history")
        values = self.store.array(row["records"], f"history {row['id']}")
        return History(dict(zip(names, values)))

    def checkpoint(
        self, batch: int, epoch: int, arrays: Mapping[str, Array], seconds: float
    ) -> None:
        """Store the state of the training of a batch. `seconds` is the time since the last call."""
        blob = to_archive(arrays)
        with self.store.writing() as connection:
            self._keep_claim(connection, seconds)
            self._delete_checkpoint(connection, batch)
            connection.executemany(
                "INSERT INTO checkpoints (study, batch, piece, epoch, arrays) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    (self.study, batch, k, epoch, blob[start : start + PIECE])
                    for k, start in enumerate(range(0, len(blob), PIECE))
                ),
            )

    def last_checkpoint(self, batch: int) -> dict[str, Array] | None:
        """Return the arrays of the last checkpoint of a batch, or None if there is none."""
        rows = self.store.rows(
            "SELECT arrays FROM checkpoints WHERE study = ? AND batch = ? ORDER BY piece",
            (self.study, batch),
        )
        if not rows:
            return None
        blob = b"".join(row["arrays"] for row in rows)
        return self.store.arrays(blob, f"the checkpoint of batch {batch}")

    def finish_batch(self, batch: int, records: Iterable[RunRecord], seconds: float) -> None:
        """Store the records of a batch, and delete its checkpoint."""
        histories: dict[int, int] = {}
        with self.store.writing() as connection:
            self._keep_claim(connection, seconds)
            for run in records:
                key = id(run.history)
                if key not in histories:
                    histories[key] = self._insert_history(connection, run)
                self._update_run(connection, run, histories[key])
            self._delete_checkpoint(connection, batch)

    def finish(self, pictures: Mapping[str, DataSample | FailedSteps], seconds: float) -> None:
        """Store the pictures of the study by kind, and mark it as finished."""
        with self.store.writing() as connection:
            self._keep_claim(connection, seconds)
            for kind, picture in pictures.items():
                facts, arrays = picture.to_parts()
                connection.execute(
                    "INSERT OR REPLACE INTO pictures (study, kind, facts, arrays) "
                    "VALUES (?, ?, ?, ?)",
                    (self.study, kind, to_text(facts), to_archive(arrays)),
                )
            connection.execute("UPDATE studies SET finished = 1 WHERE id = ?", (self.study,))

    def remove(self) -> None:
        """Remove a study that has no trained runs yet."""
        with self.store.writing() as connection:
            self._keep_claim(connection, 0.0)
            connection.execute("DELETE FROM studies WHERE id = ?", (self.study,))

    def release(self) -> None:
        """Release the claim, so that other processes can write the study."""
        with self.store.writing() as connection:
            connection.execute(
                "DELETE FROM writers WHERE study = ? AND token = ?", (self.study, self.token)
            )

    def _delete_checkpoint(self, connection: sqlite3.Connection, batch: int) -> None:
        connection.execute(
            "DELETE FROM checkpoints WHERE study = ? AND batch = ?", (self.study, batch)
        )

    def _keep_claim(self, connection: sqlite3.Connection, seconds: float) -> None:
        """Update the heartbeat and the training time, and check that the claim is still valid."""
        held = connection.execute(
            "UPDATE writers SET heartbeat = ? WHERE study = ? AND token = ?",
            (time.time(), self.study, self.token),
        )
        if held.rowcount != 1:
            raise StoreError(
                f"The study {self.name!r} in {self.store.path} was taken over by another process, "
                "or was deleted. This process stops. Nothing that it stored was changed."
            )
        connection.execute(
            "UPDATE studies SET seconds = seconds + ? WHERE id = ?", (seconds, self.study)
        )

    def _insert_history(self, connection: sqlite3.Connection, run: RunRecord) -> int:
        history, frames = run.history, run.frames
        kept = (None, None) if frames is None else (frames.epochs, frames.weights)
        cursor = connection.execute(
            "INSERT INTO histories (study, fields, records, frame_epochs, frames) "
            "VALUES (?, ?, ?, ?, ?)",
            (
                self.study,
                to_text(list(history)),
                to_bytes(np.stack(list(history.values()))),
                *(None if a is None else to_bytes(a) for a in kept),
            ),
        )
        return int(cursor.lastrowid or 0)

    def _update_run(self, connection: sqlite3.Connection, run: RunRecord, history: int) -> None:
        arrays = {name: getattr(run, name) for name in _ARRAYS}
        columns = {"history": history, "found": to_text(run.facts)} | {
            name: None if a is None else to_bytes(a) for name, a in arrays.items()
        }
        connection.execute(
            f"UPDATE runs SET {', '.join(f'{name} = ?' for name in columns)} "
            "WHERE study = ? AND configuration = ? AND seed = ?",
            (*columns.values(), self.study, run.configuration, run.seed),
        )
