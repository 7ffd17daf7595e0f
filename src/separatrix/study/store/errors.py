"""Errors of the store in words: what is wrong, where, and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "SEPARATRIX_STORE"  # the environment variable that names the file


class StoreError(OSError):
    """A store that cannot be opened, read or written, in words."""


@contextmanager
def sqlite_errors_in_words(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into a sentence."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_explain(path, error)) from error
    except UnicodeDecodeError as error:  # of names and of SQLite's own messages, too
        raise StoreError(damage_message(path, str(error))) from error


def _explain(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    kept = "Everything stored before is kept"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return (
            f"{path} is locked: another process has been writing it for too long. {kept}. Wait for "
            "that process or end it, and try again."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN):
        return (
            f"{path} cannot be opened for this: the file or its folder is read-only, or is no "
            f"place for a file. {kept}. Change its permissions, or name another file (--store, or "
            f"{VARIABLE})."
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damage_message(path, str(error))
    if code == sqlite3.SQLITE_FULL:
        return (
            f"{path} cannot grow: the disk is full. {kept}. Free some space, and go on with "
            "--resume."
        )
    if code == sqlite3.SQLITE_IOERR:
        return (
            f"{path} could not be read or written ({error}): the disk is full or failing, or a "
            f"limit on the size of files is reached. {kept}. Make room, and go on with --resume."
        )
    return f"{path} could not be used: {error}. {kept}."


def damage_message(path: Path, what: str) -> str:
    """A sentence about a store that cannot be read, and what to do."""
    return (
        f"{path} is damaged, or is no store: {what}. It was not changed. Put a copy back, or move "
        "it away and begin anew; 'sqlite3 FILE .recover' saves what can be saved."
    )
