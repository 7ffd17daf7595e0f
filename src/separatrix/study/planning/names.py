"""Choose the name of a study, and compare a study with a stored one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from separatrix.errors import ParameterError
from separatrix.study.planning.grid import Configuration, values_by_name
from separatrix.study.store.database import Store
from separatrix.study.store.encoding import to_text
from separatrix.text import counted, value_words

NAME = re.compile(r"[^\W_][\w. -]*")
LONGEST_NAME = 100  # bytes


def require_name(name: str) -> None:
    """Raise a ParameterError unless the name is valid. Reports are files with the same name."""
    if not (NAME.fullmatch(name) and len(name.encode()) <= LONGEST_NAME):
        raise ParameterError(
            "The name of a study must consist of letters, digits, dots, dashes, underscores and "
            f"spaces, begin with a letter or digit, and have at most {LONGEST_NAME} bytes. Got "
            f"{name!r} instead.",
            parameter="name",
        )


def choose_name(
    store: Store, data: str, identity: Mapping[str, Any], resume: bool
) -> tuple[str, str | None]:
    """Choose a name for a study without one: the name of its data, with a number if needed.

    With `resume`, this is the name of the latest stored study that equals this one. If there is
    none, the second value describes how the latest study of the same data differs, if any.
    """
    base = re.sub(r"[^\w.-]+", "-", Path(data).with_suffix("").as_posix())
    base = base.encode()[:80].decode(errors="ignore").strip("-._") or "study"
    differs = None
    stored = "SELECT name, plan, about FROM studies ORDER BY id DESC"
    for row in store.rows(stored) if resume else ():
        difference = describe_difference(store.values(row["plan"], "a plan"), identity)
        if difference is None:
            return str(row["name"]), None
        about = store.values(row["about"], "a description")
        if differs is None and about["data"]["name"] == data:
            differs = f"{row['name']} has {difference}"
    taken = set(store.names())
    names = (base, *(f"{base}-{k}" for k in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken), differs


def describe_difference(stored: Mapping[str, Any], identity: Mapping[str, Any]) -> str | None:
    """Describe how a stored study differs from this one. Return None if they are equal."""
    for part, words in {
        "data": "different data",
        "estimator": "a different estimator",
        "parameters": "different parameters",
        "seeds": "different seeds",
        "grid": "a different grid",
    }.items():
        there, here = stored[part], identity[part]
        if to_text(there) == to_text(here):
            continue
        if part == "data":
            return f"{words} (stored fingerprint: {there[:12]}, new fingerprint: {here[:12]})"
        if part == "grid":
            return f"{words} (stored: {_grid_words(there)}; new: {_grid_words(here)})"
        return f"{words} (stored: {there}; new: {here})"
    return None


def _grid_words(configurations: list[Configuration]) -> str:
    return f"{counted(len(configurations), 'configuration')} of " + " and ".join(
        f"{name} {', '.join(value_words(name, value) for value in each)}"
        for name, each in values_by_name(configurations).items()
    )
