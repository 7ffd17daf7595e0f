"""A study as it shows itself in a notebook."""

from __future__ import annotations

from separatrix.display import card, history_curves, table
from separatrix.study.facts import StudyFacts
from separatrix.study.store.exporting import best_rows, cells, column_names
from separatrix.text import counted

MOST_ROWS = 12


def study_card(facts: StudyFacts) -> str:
    """The verdict, the best rows of the table, and the curves of the best configuration."""
    first, *sentences = facts.verdict.sentences
    rows = best_rows(facts.rows, MOST_ROWS)
    told = [
        ("Verdict", " ".join(sentences)),
        ("Data", facts.data.in_words()),
        ("Objective", " / ".join(facts.objective_words)),
    ]
    left = len(facts.rows) - len(rows)
    told += [("Table", f"{counted(left, 'more configuration')}: study.table()")] if left else []
    best = next((k for k, row in enumerate(rows) if row.mark == "best"), None)
    pictures = [history_curves(runs[0]) for runs in facts.histories.values()]
    return card(
        f"Study {facts.name}. {first}",
        [(name, text) for name, text in told if text],
        table(column_names(facts), [cells(facts, row) for row in rows], best),
        *pictures,
    )
