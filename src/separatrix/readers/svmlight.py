"""Read files in the svmlight format, which LIBSVM and LIBLINEAR also use.

Every line is a row `label [qid:number] index:value index:value ...  # comment` with increasing
indices.
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
_FORM = "A line has the form 'label index:value index:value ...'"


class Svmlight(NamedTuple):
    """The contents of a file: X (n, d) as CSR, y (n,), and the query ids if requested."""

    X: Any
    y: Array
    query_ids: Array | None
    first_index: int  # index of the first feature in the file: 0 or 1


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    query_ids: bool = False,
) -> Svmlight:
    """Read a file in the svmlight format, plain or compressed with gzip, bzip2 or zstd.

    The matrix equals that of scikit-learn's `load_svmlight_file`: explicit zeros are kept, and
    infinity and NaN are read. Numbers are rounded like Python's float().

    Parameters
    ----------
    features : number of features; by default the largest index in the file determines it. Give it
        if the last features may not occur in the file.
    zero_based : whether the first feature has index 0. "auto" is False if index 0 does not occur.
    query_ids : whether to return the number after `qid:` of every row; otherwise it is ignored

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
            f"{path} is UTF-16 text, but svmlight files are read as ASCII. Save it as UTF-8."
        )
    rows = parse_svmlight(path, content, zero_based, query_ids)
    first_index = _first_index(rows, zero_based)
    if first_index != rows.base:
        np.add(rows.indices, rows.base - first_index, out=rows.indices)
    width = max(rows.largest, first_index) - first_index + 1
    if features is not None and features < width:
        _refuse_features(path, _core.Svmlight(content), rows, features)
    shape = len(rows.labels), features or width
    X = sp.csr_array((rows.values, rows.indices, rows.starts), shape=shape)
    X.has_canonical_format = True  # the parser accepts only increasing indices
    return Svmlight(X, rows.labels, rows.qids, first_index)


def parse_svmlight(
    path: Path,
    content: Array,
    zero_based: bool | str,
    query_ids: bool = False,
    lines_before: int = 0,
) -> SvmlightRows:
    """Parse bytes of the format, which may be a part of a file after some lines."""
    text = _core.Svmlight(content)
    try:
        return _read(path, text, zero_based, query_ids, lines_before)
    except MemoryError as error:
        raise MemoryError(
            f"{path} has {text.lines:,} lines and {text.colons:,} entries, which do not fit into "
            "memory. Read it in parts, with separatrix.convert."
        ) from error


class SvmlightRows(NamedTuple):
    """The rows of a file as the parser returns them."""

    labels: Array
    starts: Array
    indices: Array  # minus base
    values: Array
    qids: Array | None
    base: int
    smallest: int  # smallest index, as written in the file
    largest: int  # largest index; -1 in a file without entries


def _read(
    path: Path, text: Any, zero_based: bool | str, query_ids: bool, lines_before: int
) -> SvmlightRows:
    base = 0 if zero_based is True else 1  # "auto" tries 1 first: shifting later costs a pass
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
        raise ValueError(
            Message("{path}, line {line}: {what}", path=path, line=lines_before + line, what=what)
        )
    if not n:
        raise ValueError(f"{path} has no rows. {_FORM}.")
    sizes = ((labels, n), (starts, n + 1), (indices, entries), (values, entries), (qids, n))
    for array, size in sizes:
        if array is not None and len(array) > size:
            array.resize(size, refcheck=False)  # remove the space for comments and blank lines
    return SvmlightRows(labels, starts, indices, values, qids, base, smallest, largest)


def _first_index(rows: SvmlightRows, zero_based: bool | str) -> int:
    if zero_based == "auto":
        return int(rows.largest >= 0 and rows.smallest > 0)
    return 0 if zero_based else 1


def _refuse_features(path: Path, text: Any, rows: SvmlightRows, features: int) -> None:
    at = int(np.argmax(rows.indices >= features))
    line = text.line_of_row(int(np.searchsorted(rows.starts, at, side="right")) - 1)
    feature = int(rows.indices[at]) + 1
    raise ValueError(
        Message(
            "{path}, line {line}: found feature {feature:,}, but {given} was given. Raise "
            "{features}, or leave it out.",
            path=path,
            line=line,
            feature=feature,
            given=Parameter("features", features),
            features=Parameter("features"),
        )
    )


def _sentence(problem: int, word: bytes) -> str:
    """Return the message for an error number of the parser."""
    text = word.decode("utf-8", "backslashreplace")
    index, colon, value = text.partition(":")
    match problem:
        case 1 if "," in text:
            return (
                f"expected one label, got {text!r}. Several labels per row are not supported: "
                "write one file for each label."
            )
        case 1 if colon:
            return f"the label before {text!r} is missing. {_FORM}. Write 0 for an unknown label."
        case 1:
            return f"expected a number as the label, got {text!r}. {_FORM}."
        case 2 if colon and index.isascii() and index.isdigit():
            return f"expected index:value, got {text!r}: {value!r} is not a number."
        case 2:
            return f"expected index:value, got {text!r}. {_FORM}."
        case 3:
            return f"the indices of a line must increase, but {text!r} is out of order or repeated."
        case 4:
            return Message(
                "found index 0 in {text!r}, but the indices begin at 1 ({one_based}).",
                text=text,
                one_based=Parameter("zero_based", False),
            )
        case 5:
            return f"the index in {text!r} is too large: an index has at most 18 digits."
        case 6:
            return f"expected qid:number, got {text!r}."
        case _:
            return f"the qid before {text!r} is missing, but query_ids=True needs one in every row."
