"""The rows of a data set on a device, in pieces that fit into its memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from separatrix.data import Block, Dataset
from separatrix.data.block_source import BlocksInMemory
from separatrix.device.torch_device import Tensor, TorchDevice, is_out_of_memory
from separatrix.device.weights import padded_rows
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array, Matrix

Found = TypeVar("Found")

ARRAYS_OF_A_PASS = 4  # arrays as large as the scores that exist at the same time
FEWEST_ROWS = 64
LEAST_ROOM = 1 << 16  # bytes; with less, smaller pieces do not help
SHARE_OF_X = 0.75  # share of the memory that X may take, and so stay on the device


@dataclass(frozen=True)
class DensePart:
    """Some rows [X, 1, 0], (n, rows of P), and their transpose."""

    X: Tensor
    transpose: Tensor

    def times(self, P: Tensor) -> Tensor:
        """Return the scores (n, B, K)."""
        return _product(self.X, P)

    def transpose_times(self, U: Tensor) -> Tensor:
        """Return the gradient (rows of P, B, K) of U (n, B, K)."""
        return _product(self.transpose, U)

    def take(self, rows: Tensor) -> DensePart:
        some = self.X[rows]
        return DensePart(some, some.T)


@dataclass(frozen=True)
class SparsePart:
    """Some rows [X, 1, 0] as CSR, and their transpose as CSR."""

    X: Tensor
    transpose: Tensor

    def times(self, P: Tensor) -> Tensor:
        return _product(self.X, P)

    def transpose_times(self, U: Tensor) -> Tensor:
        return _product(self.transpose, U)


def _product(X: Tensor, A: Tensor) -> Tensor:
    """Return X A (m, B, K) for A (n, B, K)."""
    n, B, K = A.shape
    return (X @ A.reshape(n, B * K)).reshape(-1, B, K)


class Piece(NamedTuple):
    """Some rows on the device with labels (n,) or (n, B), and weights (n, 1 or B) or None."""

    X: DensePart | SparsePart
    y: Tensor
    s: Tensor | None


class DeviceRows:
    """Copies of the rows of all blocks, which the data sets of a run share.

    X stays on the device if it fits there. Otherwise every pass copies it, piece by piece.
    """

    def __init__(self, device: TorchDevice) -> None:
        self.device = device
        self._parts: dict[Any, tuple[object, Any]] = {}  # with the object whose id is the key
        self._room: int | None = None  # once the device has run out of memory

    def room(self) -> int:
        """Return the number of bytes that the arrays of a pass, or X, may take."""
        return self.device.room() if self._room is None else self._room

    def attempt(self, compute: Callable[..., Found], *arguments: Any) -> Found:
        """Compute sums over the rows; if the device runs out of memory, with smaller pieces."""
        while True:
            before = self.room()
            try:
                return compute(*arguments)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            # Outside of the except clause nothing refers to the arrays of the pass.
            self._parts.clear()
            self.device.free_cache()
            self._room = min(before, self.device.room()) // 2
            if self._room < LEAST_ROOM:
                raise MemoryError(out_of_memory(self.device.name))

    def pieces(self, data: Dataset, shape: tuple[int, ...], dtype: Any) -> Iterator[Piece]:
        """Yield all rows, in pieces for a pass with models of shape (d, B, K)."""
        for block in self.blocks(data):
            n = block.X.shape[0]
            rows = self._rows_at_once(n, shape, dtype)
            y, s = self._labels(block), self._weights(block)
            for first in range(0, n, rows):
                some = slice(first, min(first + rows, n))
                part = self._part(block.X, some, rows, dtype)
                yield Piece(part, y[some], None if s is None else s[some])

    def blocks(self, data: Dataset) -> list[Block]:
        """Return the blocks, or raise if they are not in memory."""
        if not isinstance(data.source, BlocksInMemory):
            raise ParameterError(
                Message(
                    "{device} needs all rows in memory, and these are on disk or on a cluster. "
                    "Train without {omitted}, or from the rows in memory.",
                    device=Parameter("device", self.device.name),
                    omitted=Parameter("device"),
                )
            )
        return data.map_blocks(_itself)

    def take(self, block: Block, rows: Array, dtype: Any) -> Piece:
        """Return some rows of one block, in their order."""
        y, s = self._labels(block), self._weights(block)
        at = self.device.tensor(rows, np.int64)
        part: DensePart | SparsePart
        if not block.X.is_sparse and self._stays(block.X, dtype):
            whole = self._part(block.X, slice(0, len(y)), len(y), dtype)
            assert isinstance(whole, DensePart)
            part = whole.take(at)
        else:
            part = self._upload(block.X.rows()[rows], dtype)
        return Piece(part, y[at], None if s is None else s[at])

    def _rows_at_once(self, n: int, shape: tuple[int, ...], dtype: Any) -> int:
        """Return the number of rows of a piece: all, or a power of two."""
        _, B, K = shape
        most = self.room() // (ARRAYS_OF_A_PASS * B * K * np.dtype(dtype).itemsize)
        if most >= n:
            return max(n, 1)
        return max(FEWEST_ROWS, 1 << max(int(most).bit_length() - 1, 0))

    def _stays(self, X: Matrix, dtype: Any) -> bool:
        key = "stays", id(X), np.dtype(dtype).name
        if key not in self._parts:
            n, d = X.shape
            entries = 4 * X.n_entries if X.is_sparse else 2 * n * padded_rows(d)
            size = entries * np.dtype(dtype).itemsize
            self._parts[key] = X, size <= SHARE_OF_X * self.room()
        return bool(self._parts[key][1])

    def _part(self, X: Matrix, some: slice, rows: int, dtype: Any) -> DensePart | SparsePart:
        if not self._stays(X, dtype):
            return self._upload(X.rows()[some], dtype)
        if X.is_sparse:  # a part of a CSR matrix needs its own transpose
            key = id(X), np.dtype(dtype).name, some.start, some.stop
            if key not in self._parts:
                self._parts[key] = X, self._upload(X.rows()[some], dtype)
            return self._parts[key][1]
        whole = id(X), np.dtype(dtype).name
        if whole not in self._parts:
            self._parts[whole] = X, self._upload(X.rows(), dtype)
        part = self._parts[whole][1]
        return DensePart(part.X[some], part.transpose[:, some])

    def _upload(self, X: Any, dtype: Any) -> DensePart | SparsePart:
        n, d = X.shape
        if sp.issparse(X):
            more = padded_rows(d) - d
            constant = sp.csr_array(
                (np.ones(n, dtype), np.zeros(n, int), np.arange(n + 1)), shape=(n, more)
            )
            whole = sp.hstack([X.astype(dtype), constant], format="csr")
            return SparsePart(self._csr(whole), self._csr(whole.T.tocsr()))
        torch = self.device.torch
        kind = getattr(torch, np.dtype(dtype).name)
        out = torch.zeros((n, padded_rows(d)), dtype=kind, device=self.device.name)
        rough = X if X.dtype.kind == "f" or X.dtype.itemsize == 1 else X.astype(dtype)
        out[:, :d] = self.device.tensor(rough)
        out[:, d] = 1.0
        return DensePart(out, out.T.contiguous())  # products with a copy are faster

    def _csr(self, X: Any) -> Tensor:
        parts = (X.indptr, X.indices, X.data)
        start, index, value = (self.device.tensor(part) for part in parts)
        with warnings.catch_warnings():  # that sparse matrices of PyTorch may change
            warnings.simplefilter("ignore", UserWarning)
            return self.device.torch.sparse_csr_tensor(start, index, value, X.shape)

    def _labels(self, block: Block) -> Tensor:
        return self._kept(block.y, np.int32)

    def _weights(self, block: Block) -> Tensor | None:
        if block.s is None:
            return None
        s = self._kept(block.s, np.float64)
        if s.ndim == 1:
            return s[:, None]
        if block.weight_column is None:
            return s
        return s[:, self.device.tensor(block.weight_column, np.int64)]

    def _kept(self, a: Array, dtype: Any) -> Tensor:
        """Return the copy of an array of all rows on the device."""
        if id(a) not in self._parts:
            self._parts[id(a)] = a, self.device.tensor(a, dtype)
        return self._parts[id(a)][1]


def _itself(block: Block) -> Block:
    return block


def out_of_memory(device: str) -> str:
    """Return what to do about a device without enough memory."""
    return (
        f"The device '{device}' ran out of memory. Train fewer models at once, use "
        "precision='float32', or free memory that other programs have taken on it."
    )
