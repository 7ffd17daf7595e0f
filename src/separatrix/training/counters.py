"""How many batches were trained, and how many passes over X that took."""

from __future__ import annotations

from separatrix.matrix import rows_read

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
