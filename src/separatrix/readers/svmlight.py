"""Files in the svmlight format, which LIBSVM and LIBLINEAR use too.

One row a line, `label [qid:number] index:value index:value ...  # comment`, with rising indices.
"""

from __future__ import annotations

import numbers
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

import separatrix._core as _core
from separatrix.errors import Message, Parameter
from separatrix.matrix import Array
from separatrix.readers.compression.decompression import read_bytes
from separatrix.readers.compression.text_encoding import UTF16

_INT32 = np.iinfo(np.int32).max
_FORM = "A line is 'label index:value index:value ...'"


class Svmlight(NamedTuple):
    """What a file holds: X (n, d) in CSR, y (n,), and the query of each row if asked for."""

    X: Any
    y: Array
    query_ids: Array | None
    first_index: int  # which the file gives to the first feature: 0 or 1


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    query_ids: bool = False,
) -> Svmlight:
    """Read a file in the svmlight format, plain or packed by gzip, bzip2 or zstd.

    The matrix is the one of scikit-learn's `load_svmlight_file`: zeros that are written are kept,
    infinity and NaN are read. Numbers are rounded as Python's float() does.

    Parameters
    ----------
    features : number of columns; by default as many as the largest index says. A file of some of
        the rows may lack the last features: give the number of the whole.
    zero_based : does the first feature have index 0? "auto" says no if index 0 does not occur.
    query_ids : return the number after `qid:` of every row, otherwise it is passed over

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.svm"
    >>> _ = path.write_text("+1 1:0.5 3:2  # a comment\\n-1 2:1e-3\\n")
    >>> X, y, _, first = read_svmlight(path)
    >>> X.toarray().tolist(), y.tolist(), first
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1.0, -1.0], 1)
    """
    if not (isinstance(zero_based, bool) or zero_based == "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto'. Got {zero_based!r} instead.")
    if features is not None and (not isinstance(features, numbers.Integral) or features < 1):
        raise ValueError(f"features must be a whole number >= 1. Got {features!r} instead.")
    path = Path(path)
    content = read_bytes(path)
    if content[:2].tobytes() in UTF16:
        raise ValueError(
            f"{path} is UTF-16 text, and svmlight files are read as ASCII. Save it as UTF-8."
        )
    text = _core.Svmlight(content)
    try:
        rows = _read(path, text, zero_based, query_ids)
    except MemoryError as error:
        raise MemoryError(
            f"{path} has {text.lines:,} lines and {text.colons:,} colons: there is no memory for "
            "as many rows and entries. Read it in parts."
        ) from error
    first_index = _first_index(rows, zero_based)
    if first_index != rows.base:
        np.add(rows.indices, rows.base - first_index, out=rows.indices)
    width = max(rows.largest, first_index) - first_index + 1
    if features is not None and features < width:
        _refuse_features(path, text, rows, features)
    shape = len(rows.labels), features or width
    X = sp.csr_array((rows.values, rows.indices, rows.starts), shape=shape)
    X.has_canonical_format = True  # the parser takes rising indices only
    return Svmlight(X, rows.labels, rows.qids, first_index)


class _Rows(NamedTuple):
    labels: Array
    starts: Array
    indices: Array  # less base
    values: Array
    qids: Array | None
    base: int
    smallest: int  # index as written
    largest: int  # -1 in a file without entries


def _read(path: Path, text: Any, zero_based: bool | str, query_ids: bool) -> _Rows:
    base = 0 if zero_based is True else 1  # "auto" bets on 1, since a later shift costs a pass
    wide = text.colons > _INT32
    while True:
        index_type = np.int64 if wide else np.int32
        labels = np.empty(text.lines)
        starts = np.empty(text.lines + 1, index_type)
        indices, values = np.empty(text.colons, index_type), np.empty(text.colons)
        qids = np.empty(text.lines, np.int64) if query_ids else None
        n, entries, smallest, largest, wide, problem, line, word = text.read(
            base, zero_based is not False, labels, starts, indices, values, qids
        )
        if not wide:
            break
    if problem:
        what = _sentence(problem, word)
        raise ValueError(Message("{path}, line {line}: {what}", path=path, line=line, what=what))
    if not n:
        raise ValueError(f"{path} has no rows. {_FORM}, one for each row.")
    sizes = ((labels, n), (starts, n + 1), (indices, entries), (values, entries), (qids, n))
    for array, size in sizes:
        if array is not None and len(array) > size:
            array.resize(size, refcheck=False)  # comments and blank lines got room, too
    return _Rows(labels, starts, indices, values, qids, base, smallest, largest)


def _first_index(rows: _Rows, zero_based: bool | str) -> int:
    if zero_based == "auto":
        return int(rows.largest >= 0 and rows.smallest > 0)
    return 0 if zero_based else 1


def _refuse_features(path: Path, text: Any, rows: _Rows, features: int) -> None:
    at = int(np.argmax(rows.indices >= features))
    line = text.line_of_row(int(np.searchsorted(rows.starts, at, side="right")) - 1)
    feature = int(rows.indices[at]) + 1
    raise ValueError(
        Message(
            "{path}, line {line}: feature {feature:,} of a file that was said to have {number:,}. "
            "Raise {features}, or leave it out.",
            path=path,
            line=line,
            feature=feature,
            number=features,
            features=Parameter("features"),
        )
    )


def _sentence(problem: int, word: bytes) -> str:
    """What is wrong with a word, by the parser's number for it."""
    text = word.decode("utf-8", "backslashreplace")
    index, colon, value = text.partition(":")
    match problem:
        case 1 if "," in text:
            return (
                f"one label is expected, got {text!r}. Rows with several labels cannot be learnt: "
                "write a file for each label."
            )
        case 1 if colon:
            return f"the label is missing before {text!r}. {_FORM}; where it is unknown, write 0."
        case 1:
            return f"expected a number as the label, got {text!r}. {_FORM}."
        case 2 if colon and index.isascii() and index.isdigit():
            return f"expected index:value, got {text!r}: {value!r} is not a number."
        case 2:
            return f"expected index:value, got {text!r}. {_FORM}."
        case 3:
            return f"the indices of a line must rise, and {text!r} comes too late or twice."
        case 4:
            return Message(
                "index 0 in {text!r}, but the first feature was said to be 1 ({one_based}).",
                text=text,
                one_based=Parameter("zero_based", False),
            )
        case 5:
            return f"the index in {text!r} is too large: indices have at most 18 digits."
        case 6:
            return f"expected qid:number, got {text!r}."
        case _:
            return f"the qid is missing before {text!r}, and query_ids were asked for."
