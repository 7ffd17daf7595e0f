"""Conversion of any source to a folder of blocks."""

from separatrix.workflow.converting.conversion import convert

__all__ = ["convert"]
