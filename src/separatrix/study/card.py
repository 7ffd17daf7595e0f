"""A study as it shows itself in a notebook."""

from __future__ import annotations

from separatrix.notebook import card, history_curves, table
from separatrix.study.exporting import best_rows, cells, column_names
from separatrix.study.facts import StudyFacts

MOST_ROWS = 12


def study_card(facts: StudyFacts) -> str:
    """The verdict, the best rows of the table, and the curves of the best configuration."""
    first, *sentences = facts.verdict.sentences
    rows = best_rows(facts.rows, MOST_ROWS)
    counts = ", ".join(f"{count:,} {part}" for part, count in facts.data.rows.items())
    told = [
        ("Verdict", " ".join(sentences)),
        ("Data", f"{facts.data.name}: {counts} rows, {facts.data.features:,} features"),
        ("Objective", " / ".join(facts.objective_words)),
    ]
    left = len(facts.rows) - len(rows)
    more = [("", f"{left:,} more configurations are in study.table().")] if left else []
    best = next((k for k, row in enumerate(rows) if row.mark == "best"), None)
    pictures = [history_curves(runs[0]) for runs in facts.histories.values()]
    return card(
        f"Study {facts.name}. {first}",
        [(name, text) for name, text in [*told, *more] if text],
        table(column_names(facts), [cells(facts, row) for row in rows], best),
        *pictures,
    )
