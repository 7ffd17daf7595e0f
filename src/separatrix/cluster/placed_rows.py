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
from separatrix.data import BlockFacts, BlockRows, Dataset
from separatrix.matrix import Array


class PlacedRows(BlockRows):
    """Rows on the workers of a cluster, with their labels, in place of X and y."""

    source: DaskBlocks

    def __repr__(self) -> str:
        n, d = self.shape
        count = len(self.source.facts.lengths)
        return f"Rows of a Dask collection ({n:,} x {d:,}, in {count:,} partitions)"

    def dataset(self) -> Dataset:
        """Return the rows as a data set. All classes occur."""
        return Dataset(self.source, self.labels)


class Placement:
    """X, y and the sample weights of collections, computed on the workers and inspected.

    There is a report on every partition. Partitions without rows are left out.
    """

    def __init__(
        self, X: Collection, y: Any, s: Any = None, *, name: str = "X", name_of_labels: str = "y"
    ) -> None:
        self.client = find_client()
        self.template, parts = row_parts(name, X)
        columns = column_parts(name_of_labels, y, X), column_parts("sample_weight", s, X)
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

    def labels(self) -> Array:
        """Return the different labels, sorted."""
        return np.unique(np.concatenate([report.labels for report in self.reports]))

    def rows(self, classes: Array) -> PlacedRows:
        """Return the rows, with labels as numbers of the classes."""
        weights = self._weights or [None] * len(self._labels)
        with explain(self.client):
            labels = self.client.map(
                number_labels, self._labels, weights, classes=classes, pure=False
            )
        first = self.reports[0]
        facts = BlockFacts(
            lengths=tuple(report.n_rows for report in self.reports),
            n_features=first.n_features,
            n_entries=sum(report.n_entries for report in self.reports),
            dtype=first.dtype,
            label_range=(0, len(classes) - 1),
            is_weighted=self._weights is not None,
        )
        return PlacedRows(
            DaskBlocks(Partitions(self.client, self._rows, labels), facts),
            classes,
            sparse=first.sparse,
            feature_names=None if self.template is None else list(map(str, self.template.columns)),
            template=self.template,
        )


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
