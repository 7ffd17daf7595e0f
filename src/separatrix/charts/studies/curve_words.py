"""Headings, labels and text summaries of training curves."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.charts.drawing.chart_data import short
from separatrix.charts.studies.curve_data import (
    CurveSource,
    TrainingCurve,
    best_curve,
    label_names,
)
from separatrix.explain.text_tables import wrapped
from separatrix.study.results.facts import StudyFacts
from separatrix.text import counted

FEW = 12  # largest number of runs that one chart can distinguish
LONGEST = 36  # characters of a label beside a line


def subtitle(
    given: CurveSource,
    runs: Sequence[TrainingCurve],
    shown: int,
    overlaid: bool,
    chosen: Sequence[int] | None,
) -> list[str]:
    """Return the lines below the title: what is shown, the best run and the diverged runs."""
    out: list[str] = []
    seeds = len(runs[0].histories)
    best = best_curve(runs)
    out += filter(None, [_shared(runs)])
    if shown < len(runs):
        out.append(f"The best {shown} of {counted(len(runs), _thing(seeds))}.")
    if overlaid and best is not None and len(runs) > 1:
        epoch = f" (best epoch {best.best_epoch:,})" if best.best_epoch else ""
        out.append(f"Best, thick line: {best.words}{epoch}.")
        if isinstance(given, StudyFacts) and not labels_fit(front_runs(runs, chosen)):
            names = " · ".join(name.replace("_", " ") for name in label_names(given))
            out.append(f"Labels: {names}.")
    diverged = [run.words for run in runs if run.diverged]
    if overlaid and diverged:
        listed = f": {'; '.join(diverged)}" if len(diverged) <= 3 else ""
        count = sum(run.diverged_seeds for run in runs)
        out.append(f"{count:,} of {counted(len(runs) * seeds, 'run')} diverged{listed}.")
    if seeds > 1:
        drawn = "is drawn" if overlaid else "has thick lines"
        out.append(f"Every configuration has {seeds} seeds. The first {drawn}.")
    return [" ".join(out)] if out else []


def panel_titles(runs: Sequence[TrainingCurve], width: int) -> list[str]:
    """Return the heading of every run's chart: its parameters, and its best epoch below them."""
    out: list[str] = []
    for run in runs:
        first = run.best and len(runs) > 1
        facts = [run.diverged or (f"best epoch {run.best_epoch:,}" if run.best_epoch else "")]
        if first:
            facts.insert(0, "best run")
        words = f"{'● ' if first else ''}{run.words}"
        title = "\n".join([*wrapped(words, width), ", ".join(filter(None, facts))]).strip()
        out.append(title if title not in out else f"{title} #{run.number}")
    return out


def description(measure: str, fields: dict[str, str], runs: Sequence[TrainingCurve]) -> str:
    """Return the text summary: the final values of the best run and the number of diverged runs."""
    seeds = len(runs[0].histories)
    words = f"{measure.capitalize()} of {counted(len(runs) * seeds, 'run')} by epoch"
    words += f" ({counted(len(runs), 'configuration')}, {seeds} seeds)." if seeds > 1 else "."
    words += f" {_shared(runs)}" if _shared(runs) else ""
    best = best_curve(runs)
    if best is not None:
        ends = " and ".join(f"{part} {short(best.last(field))}" for part, field in fields.items())
        words += f" Best: {best.words}." if len(runs) > 1 else ""
        words += f" After {counted(best.epochs, 'epoch')}: {ends}"
        words += f" (means over {seeds} seeds)" if seeds > 1 else ""
        median = " (median)" if seeds > 1 else ""
        words += f", best epoch {best.best_epoch:,}{median}." if best.best_epoch else "."
    diverged = sum(run.diverged_seeds for run in runs)
    return words + (f" {counted(diverged, 'run')} diverged." if diverged else "")


def front_runs(
    runs: Sequence[TrainingCurve], chosen: Sequence[int] | None
) -> Sequence[TrainingCurve]:
    """Return the runs to draw in colour and with labels."""
    if chosen is None:
        return [run for run in runs if len(runs) <= FEW or run.best]
    unknown = {*chosen} - {run.number for run in runs}
    if unknown:
        raise ValueError(
            f"The numbers in 'chosen' must be numbers of runs. There is no run {min(unknown)}."
        )
    return [run for run in runs if run.number in chosen]


def labels_fit(runs: Sequence[TrainingCurve]) -> bool:
    """Whether there is room to name the parameters, and not only their values, beside the lines."""
    return all(len(run.words) <= LONGEST for run in runs)


def _shared(runs: Sequence[TrainingCurve]) -> str:
    """Return why there are fewer runs than configurations, if there are."""
    total = sum(run.configurations for run in runs)
    if total == len(runs):
        return ""
    return f"{counted(total, 'configuration')}: those that differ only in their epochs are one run."


def _thing(seeds: int) -> str:
    """Return the noun for a line, which stands for several runs if there are several seeds."""
    return "run" if seeds == 1 else "configuration"
