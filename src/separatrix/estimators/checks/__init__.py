"""Checks of parameters, data and weights before a fit."""
