"""What requests contain: JSON, whole numbers, numbers. Anything else is refused in words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from starlette.requests import Request

from separatrix.errors import ParameterError


def parsed_json(body: bytes) -> Any:
    """Return the value of JSON text without NaN and infinity."""

    def refuse(constant: str) -> None:
        raise ValueError(f"JSON has no {constant}.")

    try:
        return json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"The request is not valid JSON: {error}") from None


def whole(request: Request, name: str) -> int:
    """Return a whole number from the query."""
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise ParameterError(
            f"'{name}' must be a whole number >= 0. Got {text[:40]!r} instead.", parameter=name
        )
    return int(text)


def number(request: Request, name: str) -> float:
    """Return a finite number from the query."""
    text = request.query_params.get(name, "")
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ParameterError(
            f"'{name}' must be a number. Got {text[:40]!r} instead.", parameter=name
        )
    return value
