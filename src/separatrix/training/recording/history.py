"""The measurements of every epoch of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from separatrix.matrix import Array

if TYPE_CHECKING:
    import pandas as pd

FIELDS = (
    "train_loss",
    "train_accuracy",
    "val_loss",
    "val_accuracy",
    "objective",
    "gradient_norm",
    "seconds",
)


class History(Mapping[str, Array]):
    """A mapping of arrays with one value per epoch, each measured after that epoch's update.

    `val_loss` and `val_accuracy` are NaN in epochs in which they were not measured. `seconds` is
    the training time so far.

    >>> import numpy as np
    >>> history = History({"train_loss": np.array([0.7, 0.5])})
    >>> history["train_loss"][-1], len(history)
    (np.float64(0.5), 1)
    """

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def epochs(self) -> int:
        """The number of epochs recorded."""
        return len(next(iter(self._columns.values())))

    def followed_by(self, later: History) -> History:
        """Return this history followed by a later one; the seconds continue from this history."""
        seconds = self["seconds"][-1] + later["seconds"] if self.epochs else later["seconds"]
        return History(
            {
                name: np.concatenate([self[name], seconds if name == "seconds" else later[name]])
                for name in self
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the history as a pandas data frame, indexed by epoch from 1."""
        import pandas as pd

        return pd.DataFrame(self._columns, index=pd.RangeIndex(1, self.epochs + 1, name="epoch"))

    def __repr__(self) -> str:
        return f"History({self.epochs} epochs: {', '.join(self._columns)})"
