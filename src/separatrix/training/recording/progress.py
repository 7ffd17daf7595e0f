"""What a callback receives after every epoch, and how it ends a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from separatrix.cluster import passes_sent
from separatrix.matrix import Array, rows_read
from separatrix.model import Model


class Interrupted(Exception):  # noqa: N818 (not an error)
    """Raise this in a callback to end a run: every model is kept as it is."""


@dataclass(frozen=True)
class Progress:
    """What a callback receives after every epoch.

    Attributes
    ----------
    epoch : number of epochs done
    epochs : largest number of epochs
    running : numbers of the models of this batch that are still in training
    records : the fields of the history at this epoch, one value for each running model
    gap : the relative duality gap proven at this epoch for each running model; NaN if it was not
        computed, which only `tol` requires
    checkpoint : a function that returns arrays from which `run(..., resume=...)` continues bit for
        bit
    members : for every model of this batch, the numbers of the estimators that it is trained for:
        their positions in the list given to `fit_many`
    ended : a function that returns the stop reasons of finished runs of this batch, by the number
        of the model and its number of epochs
    weights : a function that returns a copy of the weights of the running models
    """

    epoch: int
    epochs: int
    running: Array
    records: dict[str, Array]
    gap: Array
    checkpoint: Callable[[], dict[str, Array]]
    members: tuple[tuple[int, ...], ...]
    ended: Callable[[], dict[tuple[int, int], str]]
    weights: Callable[[], Model]


_trained = 0


def count_batch() -> None:
    """Count a batch that is about to be trained."""
    global _trained
    _trained += 1


class TrainingCounter:
    """Counts the batches trained and the rows read in this process since its creation."""

    def __init__(self) -> None:
        self._batches, self._rows = _trained, sum(rows_read())
        self._sent = passes_sent()

    def n_batches(self) -> int:
        """The number of batches trained, including fallbacks."""
        return _trained - self._batches

    def n_passes(self, n_samples: int) -> float:
        """Return how often `n_samples` rows were read by products with X and X^T.

        On a cluster, whose workers read the rows, it is the number of passes that were sent there.
        """
        if sent := passes_sent() - self._sent:
            return float(sent)
        return (sum(rows_read()) - self._rows) / n_samples
