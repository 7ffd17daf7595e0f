"""List, describe and download the registered data sets.

names()           the names of all data sets
describe(name)    description, size and files of a data set
fetch(name)       the paths of its files, which are downloaded if necessary
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
    """Return the names of all registered data sets.

    >>> names()[:4]
    ['iris', 'wine', 'breast-cancer', 'digits']
    """
    return list(DATA_SETS)


def describe(name: str) -> dict[str, Any]:
    """Return the description, size and files of a data set as plain values.

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
    """Return the paths of the files of a data set. Missing files are downloaded.

    `progress(file, bytes, total)` is called during a download; total is 0 if it is unknown.
    """
    return obtain_all(_known(name).files, progress)


def read(
    name: str, *, seed: int = 0, split: Split = None, progress: OnDownload | None = None
) -> Source:
    """Read a data set, with its own split if it has one."""
    data = _known(name)
    found = data.read(fetch(name, progress))
    loaded = replace(found, notes=[data.about, *found.notes])
    return Source.of_loaded(loaded, name=name, split=split, seed=seed)


def suggestion(name: str) -> str:
    """Return a sentence that suggests the closest name to an unknown name, or ""."""
    close = difflib.get_close_matches(name, names(), 1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _known(name: str) -> CatalogueEntry:
    if name not in DATA_SETS:
        raise ValueError(
            f"There is no data set {name!r}.{suggestion(name)} Data sets: {', '.join(names())}."
        )
    return DATA_SETS[name]
