"""A study for people: its table, its verdict, what was seen."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from separatrix.cli import tables
from separatrix.cli.output import Output
from separatrix.study.results.facts import Row, StudyFacts
from separatrix.study.results.table_formats import best_rows, cells
from separatrix.text import counted, describe_configuration, one_line, shell_command, short_name

MOST_ROWS, MOST_SEEN, MOST_FORMULAS = 40, 6, 3
_HANGING: dict[str, Any] = {"initial_indent": "· ", "subsequent_indent": "  "}
_MARKS = {"best": "●", "same": "○"}
_SPARED = (2, 2, 2, 4, 1)  # columns to leave out where there is no room, counted from the last
_MEASURES = ["t.loss", "t.right", "v.loss", "v.right", "best", "b.loss", "b.right", "end"]


def plain_facts(facts: StudyFacts) -> dict[str, Any]:
    """What programs are told of a study."""
    return {
        "name": facts.name,
        "created": facts.created,
        "finished": facts.finished,
        "estimator": facts.estimator,
        "parameters": facts.parameters,
        "grid": facts.grid,
        "seeds": facts.seeds,
        "data": vars(facts.data),
        "objective": facts.objective_words,
        "notes": facts.notes,
        "command": facts.command,
        "python": facts.python,
        "versions": facts.versions,
        "verdict": vars(facts.verdict)
        | {"comparisons": list(map(vars, facts.verdict.comparisons))},
        "rows": facts.table(),
        "seconds": facts.seconds,
    }


def page_of(name: str) -> Path:
    """Where the report of a study goes unless something else is said."""
    return Path("reports") / f"{name}.html"


def write_page(facts: StudyFacts, path: Path) -> None:
    """Write the report of a study."""
    from separatrix.web import write_report

    write_report(facts, path)


def report_study(output: Output, facts: StudyFacts, page: Path | None) -> None:
    """Print a study: table, verdict, the observations that matter most, where its page is."""
    output.print_json(plain_facts(facts) | {"report": None if page is None else str(page)})
    if not output.for_people:
        return
    output.say(study_heading(facts))
    told = [*facts.data.notes, *facts.notes]
    output.say(tables.notes(told) if told else "")
    output.say(tables.named(about(facts, MOST_FORMULAS)))
    output.say(study_table(facts, output.out.width))
    output.say(study_verdict_text(facts))
    best_first = sorted(facts.rows, key=lambda row: row.mark != "best")
    shown = [row for row in best_first if row.observations][:MOST_SEEN]
    report_seen(output, facts, shown)
    if len(shown) < len(facts.rows):
        again = shell_command("studies", "show", facts.name)
        output.say(Text(f"What was seen of all: {again}", "dim"))
    if page is not None:
        output.say(f"Report: {page}")


def study_heading(facts: StudyFacts) -> RenderableType:
    """The name and the size of a study."""
    runs = len(facts.rows) * len(facts.seeds)
    work = f"{counted(runs, 'run')} · {tables.seconds(facts.seconds)}"
    state = "" if facts.finished else " · not finished"
    return Text.assemble((one_line(facts.name), "bold"), f" · {work}{state}")


def about(facts: StudyFacts, most: int | None = None) -> list[tuple[str, RenderableType]]:
    """The data and the objectives, so many of them at most."""
    mark = f"fingerprint {facts.data.fingerprint[:12]}"
    words = facts.objective_words[:most]
    left = len(facts.objective_words) - len(words)
    more = [f"and {left:,} more, of other penalties or losses"] if left else []
    return [
        ("Data", f"{facts.data.in_words()}, {mark}"),
        ("Objective", "\n".join([*words, *more])),
    ]


def study_table(facts: StudyFacts, width: int) -> RenderableType:
    """One row a configuration, of very many the best ones; as many columns as there is room for.

    Measures with a t are of the training rows, those with a v of the validation rows, and those
    with a b of the validation rows at the best epoch.
    """
    rows = best_rows(facts.rows, MOST_ROWS)
    head = [*map(short_name, facts.varied), *_MEASURES]
    shown = [[*cells(facts, row)[:-1], _end(row)] for row in rows]
    columns = [list(column) for column in zip(head, *shown)]
    columns[0] = [
        f"  {columns[0][0]}",
        *(f"{_mark(row)} {c}" for row, c in zip(rows, columns[0][1:])),
    ]
    spared = []
    for at in _SPARED:
        if sum(max(map(len, column)) + 1 for column in columns) > width + 1:
            spared.append(columns.pop(len(columns) - at)[0])
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False)
    for k, column in enumerate(columns):
        table.add_column(column[0], justify="right" if k else "left", no_wrap=True)
    for row, line in zip(rows, zip(*(column[1:] for column in columns))):
        style = "red" if row.diverged else "bold green" if row.mark == "best" else ""
        table.add_row(*(Text(cell, style) for cell in line))
    left = len(facts.rows) - len(rows)
    missing = ([f"{left:,} more rows"] if left else []) + spared
    if missing:
        export = shell_command("studies", "export", facts.name, "--out", "table.csv")
        table.caption = f"Not shown: {', '.join(missing)}. See {export}"
        table.caption_justify = "left"
    return tables.spaced(table)


def _end(row: Row) -> str:
    """Why a run ended and when; of several seeds why alone."""
    if "seeds)" not in row.stopped:
        return row.stopped.replace(" at epoch", "")
    return ", ".join(part.split(" at ")[0].split(" (")[0] for part in row.stopped.split(", "))


def _mark(row: Row) -> str:
    return "x" if row.diverged else _MARKS.get(row.mark, " ")


def study_verdict_text(facts: StudyFacts) -> RenderableType:
    """The sentences of the verdict, the first in bold."""
    first, *rest = facts.verdict.sentences
    grid = Table.grid()
    grid.add_row(Text(first, "bold green" if facts.verdict.best is not None else "bold red"))
    for sentence in rest:
        grid.add_row(Text(sentence))
    return tables.spaced(grid)


def report_seen(output: Output, facts: StudyFacts, rows: Sequence[Row]) -> None:
    """Print the observations of some configurations."""
    text = Text()
    for row in rows:
        text.append(
            f"{describe_configuration(row.parameters) or 'the only configuration'}\n", "bold"
        )
        for sentence in row.observations:
            text.append(f"{fill(sentence, output.out.width, **_HANGING)}\n")
    text.rstrip()
    output.say(text)
