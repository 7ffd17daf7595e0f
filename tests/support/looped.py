"""Test several values of a parameter in one case, if pytest's overhead exceeds the check."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def looped(
    name: str, values: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test for every value of a parameter; a failure names the value.

    Like ``pytest.mark.parametrize`` with fewer cases. The test must leave its fixtures as they are.
    """
    values = list(values)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**arguments: Any) -> None:
            for value in values:
                try:
                    test(**arguments, **{name: value})
                except BaseException as error:
                    error.add_note(f"{name} = {value!r}")
                    raise

        signature = inspect.signature(test)
        kept = [p for p in signature.parameters.values() if p.name != name]
        assert len(kept) < len(signature.parameters), f"{test.__name__} has no '{name}'"
        run.__signature__ = signature.replace(parameters=kept)
        return run

    return decorate
