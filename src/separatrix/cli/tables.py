"""Facts as text and tables that read well in 80 columns."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from separatrix.cli.option_names import name_options
from separatrix.text import counted as counted
from separatrix.text import one_line, percent, printable

_PARTS = {"train": "blue", "validation": "yellow", "test": "bold"}
_LONGEST = 14  # characters of a class in a table
_MOST_CLASSES = 12  # in a table of confusions
_NOT_KNOWN = "–"


def heading(source: dict[str, Any], what: str = "") -> RenderableType:
    """The name and the size of the data."""
    n, d, c = source["rows"], source["features"], len(source["classes"])
    size = ", ".join([counted(n, "row"), counted(d, "feature"), counted(c, "class", "classes")])
    return Text.assemble((one_line(source["name"]), "bold"), f" · {size}{what}")


def notes(sentences: Sequence[str]) -> RenderableType:
    """What was decided, a line each, without saying anything twice."""
    told = list(dict.fromkeys(map(name_options, sentences)))
    return Group(
        *(hanging(Text(one_line(sentence), "dim"), Text("·", "dim")) for sentence in told), ""
    )


def hanging(text: RenderableType, mark: RenderableType) -> RenderableType:
    """Text with a mark before it, its lines below one another."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(mark, text)
    return grid


def named(rows: Sequence[tuple[str, RenderableType]]) -> RenderableType:
    """Names on the left and what they say on the right."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=9, style="bold")
    for name, text in rows:
        grid.add_row(name, text)
    return Padding(grid, (0, 0, 1, 0))


def parts_table(metrics: dict[str, Any]) -> RenderableType:
    """A row for every part of the data."""
    table = plain_table("", ("rows", "right", "accuracy", "log-loss", "macro F1"))
    for part, found in metrics.items():
        if not isinstance(found, dict) or "confusion" not in found:  # of a Bundle's own measures
            continue
        right = sum(found["confusion"][k][k] for k in range(len(found["confusion"])))
        cells = [f"{found['rows']:,}", f"{right:,}", share(found["accuracy"])]
        table.add_row(
            Text(part, _PARTS.get(part, "")),
            *cells,
            number(found["log_loss"]),
            share(_macro_f1(found)),
        )
    return spaced(table)


def classes_table(part: str, found: dict[str, Any]) -> RenderableType:
    """A row for every class."""
    table = plain_table(f"{part}, by class", ("precision", "recall", "F1", "rows"))
    for entry in found["classes"]:
        shares = [share(entry[key]) for key in ("precision", "recall", "f1")]
        table.add_row(label(entry["class"]), *shares, f"{entry['rows']:,}")
    return spaced(table)


def confusion_table(part: str, found: dict[str, Any]) -> RenderableType:
    """True classes down, predicted ones across; of many classes, the most frequent confusions."""
    classes = [label(entry["class"]) for entry in found["classes"]]
    if len(classes) > _MOST_CLASSES:
        return _most_confused(part, classes, found["confusion"])
    table = plain_table("true \\ predicted", classes)
    for k, (name, row) in enumerate(zip(classes, found["confusion"])):
        cells = [
            Text(f"{count:,}" if count else "·", _of_cell(j == k, count))
            for j, count in enumerate(row)
        ]
        table.add_row(name, *cells)
    return spaced(table)


def _of_cell(right: bool, count: int) -> str:
    return "bold" if right else "red" if count else "dim"


def _most_confused(
    part: str, classes: Sequence[str], confusion: list[list[int]], most: int = 10
) -> RenderableType:
    pairs = [
        (count, classes[k], classes[j])
        for k, row in enumerate(confusion)
        for j, count in enumerate(row)
        if j != k and count
    ]
    table = plain_table(f"{part}, confused most", ("predicted", "rows"))
    for count, true, said in sorted(pairs, key=lambda pair: -pair[0])[:most]:
        table.add_row(true, said, f"{count:,}")
    return spaced(table)


def verdict_text(verdict: dict[str, Any]) -> RenderableType:
    """Whether the fit is what was asked for, and what is wrong if it is not."""
    lines: list[RenderableType] = [_end(verdict)]
    for found in verdict["diagnoses"]:
        said = map(name_options, (found["message"], found["remedy"]))
        lines.append(Text(" ".join(said)))
    return Group(*lines)


def _end(verdict: dict[str, Any]) -> Text:
    took = f"({_effort(verdict)})"
    if verdict["stop_reason"] == "interrupted":
        return Text.assemble(("Interrupted: ", "bold red"), f"the model is as it stood {took}.")
    if not verdict["converged"]:
        return Text.assemble(("Not converged ", "bold red"), f"{took}.")
    proof = verdict["certificate"]
    if proof is not None and proof["relative_gap"] is not None:
        said = (
            f"objective {proof['primal']:.6g}, and no such model is lower by more than "
            f"{proof['gap']:.1e}, a share of {proof['relative_gap']:.1e}"
        )
        return Text.assemble(("Optimal: ", "bold green"), f"{said} {took}.")
    said = "a whole epoch without a mistake"
    if proof is not None:
        norm = f"{proof['gradient_norm']:.1e}"
        said = f"the gradient's norm is {norm}; without a penalty there is no gap"
    return Text.assemble(("Converged: ", "bold green"), f"{said} {took}.")


def _effort(verdict: dict[str, Any]) -> str:
    steps, solver = verdict["iterations"], verdict["solver"]
    unit = "epoch" if solver is None else "iteration"
    parts = [counted(steps, unit)]
    if solver is not None:
        parts.insert(0, solver)
    if "seconds" in verdict:
        parts.append(seconds(verdict["seconds"]))
    return ", ".join(parts)


def class_name(value: Any) -> str:
    """A class as people write it."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def label(value: Any) -> str:
    """The same, cut where it is very long."""
    text = one_line(class_name(value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def clipped(text: str, most: int = 200) -> str:
    """The beginning of a long text, in one line.

    >>> clipped("one  two\\nthree", 10)
    'one two t…'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def share(value: float | None) -> str:
    """A share in per cent.

    >>> share(0.98765), share(0.99999), share(None)
    ('98.77 %', '> 99.99 %', '–')
    """
    return _NOT_KNOWN if value is None else percent(value, 2)


def number(value: float | None) -> str:
    """A number with four digits that mean something."""
    return _NOT_KNOWN if value is None else f"{value:.4f}" if abs(value) < 1000 else f"{value:.4g}"


def seconds(value: float) -> str:
    """A time."""
    return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


class LineTable(Table):
    """A table whose cells are one line each, whatever names are in them."""

    def add_column(self, header: RenderableType = "", *args: Any, **options: Any) -> None:
        super().add_column(_one_line(header), *args, **options)

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*map(_one_line, cells), **options)


def _one_line(cell: Any) -> Any:
    if isinstance(cell, Text):
        return Text(one_line(cell.plain), cell.style)
    return one_line(cell) if isinstance(cell, str) else cell


def plain_table(first: str, others: Sequence[str]) -> Table:
    """A table whose first column is words and whose others are numbers."""
    table = LineTable(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column(first, overflow="ellipsis", no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def spaced(table: RenderableType) -> RenderableType:
    """A table with an empty line after it."""
    return Padding(table, (0, 0, 1, 0))


def _macro_f1(found: dict[str, Any]) -> float | None:
    known = [entry["f1"] for entry in found["classes"] if entry["f1"] is not None]
    return sum(known) / len(known) if known else None
