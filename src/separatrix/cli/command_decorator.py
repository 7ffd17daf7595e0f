"""What all verbs share: options in groups, output for people or programs, errors as sentences."""

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from separatrix.cli.output import Screen

WRONG, USAGE, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130
_OUTPUT = "Output"


@dataclass
class Common:
    """Options of every verb."""

    json: Annotated[
        bool, typer.Option("--json", help="Print the facts as JSON.", rich_help_panel=_OUTPUT)
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print errors only.", rich_help_panel=_OUTPUT)
    ] = False
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=(1 << 32) - 1,
            metavar="N",
            help="Of splits and of solvers that draw rows.",
            rich_help_panel=_OUTPUT,
        ),
    ] = 0
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="As many as there are cores.", rich_help_panel=_OUTPUT
        ),
    ] = None
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show where an error came from.", rich_help_panel=_OUTPUT),
    ] = False


class UsageError(Exception):
    """The command line says something that cannot be meant."""


def verb(function: Callable[..., int | None]) -> Callable[..., None]:
    """Make a command of a function (screen, common, ...).

    A parameter whose type is a dataclass stands for all its fields, each an option. What the
    function returns is the exit code.
    """
    groups: dict[str, Any] = {
        name: hint
        for name, hint in get_type_hints(function).items()
        if is_dataclass(hint) and hint is not Screen
    }

    @functools.wraps(function)
    def command(**given: Any) -> None:
        found: dict[str, Any] = {
            name: group(**{f.name: given.pop(f.name) for f in fields(group)})
            for name, group in groups.items()
        }
        common = found["common"]
        screen = Screen(json=common.json, quiet=common.quiet)
        code = _guarded(screen, common, lambda: function(screen=screen, **found, **given))
        if code:
            raise typer.Exit(code)

    del command.__wrapped__  # typer is to see the flat signature
    command.__doc__ = _unwrapped(inspect.getdoc(function) or "")
    parameters = _flat(function, groups)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def register(app: typer.Typer, command: Callable[..., None]) -> None:
    """Add a verb to an application."""
    app.command(cls=getattr(command, "parsed_as", None))(command)


def _unwrapped(text: str) -> str:
    """Help whose paragraphs are lines of their own; examples, in bold, keep their lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(p if p.startswith("[b]") else " ".join(p.split()) for p in paragraphs)


def _flat(function: Callable[..., Any], groups: dict[str, Any]) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    hints = get_type_hints(function, include_extras=True)
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "screen":
            continue
        if name not in groups:
            parameters.append(parameter.replace(kind=keyword, annotation=hints[name]))
            continue
        extras = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(f.name, keyword, default=f.default, annotation=extras[f.name])
            for f in fields(groups[name])
        ]
    return parameters


def _guarded(screen: Screen, common: Common, work: Callable[[], int | None]) -> int:
    """Do the work; whatever goes wrong becomes a sentence and an exit code."""
    try:
        if common.threads is not None:
            from separatrix import set_threads

            set_threads(common.threads)
        with _warnings_as_sentences(screen):
            code = work() or 0
        sys.stdout.flush()  # here, where a pipe that is closed is no surprise
        return code
    except KeyboardInterrupt:
        screen.error("Interrupted: nothing was written.")
        return INTERRUPTED
    except BrokenPipeError:  # who reads it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except typer.Exit:
        raise
    except Exception as error:
        if common.debug:
            raise
        screen.error(_sentence(error))
        return USAGE if _is_usage(error) else WRONG


@contextmanager
def _warnings_as_sentences(screen: Screen) -> Iterator[None]:
    """Tell a warning without the line of code that it came from, and the same one once."""
    told: set[str] = set()

    def tell(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split()).rstrip(".")
        if issubclass(category, RuntimeWarning):  # of numpy, which knows no words for it
            text = (
                f"Numbers left the range of what can be computed ({text}). Look for extreme values"
            )
        if text not in told:
            told.add(text)
            screen.warn(f"{text}.")

    with warnings.catch_warnings():
        warnings.showwarning = tell
        yield


def _is_usage(error: Exception) -> bool:
    from separatrix.errors import ParameterError

    return isinstance(error, UsageError | ParameterError)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, MemoryError):
        why = " ".join(str(error).split())
        return f"There is not enough memory{f': {why}' if why else '. Use fewer rows or features.'}"
    said = error.strerror if isinstance(error, OSError) and error.strerror else error
    text = " ".join(str(said).split())
    if isinstance(error, UsageError):
        return text
    if isinstance(error, ValueError | OSError | ImportError):
        from separatrix.cli.option_names import in_options

        return in_options(text)
    return (
        f"Something went wrong that should not: {type(error).__name__}: {text} "
        "Run it with --debug to see where."
    )
