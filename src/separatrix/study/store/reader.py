"""Read a study from its store and compute the verdict, without the training data."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from separatrix.matrix import Array
from separatrix.study.planning.grid import values_by_name
from separatrix.study.results.advice import without_refuted_advice
from separatrix.study.results.comparison import FinishedConfiguration
from separatrix.study.results.data_findings import data_sentences
from separatrix.study.results.facts import DataFacts, Row, StudyFacts, StudyVerdict, Weights
from separatrix.study.results.pictures import StudyPictures
from separatrix.study.results.table_row import deviations, means, table_row, unconverged_kind
from separatrix.study.results.verdict import judge
from separatrix.study.store.database import Store
from separatrix.study.store.errors import StoreError, damage_message
from separatrix.study.store.live_runs import live_histories, live_rows, read_live_runs
from separatrix.study.store.pictures import read_pictures
from separatrix.training.recording.history import History


def read_facts(
    store: Store,
    name: str | None = None,
    *,
    histories: bool | Literal["best"] | Collection[int] = True,
    live: bool = False,
) -> StudyFacts:
    """Read a study and compute its verdict. Without a name, read the latest study.

    `histories` selects the histories to read: True for all configurations, False for none, "best"
    for the best configuration, or the numbers of configurations. With `live`, the runs in training
    have the measures and histories of the last checkpoint.
    """
    with store.reading():
        study = store.study(name)
        runs = store.rows(
            "SELECT id, configuration, seed, history, found, val_right, val_loss, "
            "val_log_loss, val_confusion FROM runs "
            "WHERE study = ? ORDER BY configuration, seed",
            (study["id"],),
        )
        with _errors_as_damage(store, study):
            stored = _read_study(store, study, runs)
            training = read_live_runs(store, study) if live else {}
        waiting = len(stored.rows) - len(stored.finished)
        verdict = judge(stored.finished, stored.facts["grid"], len(stored.facts["seeds"]), waiting)
        with _errors_as_damage(store, study):
            if isinstance(histories, str):
                histories = () if verdict.best is None else (verdict.best,)
            return StudyFacts(
                **stored.facts,
                histories=live_histories(training)
                | _read_histories(store, _with_history(runs, histories)),
                rows=without_refuted_advice(_marked(live_rows(stored.rows, training), verdict)),
                verdict=replace(verdict, sentences=[*verdict.sentences, *stored.data_sentences]),
                weights=_read_weights(store, verdict, runs),
                pictures=read_pictures(store, study, verdict.best)
                if histories
                else StudyPictures(),
            )


@contextmanager
def _errors_as_damage(store: Store, study: sqlite3.Row) -> Iterator[None]:
    """Report errors in reading as damage of the store. Other errors are not caught."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError) as error:
        what = f"the study {study['name']!r} has {type(error).__name__}: {error}"
        raise StoreError(damage_message(store.path, what)) from error


@dataclass(frozen=True, eq=False)
class _StoredStudy:
    """A study as it was read, without a verdict.

    `facts` are arguments of `StudyFacts`. `data_sentences` are the diagnoses of the data.
    """

    rows: list[Row]
    finished: list[FinishedConfiguration]
    data_sentences: list[str]
    facts: dict[str, Any]


def _read_study(store: Store, study: sqlite3.Row, runs: Sequence[sqlite3.Row]) -> _StoredStudy:
    plan = store.values(study["plan"], f"the plan of {study['name']}")
    about = store.values(study["about"], f"the description of {study['name']}")
    configurations, grid = plan["grid"], values_by_name(plan["grid"])
    by_configuration: dict[int, list[sqlite3.Row]] = {k: [] for k in range(len(configurations))}
    for run in runs:
        by_configuration[run["configuration"]].append(run)
    varied = [key for key, values in grid.items() if len(values) > 1]
    rows, finished, all_found = [], [], []
    for number, parameters in enumerate(configurations):
        shown = {key: parameters[key] for key in varied if key in parameters}
        ended = [run for run in by_configuration[number] if run["found"] is not None]
        if len(ended) < len(plan["seeds"]):
            rows.append(Row(number, shown, "waiting"))
            continue
        found = [store.values(run["found"], f"run {run['id']}") for run in ended]
        row = table_row(number, shown, found, [run["seed"] for run in ended])
        rows.append(row)
        finished.append(_finished(store, row, found, ended))
        all_found += found
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
        "objective_words": list(dict.fromkeys(one.row.objective for one in finished)),
        "notes": about["notes"],
    }
    rows = _with_log_losses(rows, finished)
    return _StoredStudy(rows, finished, data_sentences(all_found, bool(about["command"])), facts)


def _with_log_losses(rows: list[Row], finished: Sequence[FinishedConfiguration]) -> list[Row]:
    """Add the log-losses to the table if the configurations have different losses."""
    if len({one.loss for one in finished}) < 2:
        return rows
    found = {
        one.row.number: float(one.log_losses.mean())
        for one in finished
        if one.log_losses is not None and not one.row.diverged
    }
    return [replace(row, val_log_loss=found.get(row.number)) for row in rows]


def read_summaries(store: Store) -> list[dict[str, Any]]:
    """Return a summary of every study, the oldest first."""
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


def _with_history(
    runs: Sequence[sqlite3.Row], histories: bool | Collection[int]
) -> list[sqlite3.Row]:
    """Return the runs whose histories are read."""
    return [
        run
        for run in runs
        if run["history"] is not None
        and (histories if isinstance(histories, bool) else run["configuration"] in histories)
    ]


def _read_histories(store: Store, runs: Sequence[sqlite3.Row]) -> dict[int, tuple[History, ...]]:
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


def _finished(
    store: Store, row: Row, found: Sequence[Mapping[str, Any]], runs: Sequence[sqlite3.Row]
) -> FinishedConfiguration:
    needs = [one["epochs_needed"] / one["epochs"] for one in found if one["epochs_needed"]]
    return FinishedConfiguration(
        row=row,
        kept=means([one["kept"] for one in found]),
        spread=deviations([one["kept"] for one in found]),
        right=_mean_rows(store, runs, "val_right"),
        losses=_mean_rows(store, runs, "val_loss"),
        log_losses=_mean_rows(store, runs, "val_log_loss"),
        loss=found[0]["loss"],
        overfits=any("overfitting" in one["kinds"] for one in found),
        endless=any("separable" in one["kinds"] for one in found),
        unconverged=next(filter(None, map(unconverged_kind, found)), ""),
        needs=max(needs) if needs else None,
        guessed=_guessed(store, runs[0]),
    )


def _guessed(store: Store, run: sqlite3.Row) -> float | None:
    """Return the share of the most frequent class, None if the classes were not counted."""
    if run["val_confusion"] is None:
        return None
    counts = store.array(run["val_confusion"], f"the val_confusion of run {run['id']}")
    rows = counts.sum(axis=1)
    return float(rows.max() / rows.sum())


def _mean_rows(store: Store, runs: Sequence[sqlite3.Row], column: str) -> Array | None:
    if any(run[column] is None for run in runs):
        return None
    arrays = [store.array(run[column], f"the {column} of run {run['id']}") for run in runs]
    with np.errstate(invalid="ignore"):
        return sum(arrays[1:], arrays[0].astype(np.float64)) / len(arrays)


def _marked(rows: Sequence[Row], verdict: StudyVerdict) -> list[Row]:
    marks = {c.number: "worse" if c.by else "same" for c in verdict.comparisons}
    if verdict.best is not None:
        marks[verdict.best] = "best"
    return [replace(row, mark=marks.get(row.number, "")) for row in rows]


def _read_weights(
    store: Store, verdict: StudyVerdict, runs: Sequence[sqlite3.Row]
) -> Weights | None:
    if verdict.best is None:
        return None
    number = next(run["id"] for run in runs if run["configuration"] == verdict.best)
    (run,) = store.rows("SELECT coef, intercept FROM runs WHERE id = ?", (number,))
    coef, intercept = (
        store.array(run[column], f"the {column} of run {number}")
        for column in ("coef", "intercept")
    )
    return Weights(coef, intercept)
