"""Collections of Dask as lists of partitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cluster.library import Collection, Delayed, delay, is_collection, is_frame
from separatrix.cluster.worker_tasks import column_of_frame, frame_to_rows
from separatrix.matrix import Array


def row_parts(name: str, X: Collection) -> tuple[Any, list[Delayed]]:
    """Return a template of X without rows, for the names of its columns, and its partitions.

    Columns that are divided between chunks are joined.
    """
    if is_frame(X) and X.ndim == 2:
        dtype = _common_type(name, X._meta)
        return X._meta, [delay(frame_to_rows, part, dtype) for part in X.to_delayed()]
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions: rows and features. Got a Dask collection with "
            f"{X.ndim} instead. Use X[:, None], or a data frame with one column as in df[['name']]."
        )
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return None, X.to_delayed().ravel().tolist()


def column_parts(name: str, a: Any, X: Collection) -> list[Delayed] | Array | None:
    """Return labels or weights in the partitions of X; an array in memory as it is."""
    if a is None:
        return None
    if not is_collection(a):
        return np.asarray(a)
    count = X.npartitions if is_frame(X) else X.numblocks[0]
    if not is_frame(a):
        if a.ndim != 1:
            raise ValueError(
                f"{name} must have one dimension. Got a Dask array with {a.ndim}. Use "
                f"{name}[:, 0] if it has a single column."
            )
        if not is_frame(X) and _differ(X.chunks[0], a.chunks[0]):
            a = a.rechunk((X.chunks[0],))
    elif a.ndim != 1:
        raise ValueError(
            f"{name} must be one column. Got a data frame with the columns "
            f"{', '.join(map(str, a.columns))}. Select one, as in df['label']."
        )
    if a.npartitions != count:
        raise ValueError(
            f"X and {name} must have the same partitions. X has {count} and {name} has "
            f"{a.npartitions}. Use repartition or rechunk, or take both from the same data frame."
        )
    parts = a.to_delayed()
    return [delay(column_of_frame, part) for part in parts] if is_frame(a) else list(parts)


def _differ(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    """Return whether chunks have different sizes that are known."""
    known = not np.isnan(first).any() and not np.isnan(second).any()
    return known and first != second and sum(first) == sum(second)


def _common_type(name: str, template: Any) -> np.dtype[Any]:
    """Return the type of all columns of a data frame as one array, or raise."""
    types = template.dtypes
    for column, kind in types.items():
        if getattr(kind, "kind", "O") not in "biuf":
            raise ValueError(
                f"{name} must hold numbers. The column {column!r} is of type {kind}. Encode it "
                "first, or leave it out with drop(columns=...)."
            )
    plain = all(isinstance(kind, np.dtype) for kind in types)
    return np.result_type(*types) if plain and len(types) else np.dtype(np.float64)


def map_rows(f: Any, X: Collection) -> Collection:
    """Return f of every partition of X as a lazy array, with a row of results for each row."""
    if is_frame(X):
        template = X._meta
        return X.map_partitions(f, meta=f(template))
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    found = f(np.zeros((0, X.shape[1]), X.dtype))
    if found.ndim == 1:
        return X.map_blocks(f, dtype=found.dtype, drop_axis=1, meta=found)
    chunks = (X.chunks[0], (found.shape[1],))
    return X.map_blocks(f, dtype=found.dtype, chunks=chunks, meta=found)
