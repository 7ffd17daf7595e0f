"""Computation graphs of formulas, with values and derivatives."""
