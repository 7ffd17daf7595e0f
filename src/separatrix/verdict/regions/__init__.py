"""Regions that contain the weights and biases of the optimum, with proofs that include rounding."""

from separatrix.verdict.regions.ball import Ball, ball, gap_ball
from separatrix.verdict.regions.bias import bias_interval, profile_bias
from separatrix.verdict.regions.predictions import ScoreBounds, score_bounds
from separatrix.verdict.regions.region import Region, optimum_region
from separatrix.verdict.regions.rows import RowLengths, centred_rows, row_lengths
from separatrix.verdict.regions.slope import Slope, loss_slope

__all__ = [
    "Ball",
    "Region",
    "RowLengths",
    "ScoreBounds",
    "Slope",
    "ball",
    "bias_interval",
    "centred_rows",
    "gap_ball",
    "loss_slope",
    "optimum_region",
    "profile_bias",
    "row_lengths",
    "score_bounds",
]
