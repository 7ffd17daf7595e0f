"""The form of a new study: data, grid, number of runs, and about how long they take."""

from __future__ import annotations

import math
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.checks.validation import require_choice, require_count
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.lab.studies.study_files import StudyFiles
from separatrix.lab.studies.study_jobs import Planned, options_of
from separatrix.losses import LOSSES
from separatrix.readers import Columns, Source, describe, load, names
from separatrix.solvers import RULES
from separatrix.study.planning.batches import split_into_batches
from separatrix.study.planning.data import StudyData
from separatrix.study.planning.default_grid import COURSE, choose_grid
from separatrix.study.planning.grid_words import read_values, write_values
from separatrix.study.planning.names import require_name
from separatrix.study.planning.plan import StudyPlan
from separatrix.study.planning.tasks import StudyTasks
from separatrix.training import Interrupted, Progress, train
from separatrix.workflow.model_families import (
    MODEL_FAMILIES,
    ModelOptions,
    build_estimator,
    find_family,
)
from separatrix.workflow.preparing import choose_settings, prepare_source

GRADIENT = "gradient"
DESCENT = ("loss", "rule", "learning_rate", "momentum", "epochs", "batch_size", "l2", "l1")
MOST_SEEDS = 100
MOST_RUNS = 5000
FIRST_ROWS, MOST_COLUMNS, MOST_CLASSES, MOST_NAMES = 5, 30, 20, 500
KEPT = 3  # prepared data sets
TRIED = 0.25  # seconds of training from which the time is estimated
STARTED = 1.5  # seconds for starting a process and reading the data
EXPENSIVE = 3e8  # multiplications of an epoch; beyond, the time is computed instead of measured
SPEED = 2e9  # multiplications a second, roughly


class StudyForm:
    """What the page of a new study asks: data, default values, plans. Prepared data is kept."""

    def __init__(self, files: StudyFiles) -> None:
        self.files = files
        self._prepared: OrderedDict[tuple[str, str | None], tuple[Source, StudyData]]
        self._prepared = OrderedDict()

    def choices(self) -> dict[str, Any]:
        """Return the data sets whose files are here, and the models."""
        found = [describe(name) for name in names()]
        shown = ("name", "about", "rows", "features", "classes")
        return {
            "sources": [{key: one[key] for key in shown} for one in found if one["here"]],
            "models": [
                {
                    "name": GRADIENT,
                    "about": "gradient descent, epoch by epoch: shows how a model learns",
                    "parameters": list(DESCENT),
                },
                *(
                    {
                        "name": family.name,
                        "about": f"{family.about}; trained to its optimum",
                        "parameters": [p for p in ("C", "loss", "l1") if p in family.takes],
                    }
                    for family in MODEL_FAMILIES.values()
                    if family.name != "perceptron"
                ),
            ],
            "losses": ["auto", *(name for name in LOSSES if name != "softmax_reference")],
            "svm_losses": ["hinge", "squared_hinge"],
            "rules": list(RULES),
        }

    def describe(self, given: Any) -> dict[str, Any]:
        """Return the columns and the first rows of the data, its classes, and usual values."""
        place, label = self._source_of(given)
        source, data = self._data(place, label)
        model = given.get("model", GRADIENT)
        estimator = _estimator(model, len(data.facts.classes))
        chosen = choose_grid(estimator, data, {})
        return {
            **_table(source),
            "words": data.facts.in_words(),
            "classes": [str(c) for c in data.facts.classes[:MOST_CLASSES]],
            "notes": data.facts.notes,
            "values": {
                name: shown_values(name, values)
                for name, values in chosen.grid.items()
                if name in DESCENT or name in ("C", "l1")
            },
            "reasons": chosen.notes,
            "name": free_name(place if place in names() else self.files.path(place).name),
        }

    def plan(self, given: Any) -> dict[str, Any]:
        """Return the number of runs of a study, and about how many seconds they take."""
        planned = self._planned(given)
        return {"runs": planned.runs, "seconds": planned.seconds}

    def _planned(self, given: Any) -> Planned:
        place, label = self._source_of(given)
        _, data = self._data(place, label)
        plan = self._plan_of(given, data)
        if len(plan.runs) > MOST_RUNS:
            raise ParameterError(
                f"These are {len(plan.runs):,} runs. The lab starts at most {MOST_RUNS:,}. Give "
                "fewer values, or use the command line."
            )
        seconds = STARTED + estimate_seconds(StudyTasks.from_plan(plan, data))
        grid = tuple(
            f"{name.replace('_', ' ')}: {shown_values(name, values)}"
            for name, values in plan.values.items()
            if len(values) > 1
        )
        return Planned(len(plan.runs), seconds, data.facts.in_words(), grid)

    def start_words(self, given: Any) -> tuple[str, str, list[str], Planned]:
        """Check a form, and return name, source, options and plan of its study."""
        place, label = self._source_of(given)
        name = _text(given, "name").strip()
        require_name(name)
        planned = self._planned(given)
        source = self.files.keep(place) if "file" in given["source"] else place
        options = {} if label is None else {"label": label}
        if given.get("model", GRADIENT) != GRADIENT:
            options["model"] = given["model"]
        seeds = given.get("seeds", 1)
        extra = {} if seeds == 1 else {"seeds": str(seeds)}
        return name, source, options_of({**options, **_values(given), **extra}), planned

    def _source_of(self, given: Any) -> tuple[str, str | None]:
        """Return the name of a data set or the key of a file, and the label column."""
        if not isinstance(given, Mapping) or not isinstance(given.get("source"), Mapping):
            raise ParameterError("A study needs a source.", parameter="source")
        label = given.get("label") or None
        if label is not None and not isinstance(label, str):
            raise ParameterError("'label' must be the name of a column.", parameter="label")
        source = given["source"]
        if "file" in source:
            return str(source["file"]), label
        name = source.get("name")
        require_choice("source", name, names())
        return str(name), label

    def _data(self, place: str, label: str | None) -> tuple[Source, StudyData]:
        key = place, label
        if key not in self._prepared:
            path: str | Path = place if place in names() else self.files.path(place)
            source = load(path, label=label)
            own = False if source.name in COURSE else None
            settings = choose_settings(source.table, standardise=own)
            data = StudyData.from_prepared(prepare_source(source, settings), "source")
            self._prepared[key] = source, data
            while len(self._prepared) > KEPT:
                self._prepared.popitem(last=False)
        self._prepared.move_to_end(key)
        return self._prepared[key]

    def _plan_of(self, given: Any, data: StudyData) -> StudyPlan:
        model, seeds = given.get("model", GRADIENT), given.get("seeds", 1)
        require_count("seeds", seeds)
        if seeds > MOST_SEEDS:
            raise ParameterError(f"'seeds' must be at most {MOST_SEEDS}.", parameter="seeds")
        estimator = _estimator(model, len(data.facts.classes))
        known = estimator.get_params(deep=False)
        grid: dict[str, Any] = {}
        for name, words in _values(given).items():
            parameter = "l1_ratio" if name == "l1" and model != GRADIENT else name
            if parameter not in known:
                raise ParameterError(f"The model {model!r} has no {name!r}.", parameter=name)
            grid[parameter] = read_values(name, words)
        if model == GRADIENT and seeds > 1 and "batch_size" not in grid:
            estimator.set_params(init="random")
        return StudyPlan.from_grid(estimator, choose_grid(estimator, data, grid).grid, seeds)


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise ParameterError(f"'{name}' must be a text.", parameter=name)
    return value


def _values(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of the grid in words, without empty ones."""
    values = given.get("values", {})
    if not isinstance(values, Mapping):
        raise ParameterError("'values' must be an object.", parameter="values")
    allowed = (*DESCENT, "C")
    for name, words in values.items():
        if name not in allowed or not isinstance(words, str) or len(words) > 2000:
            raise ParameterError(
                f"'values' has texts by parameter: {', '.join(allowed)}. Got {name[:40]!r}.",
                parameter="values",
            )
    return {name: words.strip() for name, words in values.items() if words.strip()}


def _estimator(model: Any, n_classes: int) -> LinearClassifier:
    require_choice("model", model, (GRADIENT, *MODEL_FAMILIES))
    if model == GRADIENT:
        return GradientDescentClassifier()
    return build_estimator(find_family(model, n_classes), ModelOptions())


def _table(source: Source) -> dict[str, Any]:
    """Return the columns with their detected types, and the first rows, as texts."""
    table = source.table
    if isinstance(table, Columns):
        kinds = {name: table.kind(name) for name in table.names[:MOST_COLUMNS]}
        first = {name: table[name][:FIRST_ROWS] for name in kinds}
    else:
        shown = [*range(min(table.shape[1], MOST_COLUMNS))]
        head = table[:FIRST_ROWS, shown]
        head = head.toarray() if hasattr(head, "toarray") else np.asarray(head)
        given = source.feature_names or [f"x{j + 1}" for j in range(table.shape[1])]
        first = {str(given[j]): head[:, k] for k, j in enumerate(shown)}
        kinds = dict.fromkeys(first, "numbers")
    labels: Any = [] if source.y is None else source.y[:FIRST_ROWS]
    layout = source.reading.get("layout", {})
    return {
        "names": layout.get("names", [])[:MOST_NAMES],
        "label": layout.get("label"),
        "columns": [{"name": name, "kind": kind} for name, kind in kinds.items()],
        "more": max(table.shape[1] - len(kinds), 0),
        "rows": [
            [_cell(values[k]) for values in first.values()]
            for k in range(min(FIRST_ROWS, len(source)))
        ],
        "labels": [_cell(label) for label in labels],
        "total": len(source),
    }


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return ""
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def shown_values(name: str, values: Any) -> str:
    """Return values as a person writes them.

    >>> shown_values("l2", [0.0, 0.001]), shown_values("epochs", [100, 300])
    ('0, 0.001', '100, 300')
    """
    words = write_values(name, values).split(",")
    return ", ".join(word.removesuffix(".0") for word in words)


def free_name(place: str) -> str:
    """Return a name for a study of a data set or a file.

    >>> free_name("cs725/iris"), free_name("my mail (2).csv")
    ('cs725-iris', 'my-mail-2')
    """
    base = re.sub(r"\.\w+$", "", place)
    return re.sub(r"[^\w.-]+", "-", base).strip("-._")[:60] or "study"


def estimate_seconds(planned: StudyTasks) -> float:
    """Return about how long the training takes, from a short trial of up to three batches."""
    batches = split_into_batches(planned)
    tried = batches[:3]
    runs = sum(map(len, batches)) / sum(map(len, tried))
    return float(runs * sum(_batch_seconds(planned, batch) for batch in tried))


def _batch_seconds(planned: StudyTasks, runs: list[int]) -> float:
    tasks = [planned.tasks[run] for run in runs]
    most = max(task.stop.epochs[0][0] for task in tasks)
    X = planned.data
    outputs = len({planned.model_of[run] for run in runs}) * tasks[0].n_outputs
    each = 4.0 * X.n_samples * X.n_features * outputs
    if each > EXPENSIVE:
        return min(most, 1000) * each / SPEED
    began, at = time.perf_counter(), [0.0, 0]

    def note(progress: Progress) -> None:
        at[:] = [time.perf_counter() - began, progress.epoch]
        if at[0] > TRIED:
            raise Interrupted

    data = planned.data.select(np.array(runs))
    train(tasks, data, planned.validation, on_progress=note)
    spent = time.perf_counter() - began
    return spent if at[0] <= TRIED else at[0] * most / max(at[1], 1)
