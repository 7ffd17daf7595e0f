"""Which line of the user's a warning is about."""

from __future__ import annotations

import sys

OURS = ("separatrix", "sklearn", "joblib")


def users_line() -> int:
    """The `stacklevel` of the nearest caller outside of this library and scikit-learn.

    For a warning given by the function that asks.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _package(frame.f_globals) in OURS:
        frame, level = frame.f_back, level + 1
    return level


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
