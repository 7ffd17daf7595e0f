"""Standard output and standard error: text for people, JSON for programs, errors, progress."""

import json as json_module
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST = 100


@dataclass
class Output:
    """The output of one command."""

    json: bool = False
    quiet: bool = False

    @cached_property
    def out(self) -> "Console":
        return _console(stderr=False)

    @cached_property
    def err(self) -> "Console":
        return _console(stderr=True)

    @property
    def for_people(self) -> bool:
        """Whether text for people is printed."""
        return not (self.json or self.quiet)

    @property
    def is_live(self) -> bool:
        """Whether text for people goes to a terminal, so that progress can be shown."""
        return self.for_people and self.err.is_terminal

    def say(self, *what: Any) -> None:
        """Print text and tables for people."""
        if self.for_people:
            _print(self.out, *what)

    def say_whole(self, text: str) -> None:
        """Print text without wrapping its lines, for paths and addresses."""
        if self.for_people:
            self.out.print(text, soft_wrap=True)

    def remark(self, *what: Any) -> None:
        """Print text for people to standard error, when standard output has other content."""
        if self.for_people:
            _print(self.err, *what)

    def print_json(self, facts: Any) -> None:
        """Print facts as JSON if --json was given; messages name the command line options."""
        if self.json:
            from separatrix.cli.reports import worded
            from separatrix.text import printable_json

            escaped = not _encoding().lower().startswith("utf")
            text = json_module.dumps(
                json_value(worded(facts)), ensure_ascii=escaped, allow_nan=False
            )
            print(printable_json(text))

    def data(self, text: str) -> None:
        """Write data, also with --quiet; characters are changed only for a terminal."""
        from separatrix.cli.terminal import lossless
        from separatrix.text import printable

        shown = printable(text) if sys.stdout.isatty() else text
        sys.stdout.write(lossless(shown, _encoding()))

    def error(self, sentence: str) -> None:
        """Print an error, also with --quiet."""
        from rich.text import Text

        text = Text.assemble(("Error: ", "bold red"), sentence)
        self.err.print(text, soft_wrap=not self.err.is_terminal)

    def warn(self, sentence: str) -> None:
        """Print a warning unless --quiet was given."""
        from rich.text import Text

        if not self.quiet:
            text = Text.assemble(("Warning: ", "bold yellow"), sentence)
            self.err.print(text, soft_wrap=not self.err.is_terminal)

    @contextmanager
    def spinner(self, sentence: str) -> Iterator[None]:
        """Show a spinner with a sentence while the block runs."""
        if not self.is_live:
            yield
            return
        from rich.text import Text

        with self.err.status(Text(sentence)):  # a str would be read as markup
            yield


def _print(console: "Console", *what: Any) -> None:
    """Print; without trailing blanks if the output is a file or a pipe."""
    if console.is_terminal:
        console.print(*what, sep="")
        return
    with console.capture() as captured:
        console.print(*what, sep="")
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    console.file.flush()


def _console(*, stderr: bool) -> "Console":
    from separatrix.cli.terminal import SafeConsole

    console = SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    console.width = min(console.width, _WIDEST)
    return console


def _encoding() -> str:
    return sys.stdout.encoding or "utf-8"


def json_value(value: Any) -> Any:
    """Convert a value for JSON; numbers that are not finite become null.

    >>> json_value({"C": float("inf"), "rows": (1, 2)})
    {'C': None, 'rows': [1, 2]}
    """
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if hasattr(value, "tolist"):
        return json_value(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
