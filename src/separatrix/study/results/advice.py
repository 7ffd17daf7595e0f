"""Advice of a study: where values beyond the grid may be better, and what its runs refute."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from separatrix.study.results.comparison import (
    Choice,
    FinishedConfiguration,
    is_number,
    is_too_short,
)
from separatrix.study.results.facts import Row
from separatrix.text import value_words
from separatrix.verdict.rate_limits import rounded_down

# Values with nothing beyond them: the grid cannot be extended there.
ENDS: dict[str, tuple[float, ...]] = {
    "momentum": (0.0,),
    "l1": (0.0,),
    "l1_ratio": (0.0, 1.0),
    "l2": (0.0,),
    "batch_size": (1,),
    "decay": (0.0,),
    "epochs": (1,),
}
# In these directions a model fits the training rows more closely.
CLOSER = {
    "epochs": "high",
    "learning_rate": "high",
    "momentum": "high",
    "C": "high",
} | dict.fromkeys(("l1", "l2", "alpha"), "low")


def worth_extending(
    choice: Choice,
    finished: Sequence[FinishedConfiguration],
    grid: Mapping[str, list[Any]],
) -> dict[str, str]:
    """The parameters at whose edge of the grid better values may lie: "low" or "high".

    The best value is at the edge, no value inside the grid is as good, and nothing argues against
    going further: no configuration diverged there, the best does not overfit, and its learning rate
    is below the stable one.
    """
    best = choice.best
    as_good = {c.number for c in choice.comparisons if not c.by}
    if best.right is None or is_too_short(best):
        return {}
    out = {}
    for name, values in grid.items():
        side = _edge(name, best.row.parameters.get(name), values)
        if not side:
            continue
        value = best.row.parameters[name]
        inside = any(
            one.row.parameters.get(name) != value for one in finished if one.row.number in as_good
        )
        if inside or _diverged_towards(name, side, value, finished):
            continue
        if CLOSER.get(name) == side and best.overfits:
            continue
        slow = best.unconverged == "not_converged" and not best.endless
        if (name, side) == ("epochs", "high") and not slow:
            continue  # it converged, or more epochs do not help
        if (name, side) == ("learning_rate", "low") and best.unconverged == "not_converged":
            continue  # it is too slow already
        if name in ("learning_rate", "momentum") and side == "high" and not _stable_beyond(best):
            continue
        out[name] = side
    return out


def _edge(name: str, value: Any, values: Sequence[Any]) -> str:
    numbers = [v for v in values if is_number(v)]
    if len(numbers) < 2 or not is_number(value) or value in ENDS.get(name, ()):
        return ""
    return "high" if value == max(numbers) else "low" if value == min(numbers) else ""


def _diverged_towards(
    name: str, side: str, value: float, finished: Sequence[FinishedConfiguration]
) -> bool:
    """Whether a configuration with this value, or one beyond it, diverged or oscillated.

    A smaller learning rate and less momentum are remedies for oscillation.
    """
    calmer = side == "low" and name in ("learning_rate", "momentum")
    for one in finished:
        theirs: Any = one.row.parameters.get(name)
        swings = one.unconverged == "oscillating" and not calmer
        if is_number(theirs) and (one.row.diverged or swings):
            towards = theirs >= value if side == "high" else theirs <= value
            if towards:
                return True
    return False


def _stable_beyond(best: FinishedConfiguration) -> bool:
    """Whether the learning rate of the best is below the stable one, as far as that is known."""
    stable = best.row.safe_rate
    rate: Any = best.row.parameters.get("learning_rate")
    return not stable or not is_number(rate) or rate < stable


def extend_words(best: FinishedConfiguration, name: str, side: str) -> str:
    word, way = ("largest", "larger") if side == "high" else ("smallest", "smaller")
    shown = "number of epochs" if name == "epochs" else name.replace("_", " ")
    value = value_words(name, best.row.parameters[name])
    if (name, side) == ("epochs", "low"):
        return (
            f"The smallest number of epochs, {value}, is the best: longer training raises the "
            "validation loss. Use early stopping (patience)."
        )
    limit = ""
    if name == "learning_rate" and side == "high" and best.row.safe_rate:
        limit = f" (up to {rounded_down(best.row.safe_rate)} is stable)"
    return f"The best {shown}, {value}, is the {word} in the grid: try {way} values{limit}."


def without_refuted_advice(rows: Sequence[Row]) -> list[Row]:
    """Replace the advice to lower the learning rate of the best row if lower rates were worse.

    They are those of the same configuration that are stable at all weights.

    >>> advice = "Oscillates: It rose. Lower the learning rate to 0.5 or less."
    >>> rows = [Row(0, {"learning_rate": 0.1}, "done", mark="worse"),
    ...         Row(1, {"learning_rate": 1.0}, "done", mark="best", observations=[advice],
    ...             stable_rate=0.5)]
    >>> without_refuted_advice(rows)[1].observations
    ['Oscillates: It rose. With learning rate 0.1, which is stable, it was worse in this study.']
    """
    return [
        replace(row, observations=[_refuted(words, row, rows) for words in row.observations])
        if row.mark == "best"
        else row
        for row in rows
    ]


def _refuted(words: str, best: Row, rows: Sequence[Row]) -> str:
    stable, own = best.safe_rate, _without_rate(best)
    lower = [
        row
        for row in rows
        if stable and row is not best and _without_rate(row) == own and _rate(row) <= stable
    ]
    if not lower or not all(row.mark == "worse" for row in lower):
        return words
    verb = "is" if len(lower) == 1 else "are"
    values = " or ".join(f"{rate:g}" for rate in sorted(map(_rate, lower)))
    instead = f"With learning rate {values}, which {verb} stable, it was worse in this study."
    return re.sub(r"(?<=\. )Lower the learning rate to \S+ or less\.", instead, words)


def _rate(row: Row) -> float:
    rate: Any = row.parameters.get("learning_rate")
    return float(rate) if is_number(rate) else float("inf")


def _without_rate(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.parameters.items() if name != "learning_rate"}
