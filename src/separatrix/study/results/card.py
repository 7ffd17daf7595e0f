"""The HTML of a study in a notebook."""

from __future__ import annotations

from separatrix.display import card, history_curves, table
from separatrix.study.results.facts import StudyFacts
from separatrix.study.results.table_formats import best_rows, cells, column_names
from separatrix.text import counted

MOST_ROWS = 12


def study_card(facts: StudyFacts) -> str:
    """Return the verdict, the best rows of the table, and the curves of the best one as HTML."""
    first, *sentences = facts.verdict.sentences
    rows = best_rows(facts, MOST_ROWS)
    named = [
        ("Verdict", " ".join(sentences)),
        ("Data", facts.data.in_words()),
        ("Objective", " / ".join(facts.objective_words)),
    ]
    left_out = len(facts.rows) - len(rows)
    named += (
        [("Table", f"{counted(left_out, 'more configuration')}: study.table()")] if left_out else []
    )
    best = next((k for k, row in enumerate(rows) if row.mark == "best"), None)
    pictures = [history_curves(runs[0]) for runs in facts.histories.values()]
    return card(
        f"Study {facts.name}. {first}",
        [(name, text) for name, text in named if text],
        table(column_names(facts), [cells(facts, row) for row in rows], best),
        *pictures,
    )
