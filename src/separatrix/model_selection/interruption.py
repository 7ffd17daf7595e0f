"""The interruption of a search by its callback."""

from __future__ import annotations

from separatrix.training import Interrupted, Progress
from separatrix.training.recording.callbacks import OnProgress


class InterruptibleCallback:
    """Calls a callback and records whether it raised `Interrupted`."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self.interrupted, self._on_progress = False, on_progress
        self.on_progress = None if on_progress is None else self._call

    def _call(self, progress: Progress) -> None:
        assert self._on_progress is not None
        try:
            self._on_progress(progress)
        except Interrupted:
            self.interrupted = True
            raise
