"""Record every pass over blocks, and send all functions and arguments through pickle."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from separatrix.data import BlocksInMemory

# Block functions that return rows because their caller asks for rows.
OF_ROWS = ("labels", "weights", "scores_of_block", "_validate_block", "_pick_rows")


@contextmanager
def passes_by_pickle() -> Iterator[list[tuple[str, Any]]]:
    """Run block functions on pickled copies, as another process would; yield names and results."""
    seen: list[tuple[str, Any]] = []

    def sent(f: Any, *arguments: Any) -> Any:
        return pickle.loads(pickle.dumps((f, *arguments)))  # fails for functions of no module

    def record(f: Any, found: Any) -> Any:
        seen.append((f.__name__, found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        original = {name: getattr(BlocksInMemory, name) for name in ("map", "sum", "fold")}

        def map_blocks(self: BlocksInMemory, f: Any, *small: Any) -> Any:
            return record(f, original["map"](self, *sent(f, *small)))

        def add_blocks(self: BlocksInMemory, f: Any, *small: Any) -> Any:
            return record(f, original["sum"](self, *sent(f, *small)))

        def fold_blocks(self: BlocksInMemory, f: Any, state: Any, *small: Any) -> Any:
            return record(f, original["fold"](self, *sent(f, state, *small)))

        patch.setattr(BlocksInMemory, "map", map_blocks)
        patch.setattr(BlocksInMemory, "sum", add_blocks)
        patch.setattr(BlocksInMemory, "fold", fold_blocks)
        yield seen


def lengths_of_axes(found: Any) -> set[int]:
    """Return the lengths of all axes of the arrays in the result of a block function."""
    if isinstance(found, np.ndarray):
        return set(found.shape)
    if isinstance(found, (list, tuple)):
        return set().union(*map(lengths_of_axes, found))
    return set().union(*map(lengths_of_axes, getattr(found, "__dict__", {}).values()))
