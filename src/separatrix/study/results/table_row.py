"""Summarise the seeds of a configuration in a row: means, medians and counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

import numpy as np

from separatrix.study.results.facts import MEASURES, Row


def table_row(
    number: int,
    parameters: dict[str, Any],
    runs: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
) -> Row:
    """Return the row of a configuration. `runs` are the stored facts of its seeds."""
    first = runs[0]
    return Row(
        number=number,
        parameters=parameters,
        state="done",
        last=means([one["last"] for one in runs]),
        best=means([one["best"] for one in runs]),
        deviation=deviations([one["last"] for one in runs]),
        best_epoch=_median([one["best_epoch"] for one in runs]),
        kept_epoch=_median([one["kept_epoch"] for one in runs]),
        epochs=_median([one["epochs"] for one in runs]),
        stopped=_stopped(runs),
        diverged=sum(one["stop_reason"] == "diverged" for one in runs),
        converged=not any(map(unconverged_kind, runs)),
        smoothness=first["smoothness"],
        stable_rate=first["stable_rate"],
        relative_gap=_largest([one["relative_gap"] for one in runs]),
        objective=first["objective"],
        problem=next(filter(None, map(_problem, runs)), ""),
        observations=_observations(runs, seeds),
        seconds=max(one["seconds"] for one in runs),
    )


def unconverged_kind(run: Mapping[str, Any]) -> str:
    """Return why a run did not converge, "" if it did. Older stores have only its diagnoses."""
    older = [kind for kind in ("diverged", "not_converged") if kind in run["kinds"]]
    return str(run.get("unsettled", next(iter(older), "")))


def _problem(run: Mapping[str, Any]) -> str:
    """Return the kind of the diagnosis that matters most, "" for a run that diverged.

    A run that overfits and has not converged is not to be trained longer.
    """
    found = unconverged_kind(run)
    if found == "diverged":
        return ""
    overfits = "overfitting" in run["kinds"] and found in ("", "not_converged", "separable")
    return "overfitting" if overfits else found


def _observations(runs: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> list[str]:
    """What was observed; of several seeds in how many, in the words of the first of them."""
    if len(runs) == 1:
        return list(runs[0]["observations"])
    seen: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for seed, one in zip(seeds, runs):
        kinds = [sentence.split()[0].rstrip(":") for sentence in one["observations"]]
        for k, (kind, sentence) in enumerate(zip(kinds, one["observations"])):
            seen.setdefault((kind, kinds[:k].count(kind)), []).append((seed, sentence))
    return [_in_seeds(same, len(runs)) for same in seen.values()]


def _in_seeds(same: Sequence[tuple[int, str]], seeds: int) -> str:
    (first, sentence), count = same[0], len(same)
    where = f"all {seeds} seeds" if count == seeds else f"{count} of {seeds} seeds"
    return f"In {where}, here seed {first}: {sentence}"


def _stopped(runs: Sequence[Mapping[str, Any]]) -> str:
    """Why training ended; where seeds differ, in how many of them."""
    by_reason: dict[str, list[int]] = {}
    for one in runs:
        by_reason.setdefault(str(one["stop_reason"]), []).append(one["epochs"])
    out = []
    for reason, epochs in by_reason.items():
        low, high = min(epochs), max(epochs)
        at = f" at epoch {low}" if low == high else f" at epochs {low} to {high}"
        seeds = f" ({len(epochs)} of {len(runs)} seeds)" if len(by_reason) > 1 else ""
        out.append(f"{reason}{at if reason == 'diverged' else ''}{seeds}")
    return ", ".join(out)


def means(measures: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """Return the means over the seeds. A measure that a seed lacks is None."""
    out: dict[str, float | None] = {}
    for name in MEASURES:
        values = [one.get(name) for one in measures]
        known = [value for value in values if value is not None]
        out[name] = sum(known) / len(known) if len(known) == len(values) else None
    return out


def deviations(measures: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Return the sample standard deviations over the seeds."""
    if len(measures) < 2:
        return {}
    out = {}
    for name in MEASURES:
        values = [one.get(name) for one in measures]
        known = [value for value in values if value is not None and math.isfinite(value)]
        if len(known) == len(values):
            out[name] = float(np.std(known, ddof=1))
    return out


def _median(epochs: Sequence[int | None]) -> int | None:
    """Return the median, or the lower of the two middle epochs."""
    known = [epoch for epoch in epochs if epoch is not None]
    return median_low(known) if len(known) == len(epochs) else None


def _largest(gaps: Sequence[float | None]) -> float | None:
    known = [gap for gap in gaps if gap is not None]
    return max(known) if len(known) == len(gaps) else None
