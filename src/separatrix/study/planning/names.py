"""The name of a study, and whether a stored study of that name is the same one."""

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
    """Raise unless a study may have this name: reports are files of the same name."""
    if not (NAME.fullmatch(name) and len(name.encode()) <= LONGEST_NAME):
        raise ParameterError(
            "The name of a study is made of letters, digits, dots, dashes, underscores and spaces, "
            f"begins with a letter or digit, and has at most {LONGEST_NAME} bytes. Got {name!r} "
            "instead.",
            parameter="name",
        )


def choose_name(
    store: Store, data: str, identity: Mapping[str, Any], resume: bool
) -> tuple[str, str | None]:
    """A name for a study that was given none: that of its data, with a number if that is taken.

    To resume, it is the name of the latest study that is the same, whatever its name. If there is
    none, the second value says in what the latest study of these data differs, if there is one.
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
    """What tells a stored study from this one, in words; None if they are the same."""
    for part, words in {
        "data": "other data",
        "estimator": "another estimator",
        "parameters": "other parameters",
        "seeds": "other seeds",
        "grid": "another grid",
    }.items():
        there, here = stored[part], identity[part]
        if to_text(there) == to_text(here):
            continue
        if part == "data":
            return f"{words} (fingerprint {there[:12]} there, {here[:12]} here)"
        if part == "grid":
            return f"{words} ({_grid_words(there)} there, {_grid_words(here)} here)"
        return f"{words} ({there} there, {here} here)"
    return None


def _grid_words(configurations: list[Configuration]) -> str:
    return f"{counted(len(configurations), 'configuration')} of " + "; ".join(
        f"{name} {', '.join(value_words(name, value) for value in each)}"
        for name, each in values_by_name(configurations).items()
    )
