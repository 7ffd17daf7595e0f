"""Facts as text and tables that fit into 80 columns."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from separatrix.cli.option_names import name_options
from separatrix.text import counted as counted
from separatrix.text import one_line, percent, printable
from separatrix.text import seconds as seconds
from separatrix.workflow.verdict_words import verdict_words

_PARTS = {"train": "blue", "validation": "yellow", "test": "bold"}
_LONGEST = 14  # characters of a class name in a table
_MOST_CLASSES = 12  # of a full confusion matrix
_NOT_KNOWN = "–"


def heading(source: dict[str, Any], what: str = "") -> RenderableType:
    """Return the name and the size of the data."""
    n, d, c = source["rows"], source["features"], len(source["classes"])
    size = ", ".join([counted(n, "row"), counted(d, "feature"), counted(c, "class", "classes")])
    return Text.assemble((one_line(source["name"]), "bold"), f" · {size}{what}")


def notes(sentences: Sequence[str]) -> RenderableType:
    """Return one line per decision, without duplicates."""
    unique = list(dict.fromkeys(map(name_options, sentences)))
    return Group(
        *(hanging(Text(one_line(sentence), "dim"), Text("·", "dim")) for sentence in unique), ""
    )


def hanging(text: RenderableType, mark: RenderableType) -> RenderableType:
    """Return text with a mark before it and its lines aligned."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(mark, text)
    return grid


def named(rows: Sequence[tuple[str, RenderableType]]) -> RenderableType:
    """Return a list of names on the left and texts on the right."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=9, style="bold")
    for name, text in rows:
        grid.add_row(name, text)
    return Padding(grid, (0, 0, 1, 0))


def parts_table(metrics: dict[str, Any]) -> RenderableType:
    """Return the metrics, one row per part of the data."""
    table = plain_table("", ("rows", "correct", "accuracy", "log-loss", "macro F1"))
    for part, found in metrics.items():
        if not isinstance(found, dict) or "confusion" not in found:  # a user's own metrics
            continue
        correct = sum(found["confusion"][k][k] for k in range(len(found["confusion"])))
        cells = [f"{found['rows']:,}", f"{correct:,}", share(found["accuracy"])]
        table.add_row(
            Text(part, _PARTS.get(part, "")),
            *cells,
            number(found["log_loss"]),
            share(_macro_f1(found)),
        )
    return spaced(table)


def classes_table(part: str, found: dict[str, Any]) -> RenderableType:
    """Return precision, recall and F1, one row per class."""
    table = plain_table(f"{part}, by class", ("precision", "recall", "F1", "rows"))
    for entry in found["classes"]:
        shares = [share(entry[key]) for key in ("precision", "recall", "f1")]
        table.add_row(label(entry["class"]), *shares, f"{entry['rows']:,}")
    return spaced(table)


def confusion_table(part: str, found: dict[str, Any]) -> RenderableType:
    """Return the confusion matrix; with many classes, only the most frequent confusions."""
    classes = [label(entry["class"]) for entry in found["classes"]]
    if len(classes) > _MOST_CLASSES:
        return _most_confused(part, classes, found["confusion"])
    table = plain_table("true \\ predicted", classes)
    for k, (name, row) in enumerate(zip(classes, found["confusion"])):
        cells = [
            Text(f"{count:,}" if count else "·", _style_of_cell(j == k, count))
            for j, count in enumerate(row)
        ]
        table.add_row(name, *cells)
    return spaced(table)


def _style_of_cell(correct: bool, count: int) -> str:
    return "bold" if correct else "red" if count else "dim"


def _most_confused(
    part: str, classes: Sequence[str], confusion: list[list[int]], most: int = 10
) -> RenderableType:
    pairs = [
        (count, classes[k], classes[j])
        for k, row in enumerate(confusion)
        for j, count in enumerate(row)
        if j != k and count
    ]
    table = plain_table(f"most frequent errors ({part}): true class", ("predicted", "rows"))
    for count, true, predicted in sorted(pairs, key=lambda pair: -pair[0])[:most]:
        table.add_row(true, predicted, f"{count:,}")
    return spaced(table)


def verdict_text(verdict: dict[str, Any]) -> RenderableType:
    """Return whether the fit converged, followed by its diagnoses and their remedies."""
    words = verdict_words(verdict)
    style = "bold green" if words.kind == "good" else "bold red"
    lines: list[RenderableType] = [Text.assemble((f"{words.lead}: ", style), words.sentence)]
    for found in verdict["diagnoses"]:
        sentences = map(name_options, (found["message"], found["remedy"]))
        lines.append(Text(" ".join(sentences)))
    return Group(*lines)


def class_name(value: Any) -> str:
    """Return the name of a class; 1.0 is written as 1."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def label(value: Any) -> str:
    """Return the name of a class, shortened if it is long."""
    text = one_line(class_name(value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def clipped(text: str, most: int = 200) -> str:
    """Return the beginning of a text, in one line.

    >>> clipped("one  two\\nthree", 10)
    'one two t…'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def share(value: float | None) -> str:
    """Return a fraction in per cent, or a dash if it is unknown.

    >>> share(0.98765), share(0.99999), share(None)
    ('98.77 %', '> 99.99 %', '–')
    """
    return _NOT_KNOWN if value is None else percent(value, 2)


def number(value: float | None) -> str:
    """Return a number with four decimals, or four significant digits if it is large."""
    return _NOT_KNOWN if value is None else f"{value:.4f}" if abs(value) < 1000 else f"{value:.4g}"


class LineTable(Table):
    """A table in which every cell is one line, even if a name contains a newline."""

    def add_column(self, header: RenderableType = "", *args: Any, **options: Any) -> None:
        super().add_column(_one_line(header), *args, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*map(_one_line, cells), **options)


def _one_line(cell: Any) -> Any:
    if isinstance(cell, Text):
        return Text(one_line(cell.plain), cell.style)
    return one_line(cell) if isinstance(cell, str) else cell


def plain_table(first: str, others: Sequence[str]) -> Table:
    """Return an empty table with a column of words, followed by columns of numbers."""
    table = LineTable(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column(first, overflow="ellipsis", no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def spaced(table: RenderableType) -> RenderableType:
    """Return a table followed by an empty line."""
    return Padding(table, (0, 0, 1, 0))


def _macro_f1(found: dict[str, Any]) -> float | None:
    known = [entry["f1"] for entry in found["classes"] if entry["f1"] is not None]
    return sum(known) / len(known) if known else None
