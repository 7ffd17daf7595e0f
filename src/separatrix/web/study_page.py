"""The dictionary of a study's page: plain values for the scripts, all words and numbers chosen."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any, TypedDict

from separatrix.study.results.facts import MEASURES, Row, StudyFacts, configuration_words
from separatrix.study.results.table_formats import best_rows, converged_word
from separatrix.text import counted, describe_configuration, named_class, percent, value_cell
from separatrix.text import number as number_words
from separatrix.text import value_words as words_of_value
from separatrix.verdict.rate_limits import rounded_down
from separatrix.web.drawings import drawings
from separatrix.web.packed_arrays import packed_curves

MOST_ROWS = 2000  # configurations of a report


class Parameter(TypedDict):
    """A parameter that varies. `numeric`: whether all its values are numbers."""

    name: str
    label: str
    numeric: bool


class TableRow(TypedDict):
    """A configuration. `values` and `words` are those of the parameters, in their order.

    `kind` is "best", "same" (not significantly different from it), "worse", "diverged" or
    "waiting". `last` and `best` have one number for every measure, or null; `best` is at the epoch
    of the lowest validation loss. `problem` is a word or two on why it did not converge.
    """

    number: int
    name: str
    values: list[Any]
    words: list[str]
    kind: str
    last: list[float | None]
    best: list[float | None]
    deviation: list[float | None]
    log_loss: float | None
    best_epoch: int | None
    epochs: int | None
    converged: str
    stopped: str
    problem: str
    stable_rate: float | None
    observations: list[str]
    seconds: float


class StudyPage(TypedDict):
    """Everything on the page of a study."""

    name: str
    heading: str
    best: int | None
    verdict: list[dict[str, str]]
    numbers: list[dict[str, str]]
    caption: str
    seeds: int
    unlike_losses: bool
    measures: list[str]
    parameters: list[Parameter]
    rows: list[TableRow]
    curves: dict[str, Any]
    drawings: dict[str, Any]
    data: dict[str, Any]
    objective: list[str]
    reproduce: list[dict[str, str]]
    versions: str


def study_page(facts: StudyFacts, most_numbers: int | None = None) -> StudyPage:
    """Return the page of a study as plain values that are valid JSON.

    Curves that have more than `most_numbers` together are thinned.
    """
    validated = "validation" in facts.data.rows
    rows = best_rows(facts, MOST_ROWS)
    return {
        "name": facts.name,
        "heading": _heading(facts),
        "best": facts.verdict.best,
        "verdict": [_sentence(text, facts) for text in facts.verdict.sentences],
        "numbers": _key_numbers(facts),
        "caption": f"{facts.caption()}{_left_out(len(rows), len(facts.rows))}",
        "seeds": len(facts.seeds),
        "unlike_losses": facts.has_unlike_losses,
        "measures": list(MEASURES if validated else MEASURES[:2]),
        "parameters": [
            {
                "name": name,
                "label": name.replace("_", " "),
                "numeric": all(_is_number(value) for value in facts.grid[name]),
            }
            for name in facts.varied
        ],
        "rows": [_table_row(facts, row) for row in rows],
        "curves": packed_curves(rows, facts.histories, facts.verdict.best, most_numbers),
        "drawings": drawings(facts),
        "data": {
            "words": facts.data.in_words(),
            "fingerprint": facts.data.fingerprint,
            "classes": [named_class(label) for label in facts.data.classes],
            "notes": [*facts.data.notes, *facts.notes],
        },
        "objective": facts.objective_words,
        "reproduce": [
            {"label": label, "text": text}
            for label, text in (("In a terminal", facts.command), ("In Python", facts.python))
            if text
        ],
        "versions": ", ".join(f"{name} {version}" for name, version in facts.versions.items()),
    }


def _left_out(shown: int, total: int) -> str:
    if shown == total:
        return ""
    return f" The report shows the best {shown:,} of {total:,} configurations; the store has all."


def _heading(facts: StudyFacts) -> str:
    when = datetime.fromisoformat(facts.created)
    runs = counted(len(facts.rows) * len(facts.seeds), "run")
    parts = [f"{when.day} {when:%b %Y}", runs, f"{facts.seconds:.1f} s"]
    return " · ".join(parts if facts.finished else [*parts, "not finished"])


def _sentence(text: str, facts: StudyFacts) -> dict[str, str]:
    """Return a sentence of the verdict with its kind: "best", "failure" or ""."""
    if text is facts.verdict.sentences[0]:
        none = "failure" if facts.finished else ""  # so far
        return {"kind": none if facts.verdict.best is None else "best", "text": text}
    failed = facts.verdict.diverged and "diverged" in text
    return {"kind": "failure" if failed else "", "text": text}


def _key_numbers(facts: StudyFacts) -> list[dict[str, str]]:
    """Return the numbers next to the verdict."""
    out = []
    best = next((row for row in facts.rows if row.number == facts.verdict.best), None)
    if best is not None:
        kept = best.best if best.kept_epoch == best.best_epoch else best.last
        accuracy, loss = kept.get("val_accuracy"), kept.get("val_loss")
        if accuracy is not None:
            n = facts.data.rows.get("validation", 0)
            # With sample weights or several seeds, the accuracy is not a number of rows.
            whole = math.isclose(accuracy * n, round(accuracy * n), abs_tol=1e-6)
            counts = n and whole and len(facts.seeds) == 1
            right = f" ({round(accuracy * n)} of {n:,})" if counts else ""
            out.append((percent(accuracy), f"validation accuracy{right}"))
        if loss is not None:
            out.append((number_words(loss), "validation loss"))
        elif (trained := best.last.get("train_loss")) is not None:
            out.append((number_words(trained), "training loss"))
        if best.safe_rate and "learning_rate" in facts.grid:
            given = {k: v for k, v in best.parameters.items() if k in ("l2", "loss")}
            label = "learning rate that is stable at all weights"
            with_words = f" with {describe_configuration(given)}" if given else ""
            out.append((rounded_down(best.safe_rate), f"{label}{with_words}"))
    done = sum(row.state == "done" for row in facts.rows)
    if done:
        diverged = sum(row.diverged > 0 for row in facts.rows if row.state == "done")
        things = "configuration" if done == 1 else "configurations"
        out.append((f"{diverged:,} of {done:,}", f"{things} diverged"))
    return [{"value": value, "label": label} for value, label in out]


def _table_row(facts: StudyFacts, row: Row) -> TableRow:
    kind = "diverged" if row.diverged else row.mark or "worse"
    return {
        "number": row.number,
        "name": configuration_words(row.parameters, facts.grid),
        "values": [_plain(name, row.parameters.get(name, "")) for name in facts.varied],
        "words": [words_of_value(name, row.parameters.get(name, "")) for name in facts.varied],
        "kind": kind if row.state == "done" or row.diverged else "waiting",
        "last": [finite(row.last.get(name)) for name in MEASURES],
        "best": [finite(row.best.get(name)) for name in MEASURES],
        "deviation": [finite(row.deviation.get(name)) for name in MEASURES],
        "log_loss": finite(row.val_log_loss),
        "best_epoch": row.best_epoch,
        "epochs": row.epochs,
        "converged": converged_word(row),
        "stopped": "not finished" if row.state == "waiting" else row.stopped,
        "problem": "" if row.diverged else _PROBLEMS.get(row.problem, ""),
        "stable_rate": None if row.safe_rate is None else float(rounded_down(row.safe_rate)),
        "observations": row.observations,
        "seconds": row.seconds,
    }


_PROBLEMS = {
    "not_converged": "still changing",
    "oscillating": "oscillating",
    "noisy": "noisy steps",
    "ended_higher": "ended above its start",
    "separable": "no finite optimum",
    "overfitting": "overfitting",
}


def finite(value: float | None) -> float | None:
    """Return a number, or None if it is not finite: JSON has no infinity.

    >>> finite(math.inf), finite(0.5)
    (None, 0.5)
    """
    return None if value is None or not math.isfinite(value) else float(value)


def _plain(name: str, value: Any) -> Any:
    if _is_number(value):
        return finite(value)
    return str(value_cell(name, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
