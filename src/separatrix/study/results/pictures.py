"""What the report draws beyond table and histories: small arrays that are stored with a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.workflow.pictures.data_sample import DataSample

MOST_CLASSES = 50  # classes of the largest confusion matrix that is stored


@dataclass(frozen=True, eq=False)
class FailedSteps:
    """The last k steps before a run rises far above its start, and the objective along them.

    Attributes
    ----------
    number, seed : the configuration and the seed of the run
    unit : "step", or "epoch" if an epoch has several steps
    rate, stable_times : the learning rate, and the multiple of 1 / curvature up to which a rate is
        stable. None if the rule of the steps has no such limit
    epochs : (k + 1,), the epochs between which the steps lie; 0 is the start
    lengths : (k,), the distance between the weights before and after each step
    objectives : (k, m), the objective at m points of each step, with the same distance between them
    """

    number: int
    seed: int
    unit: str
    rate: float | None
    stable_times: float | None
    epochs: Array
    lengths: Array
    objectives: Array

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return plain values and arrays for the store."""
        arrays = {k: v for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        return {k: v for k, v in vars(self).items() if k not in arrays}, arrays

    @classmethod
    def from_parts(cls, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> FailedSteps:
        """Restore what `to_parts` returned."""
        parts: dict[str, Any] = {**values, **arrays}
        return cls(**parts)


@dataclass(frozen=True, eq=False)
class WeightFrames:
    """Weights of a model of two features at some epochs: (F,) and (F, K, 3), the bias last."""

    epochs: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class StudyPictures:
    """What is stored for the report; a part is None if the study does not have it.

    Attributes
    ----------
    sample : a sample of the rows
    failure : the steps of a failed run
    link : how scores of the best configuration become probabilities: "softmax", "sigmoid" for one
        class against the rest, or "" if there are none
    confusion : (C, C), the validation rows by true and by predicted class, of the best
        configuration and its first seed
    calibration : (groups, 5), mean probability, observed frequency, rows, and Wilson's interval
    frames : the weights of the best configuration during training
    """

    sample: DataSample | None = None
    failure: FailedSteps | None = None
    link: str = ""
    confusion: Array | None = None
    calibration: Array | None = None
    frames: WeightFrames | None = None


def count_confusions(true: Array, predicted: Array, classes: int) -> Array | None:
    """Count rows by true and predicted class number; None if there are too many classes.

    >>> count_confusions(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1, 1], [0, 1]]
    """
    if classes > MOST_CLASSES:
        return None
    pairs = np.bincount(true.astype(np.int64) * classes + predicted, minlength=classes**2)
    return pairs.reshape(classes, classes).astype(np.int32)
