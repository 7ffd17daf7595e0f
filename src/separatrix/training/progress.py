"""What a callback sees after every epoch, and how it ends a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from separatrix.matrix import Array, rows_read


class Interrupted(Exception):  # noqa: N818 (nothing is wrong)
    """Raised by a callback to end a run: every model is kept as it stands."""


@dataclass(frozen=True)
class Progress:
    """What a callback sees after every epoch.

    Attributes
    ----------
    epoch : epochs done
    epochs : epochs at most
    running : numbers of the models of this batch that are still trained
    records : the history's fields at this epoch, one value for each running model
    gap : the relative duality gap proven at this epoch, one for each running model; NaN where none
        was looked for, since only `tol` asks for one
    checkpoint : call it to get arrays from which `run(..., resume=...)` goes on bit for bit
    members : for every model of this batch, the numbers of the estimators it is trained for: their
        places in the list given to `fit_many`
    ended : call it to get why runs of this batch ended so far: the reason by the number of the
        model and the epochs asked for
    """

    epoch: int
    epochs: int
    running: Array
    records: dict[str, Array]
    gap: Array
    checkpoint: Callable[[], dict[str, Array]]
    members: tuple[tuple[int, ...], ...]
    ended: Callable[[], dict[tuple[int, int], str]]


_trained = 0


def count_batch() -> None:
    """Count a batch that is about to be trained."""
    global _trained
    _trained += 1


class TrainingCounter:
    """Counts the batches trained and the rows read in this process since it was made."""

    def __init__(self) -> None:
        self._batches, self._rows = _trained, sum(rows_read())

    def n_batches(self) -> int:
        """How many batches were trained, those of fallbacks included."""
        return _trained - self._batches

    def n_passes(self, n_samples: int) -> float:
        """How often `n_samples` rows were read by products with X and with X^T."""
        return (sum(rows_read()) - self._rows) / n_samples
