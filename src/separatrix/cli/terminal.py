"""Safe printing: all text of a command passes through here on its way to the terminal.

Control characters in names and texts are escaped, so that the terminal does not interpret them.
Characters that the encoding of the output lacks are replaced by readable ones.
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

READABLE = "separatrix-readable"  # the name under which codecs finds `_replaced`
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
    """Replace characters that an encoding lacks by similar ones or by their codes."""
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
    """Return text that is safe to print and can be encoded.

    >>> readable("● a\\x1b[2J", "cp1252")
    '* a\\\\x1b[2J'
    """
    return printable(text).encode(encoding, READABLE).decode(encoding)


def lossless(text: str, encoding: str) -> str:
    """Escape characters that an encoding lacks, as Python does; replace none by similar ones.

    >>> lossless("● a", "ascii")
    '\\\\u25cf a'
    """
    return text.encode(encoding, "backslashreplace").decode(encoding)


class SafeConsole(Console):
    """A Rich console that escapes the control characters of all texts.

    Texts are escaped before the layout, so that columns stay aligned. Every piece of output is
    escaped again, since not all output is made from texts. Rich adds the codes for styles and the
    cursor later.
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
        """Return the text made readable, with the styles of its parts."""
        if readable(text.plain, self.encoding) == text.plain:
            return text
        out = text.blank_copy()
        for piece in text.divide(range(1, len(text.plain))):
            out.append_text(piece.blank_copy(readable(piece.plain, self.encoding)))
            for span in piece.spans:
                out.stylize(span.style, len(out) - len(readable(piece.plain, self.encoding)))
        return out


def prepare_streams() -> None:
    """Prevent encoding errors of the terminal from ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=READABLE)
    sys.excepthook = _print_traceback


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, trace))))
