"""Ordered shades for many runs, by the parameter that varies most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.charts.drawing.theme import ORDERED
from separatrix.charts.studies.curve_data import TrainingCurve
from separatrix.text import value_words


def run_shades(runs: Sequence[TrainingCurve]) -> tuple[dict[int, str], dict[str, str]]:
    """Return the name of the shade of every run, and the colour of every name, in order.

    The shades follow the values of the numeric parameter with the most values. Runs without
    parameters are shaded in the order in which they were given.
    """
    name = _most_varied(runs)
    values = [float(run.parameters[name]) if name else float(k) for k, run in enumerate(runs)]
    levels = sorted(set(values))
    count = min(len(levels), len(ORDERED))
    groups = np.array_split(np.array(levels), count)
    colours = [ORDERED[k] for k in np.linspace(0, len(ORDERED) - 1, count).round().astype(int)]
    titles = [_title(name, runs, group) for group in groups]
    of_level = {float(v): title for title, group in zip(titles, groups) for v in group}
    return (
        {run.number: of_level[value] for run, value in zip(runs, values)},
        dict(zip(titles, colours)),
    )


def _most_varied(runs: Sequence[TrainingCurve]) -> str:
    """Return the numeric parameter with the most values, or "" if there is none."""
    counts = {
        name: len({run.parameters.get(name) for run in runs})
        for name in runs[0].parameters
        if all(_is_number(run.parameters.get(name)) for run in runs)
    }
    return max(counts, key=lambda name: counts[name], default="")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _title(name: str, runs: Sequence[TrainingCurve], group: Any) -> str:
    if not name:
        return runs[int(group[0])].words
    low, high = (value_words(name, float(f"{value:.3g}")) for value in (group[0], group[-1]))
    ends = low if low == high else f"{low} to {high}"
    return f"{name.replace('_', ' ')} {ends}"
