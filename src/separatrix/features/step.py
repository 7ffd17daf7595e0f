"""The protocol of the steps from a table to a matrix, and the simplest of them: a constant.

Every step is fitted on training rows and is plain data afterwards; `step_schemas` says how it is
written to a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.columns import Columns


class PreparationStep(Protocol):
    """One part of a preparation.

    - `kind`: the word for it in a file
    - `names`: the names of its columns
    - `transform(table, notes)`: (n, its columns), dense or CSR; what was odd is told in the notes
    """

    kind: ClassVar[str]

    @property
    def names(self) -> list[str]: ...
    def transform(self, table: Any, notes: list[str]) -> Any: ...


@dataclass(frozen=True)
class Constant:
    """A column that is always 1."""

    kind: ClassVar[str] = "constant"

    @property
    def names(self) -> list[str]:
        return ["always 1"]

    def transform(self, table: Any, notes: list[str]) -> Array:
        return np.ones((len(table) if isinstance(table, Columns) else table.shape[0], 1))
