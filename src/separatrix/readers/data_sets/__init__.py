"""Data sets that can be loaded by name."""
