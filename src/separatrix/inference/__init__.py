"""Confidence intervals of coefficients, and the null model without features."""

from separatrix.inference.intervals import Intervals, confidence_intervals

__all__ = ["Intervals", "confidence_intervals"]
