"""The decorator that turns a function into a command, with options, output and exit codes."""

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from separatrix.cli.output import Output
from separatrix.cli.reading import remove_spooled, without_spooled_paths

FAILED, USAGE, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130
_OUTPUT = "Output"

at_end = ExitStack()  # what is closed at the end of the command


@dataclass
class CommonOptions:
    """Options that all commands have."""

    json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON.", rich_help_panel=_OUTPUT)
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
            help="Random seed for splits and stochastic solvers.",
            rich_help_panel=_OUTPUT,
        ),
    ] = 0
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of threads (default: all cores).",
            rich_help_panel=_OUTPUT,
        ),
    ] = None
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=_OUTPUT),
    ] = False


class UsageError(Exception):
    """The command line has an option or value that is not allowed."""


def command(function: Callable[..., int | None]) -> Callable[..., None]:
    """Turn a function (output, common, ...) into a command.

    A parameter whose type is a dataclass is replaced by one option per field. The function returns
    the exit code; None means 0.
    """
    groups: dict[str, Any] = {
        name: hint
        for name, hint in get_type_hints(function).items()
        if is_dataclass(hint) and hint is not Output
    }

    @functools.wraps(function)
    def run(**given: Any) -> None:
        found: dict[str, Any] = {
            name: group(**{f.name: given.pop(f.name) for f in fields(group)})
            for name, group in groups.items()
        }
        common = found["common"]
        output = Output(json=common.json, quiet=common.quiet)
        code = _run_guarded(output, common, lambda: function(output=output, **found, **given))
        if code:
            raise typer.Exit(code)

    del run.__wrapped__  # so that typer reads the flat signature
    run.__doc__ = _join_lines(inspect.getdoc(function) or "")
    parameters = _flat_parameters(function, groups)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def add_command(app: typer.Typer, command: Callable[..., None], panel: str | None = None) -> None:
    """Add a command to an application, in a panel of its help."""
    app.command(cls=getattr(command, "parsed_as", None), rich_help_panel=panel)(command)


def _join_lines(text: str) -> str:
    """Join the lines of every paragraph; examples, which are in bold, keep their lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(p if p.startswith("[b]") else " ".join(p.split()) for p in paragraphs)


def _flat_parameters(
    function: Callable[..., Any], groups: dict[str, Any]
) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    hints = get_type_hints(function, include_extras=True)
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "output":
            continue
        if name not in groups:
            parameters.append(parameter.replace(kind=keyword, annotation=hints[name]))
            continue
        extras = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(f.name, keyword, default=_default(f), annotation=extras[f.name])
            for f in fields(groups[name])
        ]
    return parameters


def _default(option: Field[Any]) -> Any:
    """Return the default of an option; an option without one must be given."""
    return inspect.Parameter.empty if option.default is MISSING else option.default


def _run_guarded(output: Output, common: CommonOptions, work: Callable[[], int | None]) -> int:
    """Run a command; print an error as a sentence and return its exit code."""
    try:
        if common.threads is not None:
            from separatrix import set_threads

            set_threads(common.threads)
        with _warnings_as_sentences(output):
            code = work() or 0
        sys.stdout.flush()  # here, so that a closed pipe is handled below
        return code
    except KeyboardInterrupt:
        output.error("Interrupted: nothing was written.")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the pipe, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except typer.Exit:
        raise
    except Exception as error:
        if common.debug:
            raise
        output.error(without_spooled_paths(_error_text(error)))
        return USAGE if _is_usage(error) else FAILED
    finally:
        at_end.close()
        remove_spooled()


@contextmanager
def _warnings_as_sentences(output: Output) -> Iterator[None]:
    """Print every warning once, without the line of code that raised it."""
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split()).rstrip(".")
        if issubclass(category, RuntimeWarning):  # numpy's texts need an explanation
            text = f"A computation overflowed or is undefined ({text}). Look for extreme values"
        if text not in printed:
            printed.add(text)
            output.warn(f"{without_spooled_paths(text)}.")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _is_usage(error: Exception) -> bool:
    from separatrix.data.block_rows import NotInMemoryError
    from separatrix.errors import ParameterError

    return isinstance(error, UsageError | ParameterError | NotInMemoryError)


def _error_text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, MemoryError):
        why = " ".join(str(error).split())
        return f"Not enough memory{f': {why}' if why else '. Use fewer rows or features.'}"
    if isinstance(error, UsageError):
        return " ".join(str(error).split())
    from separatrix.cli.option_names import name_options
    from separatrix.data.block_rows import NotInMemoryError
    from separatrix.errors import ClusterError, message_of

    if isinstance(error, NotInMemoryError):
        return (
            "This needs all rows in memory, and those of a folder of blocks stay on disk. Give the "
            "source that was converted, or a file with some of its rows."
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else message_of(error)
    text = " ".join(name_options(reason).split())
    if isinstance(error, ValueError | OSError | ImportError | ClusterError):
        return text
    return (
        f"Internal error: please report it. {type(error).__name__}: {text} "
        "Add --debug to see the traceback."
    )
