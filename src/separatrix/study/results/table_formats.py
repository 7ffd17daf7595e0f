"""The table of a study as CSV, JSON, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from typing import Any

from separatrix.study.results.facts import MEASURES, Row, StudyFacts
from separatrix.text import value_cell, value_words

MEASURE_NAMES = ("train loss", "train acc. %", "valid. loss", "valid. acc. %")


def to_csv(facts: StudyFacts) -> str:
    """Return all columns with all digits; observations are joined, the full batch is "all"."""
    table = facts.table()
    out = io.StringIO()
    columns = list(dict.fromkeys(name for row in table for name in row))
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    for row, values in zip(facts.rows, table):
        given = {name: value_cell(name, value) for name, value in row.parameters.items()}
        writer.writerow(values | given | {"observations": " ".join(values["observations"])})
    return out.getvalue()


def to_json(facts: StudyFacts) -> str:
    """Return the table, the verdict and the command; numbers that are not finite are null."""
    found = {
        "name": facts.name,
        "data": facts.data.name,
        "fingerprint": facts.data.fingerprint,
        "objective": facts.objective_words,
        "command": facts.command,
        "versions": facts.versions,
        "verdict": facts.verdict.sentences,
        "rows": facts.table(),
    }
    return json.dumps(_finite(found), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def to_markdown(facts: StudyFacts) -> str:
    """Return the table with rounded numbers, followed by the verdict."""
    head = column_names(facts)
    lines = [
        f"| {' | '.join(head)} |",
        "|" + "|".join("---:" for _ in head) + "|",
        *(f"| {' | '.join(_bold(cells(facts, row), row, '**'))} |" for row in facts.rows),
        "",
        *facts.verdict.sentences,
    ]
    return "\n".join(lines) + "\n"


def to_latex(facts: StudyFacts) -> str:
    """Return the table as a LaTeX tabular; the best row is bold."""
    rows = [
        " & ".join(
            rf"\textbf{{{_escaped(cell)}}}" if row.mark == "best" else _escaped(cell)
            for cell in cells(facts, row)
        )
        + r" \\"
        for row in facts.rows
    ]
    head = column_names(facts)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{'r' * len(head)}}}",
            r"\hline",
            " & ".join(map(_escaped, head)) + r" \\",
            r"\hline",
            *rows,
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


FORMATS: dict[str, Callable[[StudyFacts], str]] = {
    "csv": to_csv,
    "json": to_json,
    "markdown": to_markdown,
    "latex": to_latex,
}
ENDINGS = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}


def best_rows(facts: StudyFacts, most: int) -> list[Row]:
    """Return at most `most` rows; if there are more, the best ones, the winner first.

    Those as good as the winner are in the order of their losses, if these can be compared: the
    lowest loss, which the verdict names, is among them. The others are in the order of accuracy.
    """
    if len(facts.rows) <= most:
        return list(facts.rows)
    by_loss = not facts.has_unlike_losses

    def merit(row: Row) -> tuple[float, ...]:
        early = row.best_epoch is not None and row.kept_epoch == row.best_epoch
        kept = row.best if early else row.last
        accuracy, loss = kept.get("val_accuracy"), kept.get("val_loss")
        loss = row.last.get("train_loss") if accuracy is None else loss
        size = loss if loss is not None else math.inf
        share = accuracy if accuracy is not None else -1.0
        return (
            ("best", "same").index(row.mark) if row.mark in ("best", "same") else 2,
            row.state != "done" or row.diverged > 0,
            *((size, -share) if by_loss and row.mark == "same" else (-share, size)),
        )

    return sorted(facts.rows, key=merit)[:most]


def cells(facts: StudyFacts, row: Row) -> list[str]:
    """Return a row as text: varied parameters, last and best epoch, convergence, stop reason."""
    shown = [value_words(name, row.parameters.get(name, "")) for name in facts.varied]
    last = [_cell(name, row.last.get(name)) for name in MEASURES]
    last += [_cell("val_log_loss", row.val_log_loss)] if facts.has_log_losses else []
    best = [_cell(name, row.best.get(name)) for name in MEASURES[2:]]
    epoch = "" if row.best_epoch is None else str(row.best_epoch)
    done = row.stopped if row.state == "done" else "not done"
    return [*shown, *last, epoch, *best, converged_word(row), done]


def converged_word(row: Row) -> str:
    """Whether a row converged; one that diverged is not counted among those that did not."""
    if row.converged is None:
        return ""
    return "–" if row.diverged else "yes" if row.converged else "no"


def column_names(facts: StudyFacts) -> list[str]:
    """Return the names of the columns of `cells`."""
    names = [name.replace("_", " ") for name in facts.varied]
    best = ("best epoch", "valid. loss at best", "valid. acc. % at best")
    log_loss = ["valid. log-loss"] if facts.has_log_losses else []
    return [*names, *MEASURE_NAMES, *log_loss, *best, "converged", "stop reason"]


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if "accuracy" in name:
        return f"{100.0 * value:.2f}"
    if 0 < abs(value) < 1e-4:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.3g}"


def _bold(shown: list[str], row: Row, mark: str) -> list[str]:
    return (
        [f"{mark}{cell}{mark}" if cell else cell for cell in shown] if row.mark == "best" else shown
    )


def _escaped(text: str) -> str:
    for character in "&%$#_{}":
        text = text.replace(character, f"\\{character}")
    return text


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
