"""The forms in which X is held, and when copies of it are made.

The kernels read dense float32, float64, integers and booleans in place, converting a few rows at a
time, and also CSR and CSC of floats. Everything else is copied once: float16, foreign byte orders
and unaligned arrays, other sparse formats, sparse integers (their values, in float32 if that is
exact), repeated entries and unsorted columns of CSC. Rows of CSR may be unsorted, because scores
are summed in the order in which the entries are stored. A sparse X gets at most one working copy:
in the other orientation, as soon as it would have paid for itself; a copy that a solver makes; or
a sorted one for Gram matrices.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import scipy.sparse as sp

import separatrix._core as _core
from separatrix.matrix.array_types import Array, working_type

_READABLE = tuple(np.dtype(kind) for kind in "bBhHiIlLqQfd?")
_COPY_PAYS = 8  # number of products that take as long as a copy
_EXACT = 2**24  # float32 represents all integers up to here
_NEAR_SUMS = 1 << 12  # sums that fit into the nearest cache, where the order of access is free


class StoredMatrix:
    """A data matrix X (n, d), read-only, in the forms in which the kernels read it."""

    def __init__(self, X: Any) -> None:
        self.is_sparse = sp.issparse(X)
        X = X if self.is_sparse else np.asarray(X)
        if X.ndim != 2 or X.dtype.kind not in "biufO":
            raise ValueError(
                "X must be a matrix of real numbers, of shape (n, d). "
                f"Got an array of shape {X.shape} and type {X.dtype} instead."
            )
        self.dtype = working_type(X.dtype)
        # The forms of a sparse X and their native matrix are one pair, because other threads may
        # read it while it is replaced.
        self._held: tuple[dict[str, Any], _core.Matrix]
        if self.is_sparse:
            self.X = canonical(X)
            self._held = _native({self.X.format: self.X})
        else:
            self.X = readable(X)
            self._held = {}, _core.Matrix.dense(self.X)
        self.shape: tuple[int, int] = self.X.shape
        self._products = 0  # number of products that a second form would have made faster
        self._lent: weakref.ref[object] | None = None
        self._sorted: StoredMatrix | None = None

    @property
    def n_entries(self) -> int:
        """The number of stored entries: the non-zeros of a sparse X, all entries of a dense one."""
        return int(self.X.nnz if self.is_sparse else self.X.size)

    def by_sample(self) -> _core.Matrix:
        """Return the native matrix with the entries of a sparse X by samples."""
        return self._with("csr")

    def by_both(self) -> _core.Matrix:
        """Return the native matrix with the entries of a sparse X by samples and by features."""
        return self._with("csr", "csc")

    def in_order(self) -> _core.Matrix:
        """Return the matrix by samples with sorted rows, in a copy if a sparse X is unsorted."""
        native = self.by_sample()
        if native.ordered:
            return native
        if self._sorted is None:
            self._sorted = StoredMatrix(sort_indices(self.X))
        return self._sorted.by_sample()

    @property
    def native(self) -> _core.Matrix:
        """The native matrix as it is, with the forms of a sparse X that exist."""
        return self._held[1]

    def for_scores(self, columns: int) -> _core.Matrix:
        """Return the native matrix for one more product with W, which has `columns` columns.

        A sparse X gives the same bits by samples and by features, but scores are slower by
        features. The copy by samples is made as soon as it would have paid for itself.
        """
        forms, native = self._held
        if not self.is_sparse or "csr" in forms:
            return native
        self._products += columns
        return self.by_both() if self._copy_pays() else native

    def for_transpose(self, columns: int) -> _core.Matrix:
        """Return the native matrix for one more product of X^T with `columns` columns, and with W.

        A sparse X gives the same bits with or without its entries by features, but without them
        products with X^T that have many sums are slower. The second copy is made as soon as it
        would have paid for itself. A matrix with few features is always read by samples.
        """
        many = self.shape[1] > _core.few_features
        forms, _ = self._held
        if not self.is_sparse or (many and "csc" in forms):
            return self.for_scores(columns)
        self._products += many and self.shape[1] * columns > _NEAR_SUMS
        return self.by_both() if self._copy_pays() else self.by_sample()

    def lend(self, copy: object) -> None:
        """Make no other copy for products while this working copy of X exists."""
        self._lent = weakref.ref(copy)

    def _copy_pays(self) -> bool:
        """Return whether a second form would have paid for itself and no copy of X exists."""
        lent = self._lent is not None and self._lent() is not None
        return self._products > _COPY_PAYS and not lent and self._sorted is None

    def _with(self, *wanted: str) -> _core.Matrix:
        """Return the native matrix with the entries of a sparse X in these additional forms."""
        forms, native = self._held
        missing = [form for form in wanted if self.is_sparse and form not in forms]
        if missing:
            forms, native = _native({**forms, **{form: self.X.asformat(form) for form in missing}})
            self._held = forms, native
        return native

    def rows(self) -> Any:
        """Return X in the existing form that is fastest to slice by rows."""
        forms, _ = self._held
        return forms.get("csr", self.X)

    def as_products_read_it(self) -> Any:
        """Return a sparse X in the form from which products with X^T are computed."""
        if self.shape[1] > _core.few_features:
            return self.X
        self.by_sample()
        forms, _ = self._held
        return forms["csr"]


def readable(X: Array) -> Array:
    """Return X itself if the kernels can read it in place, otherwise a copy."""
    if X.dtype not in _READABLE:
        return X.astype(working_type(X.dtype))
    whole_strides = all(stride % X.itemsize == 0 for stride in X.strides)
    return X if X.flags.aligned and whole_strides else X.copy()


def canonical(X: Any) -> Any:
    """Return CSR or CSC with unique indices and float values, over the user's arrays if possible.

    The columns of CSC are sorted. Rows of CSR may be unsorted; `has_sorted_indices` tells.
    """
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    try:
        for name in ("indices", "indptr"):
            if (kind := getattr(X, name).dtype).kind != "i":
                raise ValueError(f"{name} must be signed integers. Got {kind} instead")
        # A new matrix over the same arrays, because flags that X caches may be outdated.
        view = type(X)((_values_of(X.data), X.indices, X.indptr), shape=X.shape, copy=False)
        view.indices, view.indptr = X.indices[: len(view.data)], X.indptr
        start, index, _ = compressed_arrays(view)
        rows = _core.check_row_order(start, index, view.shape[view.format == "csr"])
        if rows == _core.RowOrder.invalid:
            view.check_format(full_check=True)  # raises with the reason
            raise ValueError("some of its indices do not belong to an entry")
    except ValueError as error:
        raise ValueError(
            f"X is not a valid {X.format.upper()} matrix of shape {X.shape}: {error}. "
            "Build it again from rows, columns and values, for example with scipy.sparse.coo_array."
        ) from error
    unsorted = rows == _core.RowOrder.unsorted
    if (
        rows == _core.RowOrder.duplicates
    ):  # the sum of integers may need more digits than the integers
        view.data = view.data.astype(working_type(X.dtype), copy=False)
    if rows == _core.RowOrder.duplicates or (unsorted and view.format == "csc"):
        return sort_indices(view)
    view.has_sorted_indices = view.hascanonical_format = not unsorted
    return view


def _values_of(data: Array) -> Array:
    """Return the values of a sparse X for the kernels; integers in float32 if that is exact.

    >>> _values_of(np.array([3, -2**24])).dtype, _values_of(np.array([2**24 + 1])).dtype
    (dtype('float32'), dtype('float64'))
    """
    if data.dtype in (np.float32, np.float64):
        return data
    whole = data.dtype.kind in "biu"
    exact = whole and (not data.size or max(int(data.max()), -int(data.min())) <= _EXACT)
    return data.astype(np.float32 if exact else working_type(data.dtype))


def sort_indices(X: Any) -> Any:
    """Copy a compressed matrix with the indices of each row sorted and duplicates summed."""
    given = compressed_arrays(X)
    start, index, value = (np.empty_like(a) for a in given)
    columns = X.shape[X.format == "csr"]
    count = _core.sort_rows(*given, columns, start, index, value)
    out = type(X)((value[:count], index[:count], start), shape=X.shape, copy=False)
    out.hascanonical_format = True
    return out


def _native(forms: dict[str, Any]) -> tuple[dict[str, Any], _core.Matrix]:
    """Join sparse matrices of the same X, by samples and by features, into one native matrix."""
    native = _core.Matrix.sparse(*next(iter(forms.values())).shape)
    for X in forms.values():
        native.set(X.format == "csc", *compressed_arrays(X), X.has_sorted_indices)
    return forms, native


def compressed_arrays(X: Any) -> tuple[Array, Array, Array]:
    """Return the row starts, indices and values of a compressed matrix for the kernels."""
    wide = np.int64 if np.int64 in (X.indptr.dtype, X.indices.dtype) else np.int32
    # The kernels do not support strides in these arrays.
    start, index = (np.require(a, wide, ["C", "A"]) for a in (X.indptr, X.indices))
    return start, index, np.require(X.data, None, ["C", "A"])
