"""Keep the weights of models of two features at some epochs, so that a report can draw them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from separatrix.matrix import Array
from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.pictures import WeightFrames
from separatrix.training import Progress

MOST_MODELS = 1000  # of a study whose weights are kept
GROWTH = 1.15  # ratio of two epochs whose weights are kept, so that early epochs are close together
_PREFIX = "frame"


class FrameRecorder:
    """Collects weights during the training of a batch, at epochs 1, 2, 3, ... 7, 9, 11, ...

    The weights of `runs` (positions in the plan) are kept only if the data has two features and the
    study is not too large. A checkpoint contains them, so a resumed batch has the same frames.
    """

    def __init__(self, planned: StudyTasks, runs: list[int]) -> None:
        few = len(planned.sharing) and sum(map(len, planned.sharing)) <= MOST_MODELS
        self.wanted = planned.data.n_features == 2 and bool(few)
        self.runs = runs
        self.next = 1
        self.frames: dict[int, dict[int, Array]] = {}  # by position in `runs`, then by epoch

    def after_epoch(self, progress: Progress) -> None:
        """Keep the weights of the running models if it is time to."""
        if not self.wanted or progress.epoch < self.next:
            return
        self.next = max(progress.epoch + 1, math.ceil(progress.epoch * GROWTH))
        model = progress.weights()
        if model.W.shape[0] != 2:  # trained on rewritten data
            return
        packed = np.concatenate([model.W, model.b[None]]).transpose(1, 2, 0).astype(np.float32)
        for number, weights in zip(progress.running.tolist(), packed):
            for member in progress.members[number]:
                self.frames.setdefault(member, {})[progress.epoch] = weights

    def found(self) -> dict[int, WeightFrames]:
        """Return the frames of every run (a position in the plan)."""
        return {
            self.runs[member]: WeightFrames(
                np.array(list(frames), np.int32), np.stack(list(frames.values()))
            )
            for member, frames in self.frames.items()
        }

    def to_arrays(self) -> dict[str, Array]:
        """Return the frames as arrays for a checkpoint."""
        out = {}
        for member, frames in self.frames.items():
            out[f"{_PREFIX}.{member}.epochs"] = np.array(list(frames), np.int32)
            out[f"{_PREFIX}.{member}.weights"] = np.stack(list(frames.values()))
        return out

    def restore(self, arrays: Mapping[str, Array] | None) -> None:
        """Continue with the frames of a checkpoint."""
        for name, epochs in (arrays or {}).items():
            kind, _, rest = name.partition(".")
            member, _, part = rest.partition(".")
            if kind == _PREFIX and part == "epochs" and arrays is not None:
                weights = arrays[f"{_PREFIX}.{member}.weights"]
                self.frames[int(member)] = dict(zip(epochs.tolist(), weights))
                last = int(epochs[-1])
                self.next = max(self.next, last + 1, math.ceil(last * GROWTH))
