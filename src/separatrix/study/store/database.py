"""The store: an SQLite file with studies that can be read while it is written.

A write returns only after the commit is on the disk.
"""

from __future__ import annotations

import io
import os
import sqlite3
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.study.store.encoding import from_bytes, from_text
from separatrix.study.store.errors import (
    VARIABLE,
    StoreError,
    damage_message,
    sqlite_errors_in_words,
)

DEFAULT = "separatrix.db"
APPLICATION = 0x53505458  # "SPTX", which identifies a file as a store
PATIENCE = 20.0  # seconds to wait while another process is writing
RETRY = 0.01  # seconds between attempts
_WRITER = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON")
_READER = ("PRAGMA query_only = ON", "SELECT count(*) FROM sqlite_schema")
# Entry k migrates a store from version k to k + 1. The first creates a store.
MIGRATIONS = tuple(
    Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("schema.sql", "schema_2.sql", "schema_3.sql")
)


class Store:
    """An open store.

    With `write`, the store can be written, and the file is created if it does not exist. Close the
    store, or use it in a `with` statement.

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
        self.path = store_path(path)
        self.write = write
        with sqlite_errors_in_words(self.path):
            self.connection = _connect(self.path, write, patience)
            try:
                old = self._check_version()
                if old and write:
                    migrate(self.connection, MIGRATIONS)
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
        """Close the file. Changes that were not committed are lost."""
        with sqlite_errors_in_words(self.path):
            self.connection.close()

    def _check_version(self) -> bool:
        """Whether the store has an older version. Raise a StoreError for other files."""
        # In one transaction, because another process may be creating the store.
        with _transaction(self.connection, "DEFERRED"):
            (tables,) = self.connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            (version,) = self.connection.execute("PRAGMA user_version").fetchone()
            (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION and (tables or not self.write):
            raise StoreError(
                f"{self.path} is a database of another program, not a store of studies. It was not "
                f"changed. Choose another file (--store, or {VARIABLE})."
            )
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} is a store of version {version}. This version of separatrix reads "
                f"versions up to {len(MIGRATIONS)}. Update separatrix."
            )
        return bool(version < len(MIGRATIONS))

    # reading

    def names(self) -> list[str]:
        """Return the names of all studies, the oldest first."""
        return [row["name"] for row in self.rows("SELECT name FROM studies ORDER BY id")]

    def study(self, name: str | None = None) -> sqlite3.Row:
        """Return the row of a study, or of the latest study if no name is given."""
        where = "WHERE name = ?" if name is not None else "ORDER BY id DESC LIMIT 1"
        found = self.rows(f"SELECT * FROM studies {where}", () if name is None else (name,))
        if found:
            return found[0]
        if name is None:
            raise StoreError(f"{self.path} has no studies yet. To run one: separatrix study iris")
        known = ", ".join(self.names()) or "none"
        raise StoreError(f"{self.path} has no study {name!r}. Its studies: {known}.")

    def find(self, name: str) -> sqlite3.Row | None:
        """Return the row of a study, or None if there is none."""
        found = self.rows("SELECT * FROM studies WHERE name = ?", (name,))
        return found[0] if found else None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        with sqlite_errors_in_words(self.path):
            return self.connection.execute(sql, values).fetchall()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run several queries on one snapshot of the store."""
        with sqlite_errors_in_words(self.path):
            self.connection.execute("BEGIN")
        try:
            yield
        finally:
            with sqlite_errors_in_words(self.path):
                self.connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run one atomic transaction. It is on the disk when this ends."""
        with sqlite_errors_in_words(self.path), _transaction(self.connection):
            yield self.connection

    # arrays

    def array(self, blob: bytes | None, what: str) -> Array:
        """Decode an array from .npy bytes."""
        try:
            return from_bytes(blob or b"")
        except (ValueError, EOFError, OSError) as error:
            raise StoreError(
                damage_message(self.path, f"{what} cannot be read ({error})")
            ) from None

    def arrays(self, blob: bytes, what: str) -> dict[str, Array]:
        """Decode arrays from .npz bytes."""
        from separatrix.readers.compression.size_limits import UnpackLimitError, require_room

        try:
            with np.load(io.BytesIO(blob), allow_pickle=False) as found:
                sizes = (member.file_size for member in found.zip.infolist())
                require_room(self.path, len(blob), sum(sizes))
                return {name: found[name] for name in found.files}
        except UnpackLimitError:
            raise
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise StoreError(
                damage_message(self.path, f"{what} cannot be read ({error})")
            ) from None

    def values(self, text: str, what: str) -> Any:
        """Decode values from JSON text."""
        try:
            return from_text(text)
        except ValueError as error:
            raise StoreError(
                damage_message(self.path, f"{what} cannot be read ({error})")
            ) from None


def store_path(path: str | os.PathLike[str] | None) -> Path:
    """Return the path of the store: the given one, SEPARATRIX_STORE, or separatrix.db."""
    return Path(path or os.environ.get(VARIABLE) or DEFAULT).expanduser()


def migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    """Migrate a store to the newest version in one transaction, if another process has not."""
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
                f"The folder {str(path.absolute().parent)!r} of {path.name} does not exist. Create "
                f"it, or choose another file (--store, or {VARIABLE})."
            )
        return _opened(path, "rwc", patience, *_WRITER)
    if not path.exists():
        raise StoreError(
            f"There is no store {str(path)!r}. Run a study first (separatrix study iris), or "
            f"choose another file (--store, or {VARIABLE})."
        )
    # SQLite needs to write beside the file to read a write-ahead log. In a read-only folder, open
    # the file as immutable if there is no log, because then no other process is writing.
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
    """Retry while the file is locked: SQLite does not wait when it switches to a log."""
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
