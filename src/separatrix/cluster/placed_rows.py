"""Training rows on the workers of a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cluster.collections import column_parts, row_parts
from separatrix.cluster.dask_blocks import DaskBlocks
from separatrix.cluster.failures import explain
from separatrix.cluster.library import Client, Collection, Future, find_client
from separatrix.cluster.partitions import Partitions
from separatrix.cluster.worker_tasks import (
    PartReport,
    count_rows,
    inspect,
    itself,
    make_plain,
    number_labels,
)
from separatrix.data import BlockFacts
from separatrix.matrix import Array


class PlacedRows:
    """X, y and the sample weights of a collection, computed on the workers and inspected.

    `template` is a data frame without rows that has the columns of X, or None for an array. There
    is a report on every partition. Partitions without rows are left out.
    """

    def __init__(self, X: Collection, y: Any, sample_weight: Any = None) -> None:
        self.client = find_client()
        self.template, parts = row_parts(X)
        columns = column_parts("y", y, X), column_parts("sample_weight", sample_weight, X)
        with explain(self.client):
            rows, labels, weights = _compute(self.client, parts, *columns)
            nothing = [None] * len(rows)
            found = self.client.map(inspect, rows, labels, weights or nothing, pure=False)
            reports: list[PartReport] = self.client.gather(found)
            if not all(report.plain for report in reports):
                rows = self.client.map(make_plain, rows, pure=False)
        used = [k for k, r in enumerate(reports) if r.n_rows or r.n_labels or r.n_weights]
        self.reports = [reports[k] for k in used]
        self._rows, self._labels = [rows[k] for k in used], [labels[k] for k in used]
        self._weights = None if weights is None else [weights[k] for k in used]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and features."""
        return sum(r.n_rows for r in self.reports), self.reports[0].n_features

    def labels(self) -> Array:
        """Return the different labels, sorted."""
        return np.unique(np.concatenate([report.labels for report in self.reports]))

    def source(self, classes: Array) -> DaskBlocks:
        """Return the rows as blocks, with labels as numbers of the classes."""
        weights = self._weights or [None] * len(self._labels)
        with explain(self.client):
            labels = self.client.map(
                number_labels, self._labels, weights, classes=classes, pure=False
            )
        facts = BlockFacts(
            lengths=tuple(report.n_rows for report in self.reports),
            n_features=self.reports[0].n_features,
            n_entries=sum(report.n_entries for report in self.reports),
            dtype=self.reports[0].dtype,
            label_range=(0, len(classes) - 1),
            is_weighted=self._weights is not None,
        )
        return DaskBlocks(Partitions(self.client, self._rows, labels), facts)


def _compute(
    client: Client, X: list[Any], y: Any, s: Any
) -> tuple[list[Future], list[Future], list[Future] | None]:
    """Compute the partitions of X, y and the weights, all tasks in one graph."""
    wanted = [*X, *(y if isinstance(y, list) else []), *(s if isinstance(s, list) else [])]
    futures = client.compute(wanted)
    rows, rest = futures[: len(X)], futures[len(X) :]
    labels = rest[: len(X)] if isinstance(y, list) else _divide(client, "y", y, rows)
    if s is None:
        return rows, labels, None
    weights = rest[-len(X) :] if isinstance(s, list) else _divide(client, "sample_weight", s, rows)
    return rows, labels, weights


def _divide(client: Client, name: str, a: Array, X: list[Future]) -> list[Future]:
    """Divide an array in memory as the rows of X are divided, and send it to the workers."""
    lengths = client.gather(client.map(count_rows, X, pure=False))
    if a.shape != (sum(lengths),):
        raise ValueError(
            f"{name} must have one entry for each of the {sum(lengths):,} rows of X. Got an array "
            f"of shape {a.shape} instead."
        )
    parts = np.split(a, np.cumsum(lengths)[:-1])
    return [client.submit(itself, part, pure=False) for part in parts]
