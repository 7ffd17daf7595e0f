"""From the store to facts: no training data is needed."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Any

import numpy as np

from separatrix.matrix import Array
from separatrix.study.facts import MEASURES, DataFacts, Row, StudyFacts, Verdict, Weights
from separatrix.study.grid import values_of
from separatrix.study.store.database import Store, StoreError, damaged
from separatrix.study.verdict import Judged, judge
from separatrix.training.history import History


def read_facts(
    store: Store, name: str | None = None, *, histories: bool | Collection[int] = True
) -> StudyFacts:
    """All facts of a study, of the latest without a name.

    `histories` says whether to read those of all configurations, or the numbers of some.
    """
    with store.reading():
        study = store.study(name)
        runs = store.rows(
            "SELECT id, configuration, seed, history, found, val_right, val_loss FROM runs "
            "WHERE study = ? ORDER BY configuration, seed",
            (study["id"],),
        )
        try:
            stored = _stored(store, study, runs, _histories(store, _wanted(runs, histories)))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            told = f"the study {study['name']!r} has {type(error).__name__}: {error}"
            raise StoreError(damaged(store.path, told)) from error
        return _judge(store, stored)


@dataclass(frozen=True, eq=False)
class _Stored:
    """A study as it was read, before it is judged: only in here can a store show its damage.

    `facts` are arguments of `StudyFacts`, `told` sentences about its data, `runs` the numbers of
    the runs of every configuration.
    """

    rows: list[Row]
    done: list[Judged]
    told: list[str]
    runs: dict[int, list[int]]
    facts: dict[str, Any]


def _stored(
    store: Store,
    study: sqlite3.Row,
    runs: Sequence[sqlite3.Row],
    histories: Mapping[int, tuple[History, ...]],
) -> _Stored:
    plan = store.values(study["plan"], f"the plan of {study['name']}")
    about = store.values(study["about"], f"the description of {study['name']}")
    chosen, grid = plan["grid"], values_of(plan["grid"])
    by_configuration: dict[int, list[sqlite3.Row]] = {k: [] for k in range(len(chosen))}
    for run in runs:
        by_configuration[run["configuration"]].append(run)
    varied = [key for key, values in grid.items() if len(values) > 1]
    rows, done, told = [], [], []
    for number, parameters in enumerate(chosen):
        shown = {key: parameters[key] for key in varied if key in parameters}
        ended = [run for run in by_configuration[number] if run["found"] is not None]
        if len(ended) < len(plan["seeds"]):
            rows.append(Row(number, shown, "waiting"))
            continue
        found = [store.values(run["found"], f"run {run['id']}") for run in ended]
        row = _row(number, shown, found, [run["seed"] for run in ended])
        rows.append(row)
        done.append(_judged(store, row, found, ended))
        told += [sentence for one in found for sentence in one["of_the_data"]]
    facts = {
        "name": study["name"],
        "created": study["created"],
        "finished": bool(study["finished"]),
        "seconds": study["seconds"],
        "estimator": plan["estimator"],
        "parameters": plan["parameters"],
        "grid": grid,
        "seeds": plan["seeds"],
        "data": DataFacts(**about["data"]),
        "command": about["command"],
        "python": about["python"],
        "versions": about["versions"],
        "objective_words": list(dict.fromkeys(one.row.objective for one in done)),
        "notes": about["notes"],
        "histories": histories,
    }
    numbers = {number: [run["id"] for run in own] for number, own in by_configuration.items()}
    return _Stored(rows, done, list(dict.fromkeys(told)), numbers, facts)


def _judge(store: Store, stored: _Stored) -> StudyFacts:
    grid, seeds = stored.facts["grid"], len(stored.facts["seeds"])
    verdict = judge(stored.done, grid, seeds, len(stored.rows) - len(stored.done))
    verdict = replace(verdict, sentences=[*verdict.sentences, *stored.told])
    return StudyFacts(
        **stored.facts,
        rows=_marked(stored.rows, verdict),
        verdict=verdict,
        weights=_weights(store, verdict, stored.runs),
    )


def summaries(store: Store) -> list[dict[str, Any]]:
    """One line for every study, the oldest first."""
    out = []
    for row in store.rows(
        "SELECT s.*, count(r.id) AS runs, count(r.found) AS done FROM studies s "
        "LEFT JOIN runs r ON r.study = s.id GROUP BY s.id ORDER BY s.id"
    ):
        about = store.values(row["about"], f"the description of {row['name']}")
        out.append(
            {
                "name": row["name"],
                "data": about["data"]["name"],
                "created": row["created"],
                "runs": row["runs"],
                "done": row["done"],
                "finished": bool(row["finished"]),
                "seconds": row["seconds"],
            }
        )
    return out


def _wanted(runs: Sequence[sqlite3.Row], histories: bool | Collection[int]) -> list[sqlite3.Row]:
    """The runs whose histories are to be read."""
    return [
        run
        for run in runs
        if run["history"] is not None
        and (histories if isinstance(histories, bool) else run["configuration"] in histories)
    ]


def _histories(store: Store, runs: Sequence[sqlite3.Row]) -> dict[int, tuple[History, ...]]:
    records = {}
    for number in dict.fromkeys(run["history"] for run in runs):
        (row,) = store.rows("SELECT fields, records FROM histories WHERE id = ?", (number,))
        names = store.values(row["fields"], "the fields of a history")
        records[number] = names, store.array(row["records"], f"history {number}")
    out: dict[int, tuple[History, ...]] = {}
    for run in runs:
        epochs = store.values(run["found"], f"run {run['id']}")["epochs"]
        names, values = records[run["history"]]
        history = History({name: values[k, :epochs] for k, name in enumerate(names)})
        out[run["configuration"]] = (*out.get(run["configuration"], ()), history)
    return out


def _row(
    number: int,
    parameters: dict[str, Any],
    found: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
) -> Row:
    first = found[0]
    return Row(
        number=number,
        parameters=parameters,
        state="done",
        last=_means([one["last"] for one in found]),
        best=_means([one["best"] for one in found]),
        deviation=_deviations([one["last"] for one in found]),
        best_epoch=_median([one["best_epoch"] for one in found]),
        kept_epoch=_median([one["kept_epoch"] for one in found]),
        epochs=_median([one["epochs"] for one in found]),
        stopped=_stopped(found),
        diverged=sum(one["stop_reason"] == "diverged" for one in found),
        smoothness=first["smoothness"],
        stable_rate=first["stable_rate"],
        relative_gap=_largest([one["relative_gap"] for one in found]),
        objective=first["objective"],
        observations=_seen(found, seeds),
        seconds=max(one["seconds"] for one in found),
    )


def _seen(found: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> list[str]:
    """What was seen; of several seeds in how many, in the words of the first of them."""
    if len(found) == 1:
        return list(found[0]["observations"])
    seen: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for seed, one in zip(seeds, found):
        kinds = [sentence.split()[0].rstrip(":") for sentence in one["observations"]]
        for k, (kind, sentence) in enumerate(zip(kinds, one["observations"])):
            seen.setdefault((kind, kinds[:k].count(kind)), []).append((seed, sentence))
    return [_in_seeds(same, len(found)) for same in seen.values()]


def _in_seeds(same: Sequence[tuple[int, str]], seeds: int) -> str:
    (first, sentence), count = same[0], len(same)
    where = f"all {seeds} seeds" if count == seeds else f"{count} of {seeds} seeds"
    return f"In {where}, here seed {first}: {sentence}"


def _stopped(found: Sequence[Mapping[str, Any]]) -> str:
    """Why training ended; where seeds differ, in how many of them."""
    by_reason: dict[str, list[int]] = {}
    for one in found:
        by_reason.setdefault(str(one["stop_reason"]), []).append(one["epochs"])
    out = []
    for reason, epochs in by_reason.items():
        low, high = min(epochs), max(epochs)
        at = f" at epoch {low}" if low == high else f" at epochs {low} to {high}"
        seeds = f" ({len(epochs)} of {len(found)} seeds)" if len(by_reason) > 1 else ""
        out.append(f"{reason}{at if reason == 'diverged' else ''}{seeds}")
    return ", ".join(out)


def _means(measures: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    out: dict[str, float | None] = {}
    for name in MEASURES:
        values = [one.get(name) for one in measures]
        known = [value for value in values if value is not None]
        out[name] = sum(known) / len(known) if len(known) == len(values) else None
    return out


def _deviations(measures: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """The standard deviations over the seeds, with one seed less in the divisor."""
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
    """One of the epochs: the middle one, or the lower of the two in the middle."""
    known = [epoch for epoch in epochs if epoch is not None]
    return median_low(known) if len(known) == len(epochs) else None


def _largest(gaps: Sequence[float | None]) -> float | None:
    known = [gap for gap in gaps if gap is not None]
    return max(known) if len(known) == len(gaps) else None


def _judged(
    store: Store, row: Row, found: Sequence[Mapping[str, Any]], runs: Sequence[sqlite3.Row]
) -> Judged:
    needs = [one["epochs_needed"] / one["epochs"] for one in found if one["epochs_needed"]]
    return Judged(
        row=row,
        kept=_means([one["kept"] for one in found]),
        spread=_deviations([one["kept"] for one in found]),
        right=_mean_rows(store, runs, "val_right"),
        losses=_mean_rows(store, runs, "val_loss"),
        loss=found[0]["loss"],
        unsettled=next(filter(None, map(_unsettled, found)), ""),
        needs=max(needs) if needs else None,
    )


def _unsettled(found: Mapping[str, Any]) -> str:
    """Why a run has not converged; stores of before tell it by its diagnoses alone."""
    slow = "not_converged" if "not_converged" in found["kinds"] else ""
    return str(found.get("unsettled", slow))


def _mean_rows(store: Store, runs: Sequence[sqlite3.Row], column: str) -> Array | None:
    if runs[0][column] is None:
        return None
    arrays = [store.array(run[column], f"the {column} of run {run['id']}") for run in runs]
    with np.errstate(invalid="ignore"):
        return sum(arrays[1:], arrays[0].astype(np.float64)) / len(arrays)


def _marked(rows: Sequence[Row], verdict: Verdict) -> list[Row]:
    marks = {c.number: "worse" if c.by else "same" for c in verdict.comparisons}
    if verdict.best is not None:
        marks[verdict.best] = "best"
    return [replace(row, mark=marks.get(row.number, "")) for row in rows]


def _weights(store: Store, verdict: Verdict, runs: Mapping[int, Sequence[int]]) -> Weights | None:
    if verdict.best is None:
        return None
    number = runs[verdict.best][0]
    (run,) = store.rows("SELECT coef, intercept FROM runs WHERE id = ?", (number,))
    coef, intercept = (
        store.array(run[column], f"the {column} of run {number}")
        for column in ("coef", "intercept")
    )
    return Weights(coef, intercept)
