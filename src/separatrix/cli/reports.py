"""The option --report, and the HTML page that it writes."""

import re
import shlex
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from separatrix.cli.command_decorator import UsageError
from separatrix.cli.studies.grid_options import given_options
from separatrix.cli.writing import check_link, try_to_write

_ENDINGS = (".html", ".htm")
_DEFAULT = "default"
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")

Report = Annotated[
    Path | None,
    typer.Option(
        metavar="[FILE.html]",
        help="Write an HTML report (default: reports/NAME-COMMAND.html).",
        rich_help_panel="Output",
    ),
]


class WithReport(TyperCommand):
    """A command whose option --report may have no value; a value must end in .html."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        out = []
        for k, arg in enumerate(args):
            following = args[k + 1] if k + 1 < len(args) else ""
            is_bare = arg == "--report" and not following.lower().endswith(_ENDINGS)
            out.append(f"--report={_DEFAULT}" if is_bare else arg)
        return super().parse_args(ctx, out)


def report_path(report: Path | None, source: str, work: str) -> Path | None:
    """Return the path of the report, by default reports/SOURCE-WORK.html; check it before any work.

    >>> report_path(Path("default"), "data/people.csv", "fit")
    PosixPath('reports/people-fit.html')
    """
    if report is None:
        return None
    if str(report) == _DEFAULT:
        stem = "data" if source == "-" else Path(source).stem or "data"
        name = _NOT_IN_NAMES.sub("-", stem).strip("-.")[:80] or "data"
        report = Path("reports") / f"{name}-{work}.html"
    elif report.suffix.lower() not in _ENDINGS:
        raise UsageError(f"--report must end in .html. Got {report.name!r} instead.")
    if report.is_dir():
        raise UsageError(f"--report must be a file, and {report} is a folder. Name a file in it.")
    check_link(report)
    return report


def write_page(
    path: Path | None, entry: str, title: str, make: Callable[[], dict[str, Any]]
) -> OSError | None:
    """Write a page if there is a path; return an error, to be raised after the report."""

    def write(place: Path) -> None:
        from separatrix.cli.output import json_value
        from separatrix.web.report import write_data

        write_data(place, f"{title} · Separatrix", json_value(make()), entry)

    return try_to_write(path, write)


def made_by(work: str, arguments: list[str], seed: int, groups: list[Any]) -> dict[str, str]:
    """Return when a page was made, and the command that repeats the work."""
    from separatrix.text import shell_command

    given = [word for group in groups for word in given_options(group)]
    seeded = [] if seed == 0 else ["--seed", str(seed)]
    return {
        "when": datetime.now().isoformat(timespec="seconds"),
        "command": shell_command(work, *arguments, *given, *seeded),
        "python": "",
    }


def python_of_model(
    command: str, out: Path | None, source: str, reads: dict[str, Any], part: str
) -> str:
    """Return Python code that uses the model of a command, and prints its accuracy on a part."""
    if source == "-":
        return ""
    file = "model.sx" if out is None else str(out)
    given = {key: value for key, value in reads.items() if value not in (None, 0)}
    lines = [
        f"# After: {command} --out {shlex.quote(file)}",
        "from separatrix import load, load_model",
        "",
        f"model = {python_call('load_model', repr(file))}",
        f"rows = {python_call('load', repr(source), **given)}.part({part!r})",
        "print((model.predict(rows) == rows.y).mean())",
    ]
    return "\n".join(lines) + "\n"


def python_call(name: str, *arguments: str, **options: Any) -> str:
    """Return a call as Python code; options that are None are left out.

    >>> python_call("load", "'rows.csv'", label="kind", drop=None)
    "load('rows.csv', label='kind')"
    """
    given = [f"{key}={value!r}" for key, value in options.items() if value is not None]
    return f"{name}({', '.join([*arguments, *given])})"


def worded(value: Any) -> Any:
    """Return plain values in which messages name the options of the command line."""
    from separatrix.cli.option_names import name_options

    if isinstance(value, dict):
        return {key: worded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [worded(one) for one in value]
    return str(name_options(value)) if isinstance(value, str) else value
