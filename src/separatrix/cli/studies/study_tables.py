"""The table, the verdict and the observations of a study as text."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from separatrix.cli import tables
from separatrix.cli.output import Output
from separatrix.study.results.facts import Row, StudyFacts, configuration_words
from separatrix.study.results.table_formats import best_rows, cells
from separatrix.text import counted, one_line, shell_command

MOST_ROWS, SHORT_ROWS, MOST_FORMULAS = 40, 12, 3
_FAILURES = ("Diverged", "Oscillates", "Overfitting", "The objective ended")
_HANGING: dict[str, Any] = {"initial_indent": "· ", "subsequent_indent": "  "}
_MARKS = {"best": "●", "same": "○"}
# Columns to omit if the terminal is narrow, in this order.
_SPARED = ("best\nacc %", "best\nloss", "best\nepoch", "train\nacc %", "stop\nreason")
# The same if the weights of the best epoch were kept, whose measures decide.
_SPARED_KEPT = ("train\nacc %", "stop\nreason", "train\nloss", "valid.\nacc %", "valid.\nloss")
_MEASURES = [
    "train\nloss",
    "train\nacc %",
    "valid.\nloss",
    "valid.\nacc %",
    "best\nepoch",
    "best\nloss",
    "best\nacc %",
    "\nconv.",
    "stop\nreason",
]
_ABBREVIATIONS = {
    "acc %": "accuracy",
    "valid.": "validation",
    "best": "epoch of the lowest validation loss",
    "conv.": "converged or settled",
    "log-": "log-loss on the validation rows",
}
_STOP_REASONS = {
    "epochs": "all epochs were made",
    "tol": "the tolerance tol was reached",
    "patience": "the validation measure stopped improving",
    "time_limit": "the time was up",
}


def plain_facts(facts: StudyFacts) -> dict[str, Any]:
    """Return the facts of a study as plain values, for JSON."""
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
    """Return the default path of the report of a study."""
    return Path("reports") / f"{name}.html"


def write_page(facts: StudyFacts, path: Path) -> None:
    """Write the report of a study."""
    from separatrix.web import write_report

    write_report(facts, path)


def report_study(output: Output, facts: StudyFacts, page: Path | None) -> None:
    """Print a study in about a screen: the best rows, an example of each failure, the verdict."""
    output.print_json(plain_facts(facts) | {"report": None if page is None else str(page)})
    if not output.for_people:
        return
    output.say(study_heading(facts))
    notes = [*facts.data.notes, *facts.notes]
    output.say(tables.notes(notes) if notes else "")
    output.say(tables.named(about(facts, MOST_FORMULAS)))
    output.say(study_table(facts, output.out.width, SHORT_ROWS))
    shown = _examples(facts.rows)
    report_seen(output, facts, shown)
    if len(shown) < len(facts.rows):
        again = shell_command("studies", "show", facts.name)
        output.say(Text(f"Observations about all configurations: {again}", "dim"))
    output.say("")
    output.say(study_verdict_text(facts))
    if page is not None:
        output.say(f"Wrote {page}.")


def study_heading(facts: StudyFacts) -> RenderableType:
    """Return the name and the size of a study."""
    runs = len(facts.rows) * len(facts.seeds)
    work = f"{counted(runs, 'run')} · {tables.seconds(facts.seconds)}"
    state = "" if facts.finished else " · not finished"
    return Text.assemble((one_line(facts.name), "bold"), f" · {work}{state}")


def about(facts: StudyFacts, most: int | None = None) -> list[tuple[str, RenderableType]]:
    """Return the data and at most `most` of the objectives."""
    mark = f"fingerprint {facts.data.fingerprint[:12]}"
    words = facts.objective_words[:most]
    left = len(facts.objective_words) - len(words)
    more = [f"and {left:,} more with other penalties or losses"] if left else []
    return [
        ("Data", f"{facts.data.in_words()}, {mark}"),
        ("Objective", "\n".join([*words, *more])),
    ]


def _examples(rows: Sequence[Row]) -> list[Row]:
    """Return the best row, then one row for each kind of failure with that observation alone."""
    best = [row for row in rows if row.mark == "best"]
    found = [*best] or [row for row in rows if row.observations][:1]
    for kind in _FAILURES:
        for row in rows:
            seen = [words for words in row.observations if _observed(words, kind)]
            if seen and row not in found[:1]:
                if found and found[-1].number == row.number:
                    seen = [*found.pop().observations, *seen]
                found.append(replace(row, observations=seen))
                break
    return [row for row in found if row.observations]


def _observed(sentence: str, kind: str) -> bool:
    """Whether an observation, of one seed or of several, is of this kind."""
    return re.sub(r"^In [^:]*: ", "", sentence).startswith(kind)


def study_table(facts: StudyFacts, width: int, most: int = MOST_ROWS) -> RenderableType:
    """Return the table, one row per configuration, with the columns that fit into the width.

    If there are more than `most` configurations, only the best ones are shown. A legend explains
    the abbreviations and marks.
    """
    rows = best_rows(facts, most)
    log_loss = ["log-\nloss"] if facts.has_log_losses else []
    head = [*map(_two_lines, facts.varied), *_MEASURES[:4], *log_loss, *_MEASURES[4:]]
    shown = [[*cells(facts, row)[:-1], _stop_reason(row)] for row in rows]
    columns = [list(column) for column in zip(head, *shown)]
    # Without validation rows, their columns are empty.
    columns = [column for column in columns if any(column[1:])] or columns[:1]
    columns[0] = [
        columns[0][0].replace("\n", "\n  "),
        *(f"{_mark(row)} {c}" for row, c in zip(rows, columns[0][1:])),
    ]
    omitted = []
    spared: tuple[str, ...] = _SPARED_KEPT if any(map(_kept_earlier, facts.rows)) else _SPARED
    if len(set(columns[-1][1:])) == 1:
        spared = ("stop\nreason", *spared)  # the same everywhere
    for name in spared:
        too_wide = sum(_width(column) + 1 for column in columns) > width + 1
        if too_wide and any(column[0] == name for column in columns):
            columns = [column for column in columns if column[0] != name]
            omitted.append(name.replace("\n", " "))
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False)
    for k, column in enumerate(columns):
        table.add_column(column[0], justify="right" if k else "left", no_wrap=True)
    for row, line in zip(rows, zip(*(column[1:] for column in columns))):
        style = "red" if row.diverged else "bold green" if row.mark == "best" else ""
        table.add_row(*(Text(cell, style) for cell in line))
    legend = [facts.caption()]
    heads = " ".join(column[0] for column in columns)
    stops = columns[-1][1:] if columns[-1][0] == "stop\nreason" else []
    legend += _legend(heads, stops, set(map(_mark, rows)))
    if any(map(_kept_earlier, rows)):
        legend.append("The weights of the best epoch were kept; their measures decide.")
    left = len(facts.rows) - len(rows)
    missing = [counted(left, "more row")] if left else []
    if omitted:
        names = ", ".join(f"'{name}'" for name in omitted)
        missing.append(f"the {'column' if len(omitted) == 1 else 'columns'} {names}")
    if missing:
        export = shell_command("studies", "export", facts.name, "--out", "table.csv")
        legend.append(f"Not shown: {' and '.join(missing)}. For the full table: {export}")
    return tables.spaced(Group(table, *(Text(line, "dim") for line in legend)))


def _kept_earlier(row: Row) -> bool:
    """Whether early stopping kept weights from before the last epoch."""
    return bool(row.kept_epoch) and row.kept_epoch != row.epochs and not row.diverged


def _two_lines(name: str) -> str:
    """Return the name of a parameter as a header of two lines, the first of which may be empty.

    >>> _two_lines("learning_rate"), _two_lines("momentum")
    ('learning\\nrate', '\\nmomentum')
    """
    first, _, last = name.rpartition("_")
    return f"{first.replace('_', ' ')}\n{last}"


def _width(column: Sequence[str]) -> int:
    return max(len(line) for cell in column for line in cell.split("\n"))


def _legend(heads: str, stops: Sequence[str], marks: set[str]) -> list[str]:
    """Return lines that explain the abbreviations, stop reasons and marks in a table."""
    words = [f"{word}: {meaning}" for word, meaning in _ABBREVIATIONS.items() if word in heads]
    stopped = {reason for stop in stops for reason in stop.split(", ")}
    words += [f"stop reason '{s}': {_STOP_REASONS[s]}" for s in _STOP_REASONS if s in stopped]
    signs = {"○": "not significantly different from the best (●)", "x": "diverged"}
    lines = "; ".join(words), "; ".join(f"{s} {signs[s]}" for s in signs if s in marks)
    return [line for line in lines if line]


def _stop_reason(row: Row) -> str:
    """Return why a run stopped, and when; with several seeds, only why."""
    if "seeds)" not in row.stopped:
        return re.sub(" at epochs?", "", row.stopped)
    return ", ".join(part.split(" at ")[0].split(" (")[0] for part in row.stopped.split(", "))


def _mark(row: Row) -> str:
    return "x" if row.diverged else _MARKS.get(row.mark, " ")


def study_verdict_text(facts: StudyFacts) -> RenderableType:
    """Return the sentences of the verdict, the first in bold."""
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
        text.append(f"{configuration_words(row.parameters, facts.grid)}\n", "bold")
        for sentence in row.observations:
            text.append(f"{fill(sentence, output.out.width, **_HANGING)}\n")
    text.rstrip()
    output.say(text)
