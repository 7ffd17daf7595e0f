"""Data sets that are known by name.

names()           all names
describe(name)    what it is, how large, and where its files are
fetch(name)       its files on this machine, downloaded if need be
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path
from typing import Any

from separatrix.readers.data_sets.catalogue import DATA_SETS, CatalogueEntry
from separatrix.readers.data_sets.download import File, OnDownload, find, obtain_all, places
from separatrix.readers.source import Source
from separatrix.readers.splits import Split


def names() -> list[str]:
    """The names of all registered data sets.

    >>> names()[:4]
    ['iris', 'wine', 'breast-cancer', 'digits']
    """
    return list(DATA_SETS)


def describe(name: str) -> dict[str, Any]:
    """Say what a data set is and where its files are, as plain values.

    >>> about = describe("digits")
    >>> about["rows"], about["features"], about["classes"], about["files"]
    (1797, 64, 10, [])
    """
    data = _known(name)
    files = [_state(file) for file in data.files]
    plain = ("name", "about", "rows", "features", "classes", "split")
    return {key: getattr(data, key) for key in plain} | {
        "here": all(file["found"] for file in files),
        "files": files,
    }


def _state(file: File) -> dict[str, str | None]:
    found, problem = None, None
    try:
        found = find(file)
    except ValueError as error:
        problem = str(error)
    return {
        "path": file.path,
        "found": None if found is None else str(found),
        "problem": problem,
        "address": file.address or None,
        "place": str(places(file)[0]),
        "sha256": file.sha256,
    }


def fetch(name: str, progress: OnDownload | None = None) -> list[Path]:
    """Return the paths of a data set's files; those that are not here are downloaded.

    `progress(file, bytes, total)` is called while a file comes; total is 0 where it is not known.
    """
    return obtain_all(_known(name).files, progress)


def read(
    name: str, *, seed: int = 0, split: Split = None, progress: OnDownload | None = None
) -> Source:
    """Read a data set, with its own split where it has one."""
    data = _known(name)
    found = data.read(fetch(name, progress))
    loaded = replace(found, notes=[data.about, *found.notes])
    return Source.of_loaded(loaded, name=name, split=split, seed=seed)


def suggestion(name: str) -> str:
    """A sentence with the name that is closest to a wrong one, or nothing."""
    close = difflib.get_close_matches(name, names(), 1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _known(name: str) -> CatalogueEntry:
    if name not in DATA_SETS:
        raise ValueError(
            f"There is no data set {name!r}.{suggestion(name)} Names: {', '.join(names())}."
        )
    return DATA_SETS[name]
