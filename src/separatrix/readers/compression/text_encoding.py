"""Read and decode text files, plain or compressed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.compression.decompression import ENDINGS, read_bytes

UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path) -> tuple[str, list[str]]:
    """Return the text of a file, and notes on its encoding: UTF-8, UTF-16, or else latin-1.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cafe.txt"
    >>> _ = path.write_bytes("café".encode("latin-1"))
    >>> text, notes = read_text(path)
    >>> text, notes[0]
    ('café', 'cafe.txt is not valid UTF-8 (line 1) and was read as latin-1.')
    """
    content = read_bytes(path).tobytes()
    if content.startswith(UTF16):
        text, notes = _decode_utf16(path, content), [f"{path.name} was read as UTF-16."]
    else:
        text, notes = _decode(path, content)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(
            f"{path}, line {line}: found a NUL byte, so this is not a text file. "
            "Save it as UTF-8 text, or choose the reader for its format."
        )
    return text, notes


def read_utf8(path: Path) -> tuple[Array, list[str]]:
    """Return the text of a file as bytes of UTF-8, and notes on its encoding, as `read_text` does.

    The bytes of a file that is UTF-8 already are not copied.
    """
    content = read_bytes(path)
    start = content[:3].tobytes()
    if start.startswith(UTF16) or not is_utf8(content):
        text, notes = read_text(path)
        return np.frombuffer(text.encode(), np.uint8), notes
    if len(content) and not content.min():
        read_text(path)  # raises the error about the NUL byte
    return content[3:] if start == b"\xef\xbb\xbf" else content, []


def is_utf8(content: Array) -> bool:
    """Return whether bytes are valid UTF-8."""
    import pyarrow as pa

    ends = pa.py_buffer(np.array([0, len(content)], np.int64))
    text = pa.LargeStringArray.from_buffers(1, ends, pa.py_buffer(content))
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def stem_of(path: Path) -> str:
    """Return the name of a file without the extensions of its compression and its format.

    >>> stem_of(Path("data/adult.csv.gz")), stem_of(Path("v1.2.csv"))
    ('adult', 'v1.2')
    """
    name = path.name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return Path(name).stem


def _decode(path: Path, content: bytes) -> tuple[str, list[str]]:
    try:
        return content.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        note = f"{path.name} is not valid UTF-8 (line {line}) and was read as latin-1."
        return content.decode("latin-1"), [note]


def _decode_utf16(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-16")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} begins with the byte order mark of UTF-16 but is not valid UTF-16: "
            f"{error.reason}."
        ) from error
