"""Training rows on the workers of a cluster, if a command has one."""

from __future__ import annotations

from typing import Any

from separatrix.cluster import Cluster
from separatrix.estimators.checks.placed_data import place_rows
from separatrix.matrix import Array

OWN_COLUMNS = (
    "A search on a cluster needs the same columns in every fold. Those of {} have words, "
    "categories or missing values, which each fold prepares anew. Convert the source with "
    "'separatrix convert', which prepares it once, and search in the folder."
)


def place_on(cluster: Cluster | None, X: Any, y: Array, weights: Array | None) -> Any:
    """Return training rows X (n, d) as they are, or on the workers of a cluster."""
    return X if cluster is None else place_rows(cluster.spread(X), y, weights)


def note_of(cluster: Cluster | None) -> list[str]:
    """Return a sentence about the cluster, if there is one."""
    return [] if cluster is None else [cluster.note()]
