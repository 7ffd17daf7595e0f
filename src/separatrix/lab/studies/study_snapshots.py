"""What the pages of the lab show of the stored studies, as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.lab.studies.study_jobs import JobState
from separatrix.study.results.facts import Row, StudyFacts
from separatrix.study.store.database import Store
from separatrix.study.store.live_runs import IN_TRAINING, LiveRun, read_live_runs
from separatrix.study.store.ownership import live_writer
from separatrix.study.store.reader import read_facts, read_summaries
from separatrix.text import describe_configuration, percent
from separatrix.web.packed_arrays import mean_curve, thin
from separatrix.web.study_page import study_page

SPARK_POINTS = 60  # of a small curve
LIVE_NUMBERS = 60_000  # of the curves of a study in training, which are sent about every second


class UnknownStudyError(LookupError):
    """The store has no study of this name."""


def list_studies(path: Path) -> list[dict[str, Any]]:
    """Return a summary of every study of a store, the latest first; [] if there is no store."""
    if not path.exists():
        return []
    with Store(path) as store:
        numbers = {row["name"]: row["id"] for row in store.rows("SELECT id, name FROM studies")}
        found = [
            one | {"written": live_writer(store, numbers[one["name"]]) is not None}
            for one in read_summaries(store)
        ]
    return found[::-1]


def study_card(path: Path, name: str) -> dict[str, Any]:
    """Return the best configuration of a study in words, and a small curve of its loss."""
    with Store(path) as store:
        _require(store, name)
        facts = read_facts(store, name, histories="best", live=True)
    best = best_row(facts)
    if best is None:
        return {"best": None, "curve": []}
    curve = np.zeros(0)
    if best.number in facts.histories:
        measure = "val_loss" if "validation" in facts.data.rows else "train_loss"
        curve = mean_curve(facts.histories[best.number], measure, best.diverged > 0)
    kept = [float(f"{value:.4g}") for value in curve[thin(curve, SPARK_POINTS)]]
    return {"best": best_words(facts, best), "curve": kept}


def study_signature(path: Path, name: str, job: JobState) -> tuple[Any, ...]:
    """Return values that change whenever the stored study or its process changes."""
    if not path.exists():
        return (job,)
    with Store(path) as store:
        row = store.find(name)
        if row is None:
            return (job,)
        (done,) = store.rows("SELECT count(found) AS n FROM runs WHERE study = ?", (row["id"],))
        writer = live_writer(store, row["id"])
        return row["id"], row["finished"], row["seconds"], done["n"], writer, job


def study_snapshot(path: Path, name: str, job: JobState) -> dict[str, Any]:
    """Return the progress and the page of a study. The page is None until the store has it."""
    if not path.exists():
        return {"progress": _before(name, job), "page": None}
    with Store(path) as store:
        row = store.find(name)
        if row is None:
            return {"progress": _before(name, job), "page": None}
        with store.reading():
            writer = live_writer(store, row["id"])
            live = read_live_runs(store, row)
            plan = store.values(row["plan"], f"the plan of {name}")
        facts = read_facts(store, name, live=True)
    running = writer is not None or job.running
    if not running:
        facts = replace(facts, rows=[_stopped(one) for one in facts.rows])
    most = None if facts.finished else LIVE_NUMBERS
    page: dict[str, Any] = {**study_page(facts, most)}
    progress = study_progress(facts, plan, live, running=running)
    # The process of a finished study can take a moment to end.
    stoppable = job.running and not facts.finished
    return {"progress": progress | _of_job(job) | {"stoppable": stoppable}, "page": page}


def _stopped(row: Row) -> Row:
    """Return the row of a study that is not running, in which nothing is in training."""
    return replace(row, stopped="stopped") if row.stopped == IN_TRAINING else row


def _before(name: str, job: JobState) -> dict[str, Any]:
    """Return the progress of a study that the store does not have yet."""
    if not job.running and not job.problem:
        raise UnknownStudyError(name)
    state = {"state": "starting" if job.running else "failed", "share": 0.0} | _of_job(job)
    return state | {"planned": None if job.planned is None else asdict(job.planned)}


def _of_job(job: JobState) -> dict[str, Any]:
    return {"problem": job.problem, "stoppable": job.running}


def study_progress(
    facts: StudyFacts, plan: Mapping[str, Any], live: Mapping[int, list[LiveRun]], *, running: bool
) -> dict[str, Any]:
    """Return the progress of a study: counts of runs, the finished share, and the time left.

    Runs that differ only in their epochs are trained as one, so the share counts the longest.
    """
    seeds = len(facts.seeds)
    done = sum(row.state == "done" for row in facts.rows) * seeds
    runs = len(facts.rows) * seeds
    trained = [run for number, own in live.items() for run in own if _waits(facts.rows, number)]
    alive = sum(not run.reason for run in trained)
    diverged = sum(row.diverged for row in facts.rows if row.state == "done")
    diverged += sum(run.reason == "diverged" for run in trained)
    share = 1.0 if facts.finished else _share(facts, plan, live)
    left = None
    if running and 0.02 < share < 1.0 and facts.seconds > 0.0 and _counts_epochs(plan):
        left = facts.seconds * (1.0 - share) / share
    state = "finished" if facts.finished else "running" if running else "stopped"
    best = best_row(facts)
    return {
        "state": state,
        "share": share,
        "runs": runs,
        "alive": alive if running else 0,
        "finished": done + len(trained) - alive,
        "diverged": diverged,
        "seconds": facts.seconds,
        "left": left,
        "best": None if best is None else f"{_best_title(facts)}: {best_words(facts, best)}",
        "resumable": bool(facts.command),
    }


def _waits(rows: list[Row], number: int) -> bool:
    return rows[number].state != "done"


def _share(facts: StudyFacts, plan: Mapping[str, Any], live: Mapping[int, list[LiveRun]]) -> float:
    made: dict[str, float] = {}
    most: dict[str, float] = {}
    default = plan["parameters"].get("epochs", 1)
    for row, configuration in zip(facts.rows, plan["grid"]):
        key = repr({k: v for k, v in configuration.items() if k != "epochs"})
        planned = float(configuration.get("epochs", default))
        epochs = planned
        if row.state != "done":
            own = [
                run.most if run.reason else run.history.epochs for run in live.get(row.number, [])
            ]
            epochs = float(np.mean(own)) if own else 0.0
        if planned >= most.get(key, 0.0):
            most[key], made[key] = planned, epochs
    total = sum(most.values())
    return min(sum(made.values()) / total, 1.0) if total else 0.0


def _counts_epochs(plan: Mapping[str, Any]) -> bool:
    return any("epochs" in one for one in (plan["parameters"], *plan["grid"][:1]))


def best_row(facts: StudyFacts) -> Row | None:
    """Return the best row: that of the verdict, or the best so far by accuracy, then by loss."""
    if facts.verdict.best is not None:
        return facts.rows[facts.verdict.best]
    part = "val" if "validation" in facts.data.rows else "train"
    known = [row for row in facts.rows if not row.diverged and row.state == "training"]

    def merit(row: Row) -> tuple[float, float]:
        accuracy, loss = row.last.get(f"{part}_accuracy"), row.last.get(f"{part}_loss")
        return (-1.0 if accuracy is None else accuracy, -math.inf if loss is None else -loss)

    return max(known, key=merit, default=None)


def _best_title(facts: StudyFacts) -> str:
    """Return by which rule `best_row` is the best."""
    if facts.verdict.best is not None:
        return "Best so far"
    part = "validation" if "validation" in facts.data.rows else "training"
    return f"Highest {part} accuracy so far (the verdict compares losses, too)"


def best_words(facts: StudyFacts, row: Row) -> str:
    """Return accuracy and parameters of a row in words."""
    part = "val" if "validation" in facts.data.rows else "train"
    kept = row.best if row.state == "done" and row.kept_epoch == row.best_epoch else row.last
    accuracy = kept.get(f"{part}_accuracy")
    parts = [] if accuracy is None else [percent(accuracy)]
    words = describe_configuration(row.parameters)
    return ": ".join([*parts, *([words] if words else [])])


def stored_command(path: Path, name: str) -> str:
    """Return the command that repeats a study, "" if it was run in Python."""
    with Store(path) as store:
        row = _require(store, name)
        about = store.values(row["about"], f"the description of {name}")
    return str(about["command"])


def _require(store: Store, name: str) -> Any:
    row = store.find(name)
    if row is None:
        raise UnknownStudyError(name)
    return row


def require_free(path: Path, name: str) -> None:
    """Raise a ParameterError if the store has a study of this name."""
    if path.exists():
        with Store(path) as store:
            if store.find(name) is not None:
                raise ParameterError(
                    f"There is a study {name!r} already. Choose another name.", parameter="name"
                )
