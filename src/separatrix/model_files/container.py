"""Read and write the file format of models: a document and named arrays in a safetensors file.

The metadata in the header of the file has one entry, "separatrix", a JSON text

    {"format": 2, "versions": {"separatrix": ..., "numpy": ...}, "sha256": ..., "content": ...}

The checksum covers the content and the arrays, to detect damage. The contents of a file are never
executed, and reading never allocates more memory than the size of the file.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.files import replace_file
from separatrix.matrix import Array
from separatrix.packing import from_json, to_json
from separatrix.text import quoted

FORMAT = 2
KEY = "separatrix"
HEADER_LIMIT = 1 << 26  # bytes; safetensors itself reads up to 10^8
AXES = 8
REASON = 300  # maximum length of a reason in a message
# The types of arrays, by their names in safetensors.
TYPES = frozenset(
    ["BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F16", "F32", "F64"]
)

Content = dict[str, Any]
Upgrade = Callable[[Content, dict[str, Array]], tuple[Content, dict[str, Array]]]


def _to_format_2(content: Content, arrays: dict[str, Array]) -> tuple[Content, dict[str, Array]]:
    """Move losses to the other parameters. Files of format 1 have no pipelines."""
    model = content.get("model")
    if not isinstance(model, dict):
        return content, arrays
    parts = dict(model)
    given, losses = parts.get("parameters"), parts.pop("losses", None)
    if isinstance(given, dict) and isinstance(losses, dict):
        parts["parameters"] = given | {name: {"$loss": loss} for name, loss in losses.items()}
    return content | {"model": parts | {"defaults": [], "output": None}}, arrays


# UPGRADES[n] converts format n to format n + 1. They are needed to read files of older versions.
UPGRADES: Mapping[int, Upgrade] = {1: _to_format_2}


def write(path: str | os.PathLike[str], content: Content, arrays: Mapping[str, Array]) -> None:
    """Write a model file. After an error, an existing file is unchanged.

    >>> write("two.sx", {"name": "two"}, {"x": np.array([2.0])})
    >>> read("two.sx")
    ({'name': 'two'}, {'x': array([2.])})
    """
    import sklearn
    from safetensors.numpy import save

    from separatrix import __version__

    document = {
        "format": FORMAT,
        "versions": {
            "separatrix": __version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "sha256": _sum(content, arrays),
        "content": content,
    }
    try:
        data = save(dict(arrays), metadata={KEY: to_json(document)})
    except UnicodeEncodeError as error:
        raise ValueError(
            f"The model has text that is not valid Unicode: "
            f"{quoted(error.object[error.start :][:1])} is half of a surrogate pair. Rename the "
            "class or feature that contains it."
        ) from None
    header = int.from_bytes(data[:8], "little")
    if header > HEADER_LIMIT:
        raise ValueError(
            f"The model needs a header of {header} bytes, but at most {HEADER_LIMIT} are allowed. "
            "The header contains all text: use fewer words (min_df, max_features) or hashing."
        )
    replace_file(Path(path), data)


def read(path: str | os.PathLike[str]) -> tuple[Content, dict[str, Array]]:
    """Return the content and the arrays of a model file, converted to the newest format.

    A file that is damaged, is not a model file or has a newer format raises a ValueError.
    """
    from safetensors import SafetensorError, safe_open

    _require_plausible(path)
    try:
        with safe_open(path, framework="numpy") as file:
            document = _document(path, file.metadata())
            arrays = {name: _array(path, file, name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise damaged_file_error(path, f"{_first_lower(str(error))}.") from None
    content = document["content"]
    if document.get("sha256") != _sum(content, arrays):
        raise damaged_file_error(path, "its contents do not match their checksum.")
    return upgrade(content, arrays, document["format"], UPGRADES, FORMAT)


def upgrade(
    content: Content,
    arrays: dict[str, Array],
    found: int,
    upgrades: Mapping[int, Upgrade],
    newest: int,
) -> tuple[Content, dict[str, Array]]:
    """Convert content of an older format to the newest format, one step at a time."""
    for number in range(found, newest):
        content, arrays = upgrades[number](content, arrays)
    return content, arrays


def damaged_file_error(path: str | os.PathLike[str], reason: str) -> ValueError:
    """Return the error for an invalid file. The reason is cut off, as it may quote the content."""
    if len(reason) > REASON:
        reason = f"{reason[:REASON]} ..."
    return ValueError(
        f"{os.fspath(path)} is damaged or is not a Separatrix model file: {reason} Nothing was "
        "loaded. Use another copy of the file, or save the model again."
    )


def _require_plausible(path: str | os.PathLike[str]) -> None:
    """Raise unless this is a regular file that is as long as its first bytes declare."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would block
        raise damaged_file_error(path, "it is a folder, a pipe or a device.")
    with open(path, "rb") as file:
        start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8:
        raise damaged_file_error(path, f"it has only {len(start)} bytes.")
    if length > min(status.st_size - 8, HEADER_LIMIT):
        raise damaged_file_error(
            path,
            f"it declares a header of {length} bytes, but has only {status.st_size - 8} more "
            "bytes.",
        )


def _document(path: str | os.PathLike[str], metadata: Mapping[str, str] | None) -> dict[str, Any]:
    text = (metadata or {}).get(KEY)
    if text is None:
        raise damaged_file_error(
            path, f"it is a safetensors file without the entry '{KEY}' in its metadata."
        )
    try:
        document = from_json(text)
    except ValueError as error:
        raise damaged_file_error(path, f"its document is not valid JSON ({error}).") from None
    if not isinstance(document, dict):
        raise damaged_file_error(path, "its document is not a JSON object.")
    number = document.get("format")
    if type(number) is not int or number < 1:
        raise damaged_file_error(
            path, f"its format must be a whole number >= 1, but is {quoted(number)}."
        )
    if number > FORMAT:
        raise ValueError(
            f"{os.fspath(path)} is a model file of format {number}, written by separatrix "
            f"{_writer(document)}. This version reads formats up to {FORMAT}. Install a newer "
            "version."
        )
    if not isinstance(document.get("content"), dict):
        raise damaged_file_error(path, "its document has no content.")
    return document


def _writer(document: Mapping[str, Any]) -> str:
    versions = document.get("versions")
    return quoted(versions.get("separatrix") if isinstance(versions, dict) else None)


def _array(path: str | os.PathLike[str], file: Any, name: str) -> Array:
    part = file.get_slice(name)
    kind, shape = part.get_dtype(), part.get_shape()
    if kind not in TYPES or len(shape) > AXES or max(shape, default=0) > np.iinfo(np.intp).max // 8:
        raise damaged_file_error(
            path,
            f"the array {quoted(name)} has the type {kind} and the shape {quoted(shape)}, which "
            "are not supported.",
        )
    try:
        array: Array = np.require(file.get_tensor(name), requirements=["C", "A", "W"])
    except ValueError as error:  # an empty array with axes that are too long
        raise damaged_file_error(path, f"the array {quoted(name)} is invalid: {error}.") from None
    if kind == "BOOL" and (array.view(np.uint8) > 1).any():
        raise damaged_file_error(path, f"the boolean array {quoted(name)} has other values.")
    return array


def _sum(content: Content, arrays: Mapping[str, Array]) -> str:
    """Return the SHA-256 of the content and of the names, types, shapes and bytes of the arrays."""
    out = hashlib.sha256(to_json(content).encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        out.update(to_json([name, array.dtype.name, list(array.shape)]).encode("utf-8"))
        out.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
    return out.hexdigest()


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]
