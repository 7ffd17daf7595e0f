"""The size of the blocks into which data in memory is cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from separatrix.data.block import Block

_rows: ContextVar[int | None] = ContextVar("rows_per_block", default=None)


@contextmanager
def rows_per_block(n_rows: int | None) -> Iterator[None]:
    """Train on data in memory in blocks of at most `n_rows` rows, as on data elsewhere.

    Everything that is fitted inside the `with` statement is computed by passes over the blocks, and
    no array with one number per row is kept between them. Data that is stored in the same blocks
    elsewhere gives the same bits. None stands for a single block, which is the default and faster.

    Parameters
    ----------
    n_rows : int or None
        Largest number of rows of a block, at least 1.

    Examples
    --------
    >>> import separatrix
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with separatrix.rows_per_block(40):
    ...     model = separatrix.LogisticRegression().fit(X, y)
    >>> model.certificate_.certified
    True
    """
    if n_rows is not None and (isinstance(n_rows, bool) or int(n_rows) != n_rows or n_rows < 1):
        raise ValueError(
            f"'n_rows' of rows_per_block must be a whole number >= 1, or None. Got {n_rows!r} "
            "instead."
        )
    before = _rows.set(None if n_rows is None else int(n_rows))
    try:
        yield
    finally:
        _rows.reset(before)


def current_rows_per_block() -> int | None:
    """Return the number of rows that the surrounding `with rows_per_block` asks for, or None."""
    return _rows.get()


def cut(block: Block, n_rows: int | None) -> list[Block]:
    """Cut a block into blocks of at most `n_rows` rows; None returns it as it is."""
    n = len(block.y)
    if n_rows is None or n <= n_rows:
        return [block]
    return [block.take(slice(first, first + n_rows)) for first in range(0, n, n_rows)]
