"""The text of a file: unpacked, decoded, and known to be text."""

from __future__ import annotations

from pathlib import Path

from separatrix.readers.compression.decompression import ENDINGS, read_bytes

UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path) -> tuple[str, list[str]]:
    """Read a file, plain or packed, in UTF-8 or else latin-1; say what was chosen.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cafe.txt"
    >>> _ = path.write_bytes("café".encode("latin-1"))
    >>> text, notes = read_text(path)
    >>> text, notes[0]
    ('café', 'cafe.txt is not UTF-8 (line 1): it was read as latin-1.')
    """
    content = read_bytes(path).tobytes()
    if content.startswith(UTF16):
        text, notes = _decode_utf16(path, content), [f"{path.name} was read as UTF-16."]
    else:
        text, notes = _decode(path, content)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ValueError(
            f"{path}, line {line}: a NUL byte, so this is not a text file. "
            "Save the table as UTF-8 text, or name a reader for what it is."
        )
    return text, notes


def stem_of(path: Path) -> str:
    """The name of a file without the endings of its packing and its format.

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
        note = f"{path.name} is not UTF-8 (line {line}): it was read as latin-1."
        return content.decode("latin-1"), [note]


def _decode_utf16(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-16")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} begins as UTF-16 and is not: {error.reason}.") from error
