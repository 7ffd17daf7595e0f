"""The file in which studies are kept: one SQLite database, readable while it is written.

Every promise ends with a commit that has reached the disk. Whatever SQLite refuses becomes a
sentence: what is wrong, where, and what to do.
"""

from __future__ import annotations

import io
import json
import math
import os
import sqlite3
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.packing import pack, unpack

DEFAULT, VARIABLE = "separatrix.db", "SEPARATRIX_STORE"
APPLICATION = 0x53505458  # "SPTX", by which a file is known to be a store
PATIENCE = 20.0  # seconds to wait for another process that is writing
RETRY = 0.01  # seconds between tries
_WRITER = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON")
_READER = ("PRAGMA query_only = ON", "SELECT count(*) FROM sqlite_schema")
_NPY = b"\x93NUMPY\x01\x00"  # how .npy bytes of version 1 begin
# Entry k takes a store from version k to k + 1; the first makes a new one.
MIGRATIONS = (Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"),)


class StoreError(OSError):
    """A store that cannot be opened, read or written, in words."""


class Store:
    """An open store.

    `write` opens it for writing too, and makes the file if there is none. Close it, or use it in a
    `with` statement.

    >>> with Store("studies.db", write=True) as store:
    ...     store.names()
    []
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        write: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        self.path = place_of(path)
        self.write = write
        with told(self.path):
            self.connection = _connect(self.path, write, patience)
            try:
                old = self._check_version()
                if old and write:
                    upgrade(self.connection, MIGRATIONS)
            except BaseException:
                self.connection.close()
                raise
            if old and not write:
                self.connection.close()
                Store(path, write=True, patience=patience).close()
                self.connection = _connect(self.path, write, patience)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was not committed is not kept."""
        with told(self.path):
            self.connection.close()

    def _check_version(self) -> bool:
        """Whether it is of an older version; what is no store, or a newer one, is refused."""
        # In one transaction: another process may be making the store at this moment.
        with _transaction(self.connection, "DEFERRED"):
            (tables,) = self.connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            (version,) = self.connection.execute("PRAGMA user_version").fetchone()
            (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION and (tables or not self.write):
            raise StoreError(
                f"{self.path} is a database of another program, not a store of studies. Name "
                f"another file (--store, or {VARIABLE}); this one was left as it is."
            )
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} is a store of version {version}, and this separatrix knows versions "
                f"up to {len(MIGRATIONS)}. Use the newer separatrix that wrote it."
            )
        return bool(version < len(MIGRATIONS))

    # reading

    def names(self) -> list[str]:
        """The names of all studies, the oldest first."""
        return [row["name"] for row in self.rows("SELECT name FROM studies ORDER BY id")]

    def study(self, name: str | None = None) -> sqlite3.Row:
        """The row of a study; of the latest without a name."""
        where = "WHERE name = ?" if name is not None else "ORDER BY id DESC LIMIT 1"
        found = self.rows(f"SELECT * FROM studies {where}", () if name is None else (name,))
        if found:
            return found[0]
        if name is None:
            raise StoreError(f"{self.path} has no studies yet. Make one: separatrix study iris")
        known = ", ".join(self.names()) or "none"
        raise StoreError(f"{self.path} has no study {name!r}. Studies there: {known}.")

    def find(self, name: str) -> sqlite3.Row | None:
        """The row of a study, or None."""
        found = self.rows("SELECT * FROM studies WHERE name = ?", (name,))
        return found[0] if found else None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows that a query finds."""
        with told(self.path):
            return self.connection.execute(sql, values).fetchall()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several queries that see the store at one moment."""
        with told(self.path):
            self.connection.execute("BEGIN")
        try:
            yield
        finally:
            with told(self.path):
                self.connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or nothing; on the disk when this ends."""
        with told(self.path), _transaction(self.connection):
            yield self.connection

    # arrays

    def array(self, blob: bytes | None, what: str) -> Array:
        """The array of .npy bytes."""
        try:
            return from_bytes(blob or b"")
        except (ValueError, EOFError, OSError) as error:
            raise StoreError(damaged(self.path, f"{what} cannot be read ({error})")) from None

    def arrays(self, blob: bytes, what: str) -> dict[str, Array]:
        """The arrays of .npz bytes."""
        from separatrix.readers.compression.size_limits import UnpackLimitError, require_room

        try:
            with np.load(io.BytesIO(blob), allow_pickle=False) as found:
                sizes = (member.file_size for member in found.zip.infolist())
                require_room(self.path, len(blob), sum(sizes))
                return {name: found[name] for name in found.files}
        except UnpackLimitError:
            raise
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise StoreError(damaged(self.path, f"{what} cannot be read ({error})")) from None

    def values(self, text: str, what: str) -> Any:
        """The values of a text."""
        try:
            return from_text(text)
        except ValueError as error:
            raise StoreError(damaged(self.path, f"{what} cannot be read ({error})")) from None


def place_of(path: str | os.PathLike[str] | None) -> Path:
    """The file that is meant: the one given, that of SEPARATRIX_STORE, or separatrix.db here."""
    return Path(path or os.environ.get(VARIABLE) or DEFAULT).expanduser()


def to_bytes(a: Array) -> bytes:
    """An array as .npy bytes.

    >>> from_bytes(to_bytes(np.arange(3)))
    array([0, 1, 2])
    """
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(a), allow_pickle=False)
    return out.getvalue()


def from_bytes(blob: bytes) -> Array:
    """The array that `to_bytes` was given."""
    if not blob.startswith(_NPY):
        raise ValueError("these are no bytes of an array")
    start = len(_NPY) + 2 + int.from_bytes(blob[len(_NPY) : len(_NPY) + 2], "little")
    shape, dtype = _header(blob[:start])
    return np.frombuffer(blob, dtype, math.prod(shape), start).reshape(shape).copy()


@lru_cache(maxsize=1024)
def _header(head: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type: parsing them takes longer than all else, and runs have them in common."""
    file = io.BytesIO(head)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype


def to_text(value: Any) -> str:
    """Plain values as JSON, numbers that are not finite included.

    >>> to_text({"loss": float("inf")})
    '{"loss": {"$float": "inf"}}'
    """
    arrays: dict[str, Array] = {}
    text = json.dumps(pack(value, "values", arrays), ensure_ascii=False, allow_nan=False)
    if arrays:
        raise ValueError(
            f"A study keeps parameters as numbers and words. Got an array ({next(iter(arrays))}) "
            "instead: arrays are for fit_many."
        )
    return text


def from_text(text: str) -> Any:
    """The values that `to_text` was given."""
    return unpack(json.loads(text), "values", {})


def to_archive(arrays: Mapping[str, Array]) -> bytes:
    """Arrays by name as .npz bytes, which carry checksums."""
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def upgrade(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    """Bring a store to the newest version, in one transaction; a second process finds it done."""
    with _transaction(connection):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for script in migrations[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _connect(path: Path, write: bool, patience: float) -> sqlite3.Connection:
    if write:
        if not path.absolute().parent.is_dir():
            raise StoreError(
                f"There is no folder {str(path.absolute().parent)!r} to keep {path.name} in. Make "
                f"it, or name another file (--store, or {VARIABLE})."
            )
        return _opened(path, "rwc", patience, *_WRITER)
    if not path.exists():
        raise StoreError(
            f"There is no store {str(path)!r}. Make a study first (separatrix study iris), or name "
            f"the file (--store, or {VARIABLE})."
        )
    # Where the folder can be written, the last to close the file takes its log away. Where it
    # cannot, there is no room for the index of a log: but without a log nobody writes, and the file
    # alone is all there is.
    try:
        return _opened(path, "rw", patience, *_READER)
    except sqlite3.OperationalError:
        alone = "" if Path(f"{path}-wal").exists() else "&immutable=1"
        return _opened(path, f"ro{alone}", patience, *_READER)


def _opened(path: Path, mode: str, patience: float, *first: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        for statement in first:
            _execute_patiently(connection, statement, time.monotonic() + patience)
    except BaseException:
        connection.close()
        raise
    return connection


def _execute_patiently(connection: sqlite3.Connection, statement: str, until: float) -> None:
    """Try again while the file is locked: to begin a log, SQLite does not wait by itself."""
    while True:
        try:
            connection.execute(statement).fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(RETRY)


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses into sentences."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_sentence(path, error)) from error
    except UnicodeDecodeError as error:  # of names and of SQLite's own messages, too
        raise StoreError(damaged(path, str(error))) from error


def _sentence(path: Path, error: sqlite3.Error) -> str:
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
        return damaged(path, str(error))
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


def damaged(path: Path, what: str) -> str:
    return (
        f"{path} is damaged, or is no store: {what}. It was not changed. Put a copy back, or move "
        "it away and begin anew; 'sqlite3 FILE .recover' saves what can be saved."
    )
