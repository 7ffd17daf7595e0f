"""Formulas as graphs of nodes, with values and derivatives."""
