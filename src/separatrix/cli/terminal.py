"""The last step before a terminal: all text that a command prints goes through here.

Control characters in names and texts are written out, so that a terminal does not obey them, and
characters that the encoding of the output lacks get a readable replacement.
"""

import codecs
import sys
import traceback
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from separatrix.text import printable

READABLE = "separatrix-readable"  # by this name Python's encoders know `_replaced`
_ASCII = {
    "●": "*",
    "○": "o",
    "×": "x",
    "·": "-",
    "•": "*",
    "…": ".",
    "–": "-",
    "—": "-",
    "−": "-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "→": "->",
    "←": "<-",
    "²": "^2",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "━": "-",
    "─": "-",
    "│": "|",
    "█": "#",
    "\xa0": " ",
}


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """What is written for characters that an encoding lacks: a likeness, or the code of each."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    out = []
    for character in error.object[error.start : error.end]:
        if "\u2500" <= character <= "\u257f":  # lines and corners of boxes
            out.append(_ASCII.get(character, "+"))
        elif "\u2800" <= character <= "\u28ff":  # the spinner
            out.append("*")
        else:
            out.append(_ASCII.get(character) or ascii(character)[1:-1])
    return "".join(out), error.end


codecs.register_error(READABLE, _replaced)


def readable(text: str, encoding: str = "utf-8") -> str:
    """Text that is safe to print and that an encoding has.

    >>> readable("● a\\x1b[2J", "cp1252")
    '* a\\\\x1b[2J'
    """
    return printable(text).encode(encoding, READABLE).decode(encoding)


def lossless(text: str, encoding: str) -> str:
    """Data that an encoding has: other characters as Python writes them, none by a likeness.

    >>> lossless("● a", "ascii")
    '\\\\u25cf a'
    """
    return text.encode(encoding, "backslashreplace").decode(encoding)


class SafeConsole(Console):
    """A Rich console through which no control character of a text reaches the terminal.

    Texts are made readable before they are laid out, so that columns stay straight, and every piece
    of output once more, whatever made it. The codes of styles and cursors are added by Rich later.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(readable(text, self.encoding), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        if isinstance(renderable, Text):
            renderable = self._readable_text(renderable)
        for piece in super().render(renderable, options):
            text = piece.text if piece.control else readable(piece.text, self.encoding)
            yield piece if text == piece.text else Segment(text, piece.style)

    def _readable_text(self, text: Text) -> Text:
        """The same text, with the style of each part, made readable."""
        if readable(text.plain, self.encoding) == text.plain:
            return text
        out = text.blank_copy()
        for piece in text.divide(range(1, len(text.plain))):
            out.append_text(piece.blank_copy(readable(piece.plain, self.encoding)))
            for span in piece.spans:
                out.stylize(span.style, len(out) - len(readable(piece.plain, self.encoding)))
        return out


def prepare_streams() -> None:
    """Let no character that the encoding of the terminal lacks end the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=READABLE)
    sys.excepthook = _print_traceback


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, trace))))
