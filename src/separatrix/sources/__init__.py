"""Data in: from files, folders and arrays to tables, and from tables to the matrix of a model."""

from separatrix.sources.columns import Columns
from separatrix.sources.formats import READERS
from separatrix.sources.loading import load
from separatrix.sources.registry import describe, fetch, names
from separatrix.sources.source import Source
from separatrix.sources.svmlight import read_svmlight

__all__ = [
    "READERS",
    "Columns",
    "Source",
    "describe",
    "fetch",
    "load",
    "names",
    "read_svmlight",
]
