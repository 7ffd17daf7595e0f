"""Make sure that at most one process writes a study, and detect writers that have died."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from pathlib import Path

from separatrix.study.store.database import Store
from separatrix.study.store.errors import StoreError
from separatrix.text import shell_command

HELD: set[str] = set()  # tokens of the writers in this process
STALE = 120.0  # seconds without a heartbeat after which a writer on another host is dead


def claim(connection: sqlite3.Connection, study: int, token: str) -> None:
    """Make this process the writer of a study."""
    connection.execute(
        "INSERT OR REPLACE INTO writers (study, token, host, process, born, heartbeat) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (study, token, socket.gethostname(), os.getpid(), process_start(os.getpid()), time.time()),
    )


def refuse_claimed(store: Store, connection: sqlite3.Connection, row: sqlite3.Row) -> None:
    """Raise a StoreError if another live process is writing this study."""
    owner = connection.execute("SELECT * FROM writers WHERE study = ?", (row["id"],)).fetchone()
    if owner is None or not _is_alive(owner):
        return
    raise StoreError(
        f"The study {row['name']!r} in {store.path} is being written by process "
        f"{owner['process']} on {owner['host']}. Wait for the process or stop it. To see the "
        f"progress: {shell_command('studies', 'show', row['name'])}"
    )


def live_writer(store: Store, study: int) -> int | None:
    """Return the number of the process that is writing a study, or None."""
    found = store.rows("SELECT * FROM writers WHERE study = ?", (study,))
    return int(found[0]["process"]) if found and _is_alive(found[0]) else None


def _is_alive(owner: sqlite3.Row) -> bool:
    """Whether a writer is alive: by its process on this host, else by its last heartbeat."""
    recent = abs(time.time() - owner["heartbeat"]) < STALE
    if owner["host"] != socket.gethostname():
        return recent
    if owner["process"] == os.getpid():
        return owner["token"] in HELD
    try:
        os.kill(owner["process"], 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process exists, but belongs to another user
        pass
    born = process_start(owner["process"])
    return born == owner["born"] if born and owner["born"] else recent


def process_start(process: int) -> str:
    """Return the start time of a process in clock ticks since boot, or "" if not known."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]  # the process name before ")" may contain spaces
