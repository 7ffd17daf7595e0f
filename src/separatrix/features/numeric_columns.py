"""Fill, centre and scale columns of numbers, or the columns of a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from separatrix.features.value_checks import missing_value
from separatrix.matrix import Array, Matrix, column_moments
from separatrix.readers.columns import Columns
from separatrix.text import counted


@dataclass(frozen=True)
class Numbers:
    """Fill missing values of numeric columns or of a matrix, then compute (x - shift) / scale.

    `fill`, `shift` and `scale` are (d,) or None. Without `fill`, missing values raise an error.
    """

    columns: list[str]
    fill: Array | None
    shift: Array | None
    scale: Array | None
    kind: ClassVar[str] = "numbers"

    @classmethod
    def fit(
        cls, table: Any, columns: list[str], missing: str, standardise: bool, notes: list[str]
    ) -> Self:
        """Learn fill values, means and scales. `missing` is 'mean', 'median' or 'refuse'.

        Sparse matrices are neither filled nor shifted.
        """
        X = Numbers.matrix_of(table, columns)
        fill = shift = scale = None
        if not sp.issparse(X):
            gaps = _gaps(X)
            fill = None if missing == "refuse" else _typical(X, gaps, columns, missing, notes)
            X = _filled(X, gaps, columns, fill, notes)
        if standardise:
            mean, deviation = column_moments(Matrix(X))
            shift = None if sp.issparse(X) else mean
            scale = np.where(deviation > 0, deviation, 1.0)
        return cls(columns, fill, shift, scale)

    @staticmethod
    def matrix_of(table: Any, columns: list[str]) -> Any:
        """Return the named columns of a table as a float64 matrix, or return the matrix itself."""
        if not isinstance(table, Columns):
            if table.shape[1] != len(columns):
                raise ValueError(
                    f"The matrix must have {len(columns):,} columns, as in training. "
                    f"Got {table.shape[1]:,} instead."
                )
            return sp.csr_array(table) if sp.issparse(table) else table
        if not columns:
            return np.empty((len(table), 0))
        return np.column_stack([table[name] for name in columns])

    @staticmethod
    def note_fills(columns: list[str], gaps: Array, fill: Array, notes: list[str]) -> None:
        """Add a note for every column with missing values (d,), which are replaced by `fill`."""
        for j in np.flatnonzero(gaps):
            missing = counted(int(gaps[j]), "missing value")
            notes.append(f"Column {columns[j]!r}: filled {missing} with {fill[j]:.6g}.")

    @property
    def names(self) -> list[str]:
        return self.columns

    def transform(self, table: Any, notes: list[str]) -> Any:
        X = Numbers.matrix_of(table, self.columns)
        if sp.issparse(X):
            return self._transform_sparse(X)
        X = _filled(X, _gaps(X), self.columns, self.fill, notes)
        if self.shift is not None:
            X = X - self.shift
        return X if self.scale is None else X / self.scale

    def _transform_sparse(self, X: Any) -> Any:
        if self.shift is not None:
            raise ValueError(
                "The matrix must be dense, because the model subtracts the means of the features. "
                "Got a sparse matrix instead. Convert it with X.toarray()."
            )
        if self.scale is None:
            return X
        return sp.csr_array((X.data / self.scale[X.indices], X.indices, X.indptr), shape=X.shape)


def _gaps(X: Array) -> Array:
    return np.isnan(X) if X.dtype.kind == "f" else np.zeros((1, 1), dtype=bool)


def _filled(
    X: Array, gaps: Array, columns: list[str], fill: Array | None, notes: list[str]
) -> Array:
    """Return X with missing values filled, and add a note per column; raise without `fill`."""
    if not gaps.any():
        return X
    if fill is None:
        row, column = (int(place) for place in np.argwhere(gaps)[0])
        raise missing_value(row, columns[column])
    Numbers.note_fills(columns, gaps.sum(axis=0), fill, notes)
    return np.where(gaps, fill, X)


def _typical(X: Array, gaps: Array, columns: list[str], how: str, notes: list[str]) -> Array:
    """Return the mean or median of the present values of every column."""
    fill = np.zeros(len(columns))
    some = gaps.any()
    for j, name in enumerate(columns):
        present = X[~gaps[:, j], j] if some else X[:, j]
        if len(present):
            fill[j] = np.mean(present) if how == "mean" else np.median(present)
        else:
            notes.append(f"Column {name!r} has no values in the training rows; 0 is used instead.")
    return fill
