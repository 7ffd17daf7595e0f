"""Confidence intervals of coefficients, and the models without features they are compared with."""

from separatrix.inference.intervals import Intervals, confidence_intervals

__all__ = ["Intervals", "confidence_intervals"]
