"""The option --report, and the HTML page that it writes."""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
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
_INFINITE = re.compile(r"(?<![\w'\"])(-?inf|nan)(?![\w'\"])")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")

IMPORTS = {
    "ModelOptions": "separatrix.workflow.model_families",
    "GradientOptions": "separatrix.workflow.gradient_descent",
    "prepare_source": "separatrix.workflow.preparing",
}

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


def made_by(
    work: str, arguments: list[str], seed: int, groups: list[Any], python: list[str]
) -> Any:
    """Return when a page was made, and the command and the Python code that repeat the work."""
    from separatrix.text import shell_command

    given = [word for group in groups for word in given_options(group)]
    seeded = [] if seed == 0 else ["--seed", str(seed)]
    return {
        "when": datetime.now().isoformat(timespec="seconds"),
        "command": shell_command(work, *arguments, *given, *seeded),
        "python": "\n".join(python) + "\n",
    }


def python_call(name: str, *arguments: str, **options: Any) -> str:
    """Return a call as Python code; options that are None are left out.

    >>> python_call("fit_source", "source", model="svm", C=None)
    "fit_source(source, model='svm')"
    """
    known = {key: value for key, value in options.items() if not _is_default(value)}
    given = [f"{key}={code_of_value(value)}" for key, value in known.items()]
    return f"{name}({', '.join([*arguments, *given])})"


def _is_default(value: Any) -> bool:
    """Return whether a value is None, or a dataclass with the default of every field."""
    if not is_dataclass(value):
        return value is None
    return all(getattr(value, f.name) == f.default for f in fields(value))


def code_of_value(value: Any) -> str:
    """Return a value as Python code; of a dataclass, only the fields that are not the default."""
    if not is_dataclass(value):
        return _INFINITE.sub(r'float("\1")', repr(value))
    own = {f.name: getattr(value, f.name) for f in fields(value)}
    changed = {f.name: own[f.name] for f in fields(value) if own[f.name] != f.default}
    return python_call(type(value).__name__, **changed)


def python_lines(
    source: str, reads: dict[str, Any], settings: dict[str, Any], imports: dict[str, str], call: str
) -> list[str]:
    """Return Python code that loads a source and makes a call. `imports` maps names to modules."""
    given = {key: value for key, value in reads.items() if value not in (None, 0)}
    load = python_call("load", repr("FILE" if source == "-" else source), **given)
    chosen = python_call("choose_settings", "source.table", **settings)
    known = {**imports, "choose_settings": "separatrix.workflow.preparing"}
    used = sorted((module, name) for name, module in known.items() if f"{name}(" in call + chosen)
    modules = {module: [name for at, name in used if at == module] for module, _ in used}
    return [
        "from separatrix import load",
        *(f"from {module} import {', '.join(names)}" for module, names in modules.items()),
        "",
        f"source = {load}",
        f"settings = {chosen}",
        call,
    ]


def worded(value: Any) -> Any:
    """Return plain values in which messages name the options of the command line."""
    from separatrix.cli.option_names import name_options

    if isinstance(value, dict):
        return {key: worded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [worded(one) for one in value]
    return str(name_options(value)) if isinstance(value, str) else value
