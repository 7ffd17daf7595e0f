"""Read files, folders, arrays and data frames as tables."""

from separatrix.readers.columns import Columns
from separatrix.readers.data_sets.registry import describe, fetch, names
from separatrix.readers.formats import READERS
from separatrix.readers.loading import load
from separatrix.readers.source import Source
from separatrix.readers.svmlight import read_svmlight

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
