"""Stop a model as soon as its validation predictions are those of the exact optimum."""

from __future__ import annotations

import numpy as np

from separatrix.data import Block
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.regions import Region, ScoreBounds, optimum_region, score_bounds

SMALL_GAP = 0.1  # relative gap above which no prediction is certain


def are_predictions_certain(
    objective: Objective,
    validation: Objective | None,
    model: Model,
    gaps: Array,
    bands: Array,
    epoch: int,
) -> Array:
    """Return which models' predictions for the validation rows are certain (B,).

    It takes several passes over X, so it is done only after 1 to 8, 12, 16, 24, ... epochs.

    Parameters
    ----------
    objective, model : the objective, and the current weights of B models
    validation : the validation rows
    gaps : relative duality gaps (B,) proven so far; NaN if unknown
    bands : (B,); NaN for models that do not ask. With a band > 0, a prediction may be uncertain if
        the two highest probabilities are certainly within the band around their mean
    epoch : number of the epoch
    """
    certain = np.zeros(model.n_models, bool)
    asked = np.flatnonzero(~np.isnan(bands) & (gaps <= SMALL_GAP))
    if validation is None or not len(asked) or not _is_due(epoch):
        return certain
    some, objective = model.select(asked).astype(np.float64), objective.select(asked)
    region = optimum_region(objective, some)
    if region is None:
        return certain
    settled = validation.data.map_blocks(_settled, objective.loss, region, some, bands[asked])
    certain[asked] = np.all(settled, axis=0)
    return certain


def _is_due(epoch: int) -> bool:
    """Return whether an epoch is at most 8, a power of 2, or 3/2 times a power of 2."""
    return (
        epoch <= 8
        or epoch.bit_count() == 1
        or (epoch.bit_count() == 2 and bool(epoch & epoch >> 1))
    )


def _settled(block: Block, loss: Loss, region: Region, model: Model, bands: Array) -> Array:
    """Return for which models (B,) all rows of a block are certain or inside the band."""
    bounds = score_bounds(region, loss, block.X)
    predicted = loss.predict(model.scores(block.X)).astype(np.int64)
    settled = bounds.leads(predicted) > 0.0
    if (bands > 0.0).any():
        settled |= _is_close(bounds, predicted, bands)
    return np.asarray(settled.all(axis=0))


def _is_close(bounds: ScoreBounds, predicted: Array, bands: Array) -> Array:
    """Return where (n, B) the predicted class and its only rivals are certainly close."""
    found = bounds.probabilities()
    if found is None:
        return np.zeros(predicted.shape, bool)
    low, high = found
    own = predicted[:, :, None] == np.arange(low.shape[2])
    own_low, own_high = (np.where(own, P, 0.0).sum(axis=2, keepdims=True) for P in found)
    beaten = high < own_low
    apart = np.maximum(high - own_low, own_high - low)
    return np.asarray((own | beaten | (apart <= 2.0 * bands[:, None])).all(axis=2))
