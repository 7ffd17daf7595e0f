"""Packages that import their names on first use.

scikit-learn alone takes more than a second to import. The command line need not wait for it to
print its help or the table of a study.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazily(
    package: str, places: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package whose names are in other modules.

    >>> get, _ = lazily("separatrix", {"math": ("sqrt",)})
    >>> get("sqrt")(4.0)
    2.0
    """
    modules = {name: module for module, names in places.items() for name in names}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, listed
