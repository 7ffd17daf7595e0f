"""The one process that writes a study: it owns the study while it lives."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.study.store.database import Store, StoreError, to_archive, to_bytes, to_text
from separatrix.text import command
from separatrix.training.history import History

_HELD: set[str] = set()  # tokens of the writers of this process
PIECE = 1 << 26  # bytes; SQLite takes values of up to 10^9
STALE = 120.0  # seconds without a sign of life, after which a writer elsewhere is taken for dead


@dataclass(frozen=True, eq=False)
class Found:
    """What is stored of a run that is done; runs with the same `history` object share it.

    `facts` are plain values; `history` has the epochs of the longest run that shares it, `epochs`
    of them this run's.
    """

    configuration: int
    seed: int
    facts: Mapping[str, Any]
    history: History
    coef: Array
    intercept: Array
    val_right: Array | None = None
    val_loss: Array | None = None


@dataclass(frozen=True)
class Entry:
    """A run to be made: its configuration, its seed, and the batch it is trained in."""

    configuration: int
    seed: int
    batch: int


def create(
    store: Store, name: str, plan: Mapping[str, Any], about: Mapping[str, Any], runs: list[Entry]
) -> Writer:
    """Put a new study into the store, owned by this process."""
    token = uuid.uuid4().hex
    with store.writing() as connection:
        if connection.execute("SELECT 1 FROM studies WHERE name = ?", (name,)).fetchone():
            raise StoreError(
                f"{store.path} got a study {name!r} from another process just now. Choose another "
                "name, or go on with it by --resume."
            )
        cursor = connection.execute(
            "INSERT INTO studies (name, created, plan, about) VALUES (?, ?, ?, ?)",
            (name, datetime.now(UTC).isoformat(timespec="seconds"), to_text(plan), to_text(about)),
        )
        study = int(cursor.lastrowid or 0)
        connection.executemany(
            "INSERT INTO runs (study, configuration, seed, batch) VALUES (?, ?, ?, ?)",
            [(study, run.configuration, run.seed, run.batch) for run in runs],
        )
        _claim(connection, study, token)
    return Writer(store, study, name, token)


def take_over(store: Store, row: sqlite3.Row) -> Writer:
    """Own a study that is there; refused while another process that lives owns it."""
    token = uuid.uuid4().hex
    with store.writing() as connection:
        refuse_owned(store, connection, row)
        _claim(connection, int(row["id"]), token)
    return Writer(store, int(row["id"]), str(row["name"]), token)


def refuse_owned(store: Store, connection: sqlite3.Connection, row: sqlite3.Row) -> None:
    """Raise if a living process writes this study."""
    owner = connection.execute("SELECT * FROM writers WHERE study = ?", (row["id"],)).fetchone()
    if owner is None or not _lives(owner):
        return
    raise StoreError(
        f"The study {row['name']!r} in {store.path} is being written by process "
        f"{owner['process']} on {owner['host']}. Wait for it or end it; its progress can be read "
        f"meanwhile: {command('studies', 'show', row['name'])}"
    )


def delete(store: Store, name: str) -> None:
    """Remove a study and all that belongs to it."""
    row = store.study(name)
    with store.writing() as connection:
        refuse_owned(store, connection, row)
        connection.execute("DELETE FROM studies WHERE id = ?", (row["id"],))


@dataclass(eq=False)
class Writer:
    """Writes a study. Every call is one transaction, and is refused once another process owns it.

    Use it in a `with` statement: it lets go at the end.
    """

    store: Store
    study: int
    name: str
    token: str

    def __enter__(self) -> Writer:
        _HELD.add(self.token)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        _HELD.discard(self.token)
        with suppress(StoreError) if kind else nullcontext():  # the first error is the one to tell
            self.let_go()

    def checkpoint(
        self, batch: int, epoch: int, arrays: Mapping[str, Array], seconds: float
    ) -> None:
        """Keep where a batch stands; `seconds` is the time spent since the last call."""
        blob = to_archive(arrays)
        with self.store.writing() as connection:
            self._hold(connection, seconds)
            self._drop_checkpoint(connection, batch)
            connection.executemany(
                "INSERT INTO checkpoints (study, batch, piece, epoch, arrays) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    (self.study, batch, k, epoch, blob[start : start + PIECE])
                    for k, start in enumerate(range(0, len(blob), PIECE))
                ),
            )

    def last_checkpoint(self, batch: int) -> dict[str, Array] | None:
        """Where a batch stood when that was last kept."""
        rows = self.store.rows(
            "SELECT arrays FROM checkpoints WHERE study = ? AND batch = ? ORDER BY piece",
            (self.study, batch),
        )
        if not rows:
            return None
        blob = b"".join(row["arrays"] for row in rows)
        return self.store.arrays(blob, f"the checkpoint of batch {batch}")

    def finish_batch(self, batch: int, found: Iterable[Found], seconds: float) -> None:
        """Keep all that a batch has found, in place of its checkpoint."""
        histories: dict[int, int] = {}
        with self.store.writing() as connection:
            self._hold(connection, seconds)
            for run in found:
                key = id(run.history)
                if key not in histories:
                    histories[key] = self._put_history(connection, run.history)
                self._put(connection, run, histories[key])
            self._drop_checkpoint(connection, batch)

    def finish(self) -> None:
        """Say that all runs are done."""
        with self.store.writing() as connection:
            self._hold(connection, 0.0)
            connection.execute("UPDATE studies SET finished = 1 WHERE id = ?", (self.study,))

    def forget(self) -> None:
        """Remove the study, of which nothing was made."""
        with self.store.writing() as connection:
            self._hold(connection, 0.0)
            connection.execute("DELETE FROM studies WHERE id = ?", (self.study,))

    def let_go(self) -> None:
        """Let others write the study."""
        with self.store.writing() as connection:
            connection.execute(
                "DELETE FROM writers WHERE study = ? AND token = ?", (self.study, self.token)
            )

    def _drop_checkpoint(self, connection: sqlite3.Connection, batch: int) -> None:
        connection.execute(
            "DELETE FROM checkpoints WHERE study = ? AND batch = ?", (self.study, batch)
        )

    def _hold(self, connection: sqlite3.Connection, seconds: float) -> None:
        """Give a sign of life, count the time, and make sure that nobody took over."""
        held = connection.execute(
            "UPDATE writers SET heartbeat = ? WHERE study = ? AND token = ?",
            (time.time(), self.study, self.token),
        )
        if held.rowcount != 1:
            raise StoreError(
                f"The study {self.name!r} in {self.store.path} was taken over by another process, "
                "or deleted, while this one was silent. This one ends; nothing it stored is lost."
            )
        connection.execute(
            "UPDATE studies SET seconds = seconds + ? WHERE id = ?", (seconds, self.study)
        )

    def _put_history(self, connection: sqlite3.Connection, history: History) -> int:
        cursor = connection.execute(
            "INSERT INTO histories (study, fields, records) VALUES (?, ?, ?)",
            (self.study, to_text(list(history)), to_bytes(np.stack(list(history.values())))),
        )
        return int(cursor.lastrowid or 0)

    def _put(self, connection: sqlite3.Connection, run: Found, history: int) -> None:
        arrays = (run.coef, run.intercept, run.val_right, run.val_loss)
        blobs = [None if a is None else to_bytes(a) for a in arrays]
        connection.execute(
            "UPDATE runs SET history = ?, found = ?, coef = ?, intercept = ?, val_right = ?, "
            "val_loss = ? WHERE study = ? AND configuration = ? AND seed = ?",
            (history, to_text(run.facts), *blobs, self.study, run.configuration, run.seed),
        )


def _claim(connection: sqlite3.Connection, study: int, token: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO writers (study, token, host, process, born, heartbeat) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (study, token, socket.gethostname(), os.getpid(), _born(os.getpid()), time.time()),
    )


def _lives(owner: sqlite3.Row) -> bool:
    """Whether a writer may still write: here by its process, elsewhere by its last sign of life."""
    recent = abs(time.time() - owner["heartbeat"]) < STALE
    if owner["host"] != socket.gethostname():
        return recent
    if owner["process"] == os.getpid():
        return owner["token"] in _HELD
    try:
        os.kill(owner["process"], 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, and another user's
        pass
    born = _born(owner["process"])
    return born == owner["born"] if born and owner["born"] else recent


def _born(process: int) -> str:
    """When a process began, in the system's own count; "" where that cannot be known."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]  # the name before it may hold spaces
