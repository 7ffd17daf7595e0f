"""Passes over the partitions of Dask collections, on the workers that hold them."""

from separatrix.cluster.collections import map_rows
from separatrix.cluster.connection import Cluster, connect
from separatrix.cluster.dask_blocks import DaskBlocks
from separatrix.cluster.library import is_collection
from separatrix.cluster.partitions import passes_sent
from separatrix.cluster.placed_rows import PlacedRows, Placement

__all__ = [
    "Cluster",
    "DaskBlocks",
    "PlacedRows",
    "Placement",
    "connect",
    "is_collection",
    "map_rows",
    "passes_sent",
]
