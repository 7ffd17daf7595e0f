"""Error messages of the store: what is wrong, where, and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "SEPARATRIX_STORE"  # the environment variable that names the file


class StoreError(OSError):
    """A store cannot be opened, read or written."""


@contextmanager
def sqlite_errors_in_words(path: Path) -> Iterator[None]:
    """Convert errors of SQLite to a StoreError with a clear message."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_explain(path, error)) from error
    except UnicodeDecodeError as error:  # from names, and from messages of SQLite
        raise StoreError(damage_message(path, str(error))) from error


def _explain(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    kept = "Everything stored so far is kept"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return (
            f"{path} is locked: another process is writing to it. {kept}. Wait for that process or "
            "stop it, and try again."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN):
        return (
            f"{path} cannot be opened: the file or its folder is read-only, or it is not a regular "
            f"file. {kept}. Change the permissions, or choose another file (--store, or "
            f"{VARIABLE})."
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damage_message(path, str(error))
    if code == sqlite3.SQLITE_FULL:
        return (
            f"{path} cannot be written: the disk is full. {kept}. Free some space, and continue "
            "with --resume."
        )
    if code == sqlite3.SQLITE_IOERR:
        return (
            f"{path} could not be read or written ({error}): the disk is full or faulty, or a "
            f"limit on file sizes was reached. {kept}. Free some space, and continue with --resume."
        )
    return f"{path} could not be used: {error}. {kept}."


def damage_message(path: Path, what: str) -> str:
    """Return the message for a store that cannot be read."""
    return (
        f"{path} is damaged or is not a store of studies: {what}. The file was not changed. "
        "Restore a backup, or move the file away and start a new one. 'sqlite3 FILE .recover' "
        "recovers what is readable."
    )
