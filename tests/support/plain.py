"""Check whether a value is plain."""

from __future__ import annotations

import math


def is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(k, str) and is_plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, float) and not math.isfinite(value):
        return False  # JSON has no such number
    return value is None or type(value) in (bool, int, float, str)
