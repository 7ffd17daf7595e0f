"""The protocol of the steps of a preparation, and the simplest step: a constant.

A step is fitted to training rows and then holds plain data, which `step_schemas` writes to files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.columns import Columns


class PreparationStep(Protocol):
    """One step of a preparation.

    - `kind`: name of the step in a file
    - `names`: names of the features it returns
    - `transform(table, notes)`: features (n, len(names)), dense or CSR; irregularities are
      reported in `notes`
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
