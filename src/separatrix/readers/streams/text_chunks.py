"""Cut a text file into chunks of whole rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from separatrix.matrix import Array
from separatrix.readers.compression.decompression import read_start
from separatrix.readers.compression.text_encoding import UTF16, is_utf8
from separatrix.readers.streams.stream import CHUNK_BYTES

_LF, QUOTE = b'\n"'
_CHUNKS_OF_ROW, _LONGEST_ROW = 8, 1 << 24  # a longer row is a mistake: the larger one, in bytes
_MARK = b"\xef\xbb\xbf"  # at the start of some UTF-8 files


class TextChunk(NamedTuple):
    """Bytes of whole rows, where they begin in the file, and the number of their first line."""

    content: Array
    offset: int
    line: int


@dataclass
class TextChunks:
    """The chunks of a file.

    With `quotes`, a line end between quotation marks does not end a row. `rows` has, for every
    chunk whose number of rows is known, its first row, its offset and its first line.
    """

    path: Path
    quotes: bool
    size: int = CHUNK_BYTES
    rows: list[tuple[int, int, int]] = field(default_factory=list)

    def note_rows(self, first: int, chunk: TextChunk) -> None:
        """Remember the number of the first row of a chunk."""
        if not self.rows or first > self.rows[-1][0]:
            self.rows.append((first, chunk.offset, chunk.line))

    def read(self, first_row: int = 0) -> Iterator[tuple[int, TextChunk]]:
        """Yield chunks, from the one with a row on, and the number of the first row, if known."""
        known = [entry for entry in self.rows if entry[0] <= first_row]
        start, offset, line = known[-1] if known else (0, self._begin(), 1)
        with open(self.path, "rb") as file:
            file.seek(offset)
            left = b""
            wanted = self.size
            while True:
                piece = file.read(wanted)
                content = np.frombuffer(left + piece, np.uint8)
                end = len(content) if len(piece) < wanted else self._end_of_row(content)
                left = content[end:].tobytes()
                if len(left) > max(_CHUNKS_OF_ROW * self.size, _LONGEST_ROW):
                    raise ValueError(
                        f"{self.path}: no row ends in {len(left):,} bytes after line "
                        f"{line - 1:,}. Is a closing quotation mark missing?"
                    )
                if end:
                    chunk = TextChunk(content[:end], offset, line)
                    self._require_utf8(chunk)
                    yield start, chunk
                    offset += end
                    line += int(np.count_nonzero(chunk.content == _LF))
                if len(piece) < wanted:
                    return

    def _begin(self) -> int:
        return len(_MARK) if read_start(self.path, 3) == _MARK else 0

    def _end_of_row(self, content: Array) -> int:
        """Return where the last whole row ends; 0 if there is none."""
        ends = np.flatnonzero(content == _LF)
        if self.quotes:
            marks = np.flatnonzero(content == QUOTE)
            ends = ends[np.searchsorted(marks, ends) % 2 == 0]
        return int(ends[-1]) + 1 if len(ends) else 0

    def _require_utf8(self, chunk: TextChunk) -> None:
        if not is_utf8(chunk.content) or not chunk.content.min():
            raise ValueError(
                f"{self.path} is not UTF-8 text after line {chunk.line:,}. Files that are read in "
                "parts must be UTF-8: save it so, for example with 'iconv -f latin1 -t utf-8'."
            )


def can_be_cut(path: Path) -> bool:
    """Return whether a file is plain text with line feeds, neither compressed nor UTF-16."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        raw = file.read(1 << 16)
    plain = read_start(path, len(raw)) == raw and not raw.startswith(UTF16)
    return plain and (b"\n" in raw or b"\r" not in raw)
