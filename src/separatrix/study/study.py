"""The study: one object for a grid, its runs, its store and its verdict."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from separatrix import __version__
from separatrix.display import card
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.features.preparation import Settings
from separatrix.readers import Source, load
from separatrix.study.batches import MEMORY, batches
from separatrix.study.card import study_card
from separatrix.study.facts import DataFacts, StudyFacts, Verdict
from separatrix.study.grid import Grid, values_of
from separatrix.study.logs.log import About, Log, Logs
from separatrix.study.plan import Plan, Rows, Work, difference, facts_of, require_name
from separatrix.study.progress import showing
from separatrix.study.runner import EVERY, OnStanding, make_runs
from separatrix.study.store.database import Store, StoreError, to_text
from separatrix.study.store.reading import read_facts
from separatrix.study.store.writer import Entry, Writer, create, take_over
from separatrix.text import command
from separatrix.training import OnEpoch
from separatrix.training.history import History
from separatrix.workflow.preparing import PreparedSource, choose_settings, prepare_source


@dataclass(eq=False)
class Study:
    """A grid of configurations over the same data, trained together, kept, compared and judged.

    Parameters
    ----------
    name : of the study in its store
    estimator : of separatrix, with the parameters that all configurations share
    grid : for each parameter that varies a list of values (or an array, or a range), or several
        such grids. A single value is the same for all; a tuple is refused, since it may be meant
        either way; `log_range` makes a list; `Between` is for draws
    seeds : how many repeats of every configuration, or their random states
    draws : so many configurations are drawn from the grid at random, instead of all
    store : the file; None for SEPARATRIX_STORE, or separatrix.db here
    memory : bytes that the models of one batch may take together
    seed : of the draws, and the first of the repeats
    command : the command line by which it can be made again
    notes : what was chosen for the user, in sentences

    What can share a pass over the data is trained together, and configurations that differ only in
    their epochs are one run. Whenever it ends, all that is done is kept, and `run` with
    `resume=True` goes on where it stood, to the same bits.

    >>> from separatrix import GradientDescentClassifier, Study
    >>> study = Study(
    ...     "rates",
    ...     GradientDescentClassifier(),
    ...     {"learning_rate": [0.1, 0.01], "epochs": [100, 250]},
    ... )
    >>> study.run("iris", standardise=False).verdict().sentences[0]
    'Best: learning rate 0.1, epochs 250.'
    >>> [round(row["val_loss"], 4) for row in study.table()]
    [0.5283, 0.2279, 0.7017, 0.5401]
    """

    name: str
    estimator: LinearClassifier
    grid: Grid | Sequence[Grid]
    seeds: int | Sequence[int] = 1
    draws: int | None = None
    store: str | os.PathLike[str] | None = None
    memory: int = MEMORY
    seed: int = 0
    command: str = ""
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        require_name(self.name)
        if self.memory < 1:
            raise ValueError(f"memory is a number of bytes, at least 1. Got {self.memory} instead.")
        self.plan = Plan.of(self.estimator, self.grid, self.seeds, self.draws, self.seed)

    def __len__(self) -> int:
        """The number of runs."""
        return len(self.plan)

    def run(
        self,
        X: Any,
        y: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        resume: bool = False,
        on_standing: OnStanding | None = None,
        on_epoch: OnEpoch | None = None,
        logs: Sequence[Log] = (),
        progress: bool = False,
        every: float = EVERY,
        **settings: Any,
    ) -> Study:
        """Train all configurations, and keep what they find.

        Parameters
        ----------
        X, y, X_val, y_val : the rows; or X alone, a source: its name, its path or a `Source`, whose
            training and validation rows are taken
        resume : go on with the study of this name; without it such a study is an error. A finished
            one is left alone, and one that is not there is begun
        on_standing : called with a `Standing` a few times a second; it may raise to end the study,
            which can be resumed
        on_epoch : called after every epoch of a batch with a list of `Epoch`, one for every run of
            the batch that is still trained; it may raise, too. After a crash, a resumed study tells
            the epochs since its last checkpoint again
        logs : `CsvLog`, `MlflowLog` or others that keep every epoch; one that fails is left behind
            with a warning
        progress : show a bar, in a terminal or a notebook
        every : seconds between two checkpoints
        **settings : of a source, how it becomes a matrix: `standardise`, `missing` and the others
            of `separatrix.features.preparation.Settings`; by default what suits it
        """
        rows = _rows(X, y, X_val, y_val, settings)
        with Store(self.store, write=True) as store:
            if self._to_be_made(store, rows, resume):
                kept = Logs(self._to_log(store, rows), logs, on_epoch)
                self._make(store, rows, kept, showing(progress, on_standing), every)
        return self

    def _make(
        self,
        store: Store,
        rows: Rows,
        logs: Logs,
        watching: AbstractContextManager[OnStanding | None],
        every: float,
    ) -> None:
        """Make the runs that are lacking."""
        work = Work.of(self.plan, rows)
        with self._writer(store, rows, work) as writer, ExitStack() as opened:
            # Logs touch their files only when nobody else writes this study.
            try:
                told = opened.enter_context(logs)
            except BaseException:
                if not logs.about.resumed:
                    writer.forget()
                raise
            make_runs(self.plan, work, writer, told, opened.enter_context(watching), every)

    def facts(self, *, histories: bool | Collection[int] = True) -> StudyFacts:
        """All that is known of the study, from its store alone.

        `histories` says whether to read those of all configurations, or the numbers of some.
        """
        with Store(self.store) as store:
            return read_facts(store, self.name, histories=histories)

    def table(self) -> list[dict[str, Any]]:
        """One row for every configuration, of plain values."""
        return self.facts(histories=False).table()

    def histories(self) -> Mapping[int, tuple[History, ...]]:
        """For every configuration, by its number, the history of every seed."""
        return self.facts().histories

    def verdict(self) -> Verdict:
        """What was found."""
        return self.facts(histories=False).verdict

    @property
    def data(self) -> DataFacts:
        """What it was trained on."""
        return self.facts(histories=False).data

    @property
    def objective_words(self) -> list[str]:
        """The formulas that were minimised, each once."""
        return self.facts(histories=False).objective_words

    def _repr_html_(self) -> str:
        """The verdict, the best rows of the table and the curves of the best, for a notebook."""
        try:
            facts = self.facts(histories=False)
        except StoreError as error:
            return card(
                f"Study {self.name} has not been run.",
                [("Runs", f"{len(self):,}"), ("Store", str(error))],
            )
        best = facts.verdict.best
        return study_card(self.facts(histories=() if best is None else (best,)))

    def _to_be_made(self, store: Store, rows: Rows, resume: bool) -> bool:
        """Whether there is something left to make; what cannot be gone on with is refused."""
        there = store.find(self.name)
        if there is None:
            return True
        plan = store.values(there["plan"], f"the plan of {self.name}")
        told = difference(plan, self.plan.identity(rows))
        if told is not None:
            raise StoreError(
                f"{store.path} has a study {self.name!r} with {told}. Choose another name, or "
                f"delete that one: {command('studies', 'delete', self.name)}"
            )
        if not resume:
            state = "finished" if there["finished"] else "not finished"
            raise StoreError(
                f"{store.path} has this very study {self.name!r} already, {state}. Go on with it "
                "by resume (--resume), which leaves a finished one alone, or choose another name."
            )
        return not there["finished"]

    def _writer(self, store: Store, rows: Rows, work: Work) -> Writer:
        there = store.find(self.name)
        if there is not None:
            return take_over(store, there)
        numbers = self.plan.runs()
        runs = [
            Entry(*numbers[run], batch)
            for batch, members in enumerate(batches(work, self.memory))
            for run in members
        ]
        return create(store, self.name, self.plan.identity(rows), self._about(rows), runs)

    def _to_log(self, store: Store, rows: Rows) -> About:
        identity = self.plan.identity(rows)
        return About(
            name=self.name,
            resumed=store.find(self.name) is not None,
            identity=hashlib.sha256(to_text(identity).encode()).hexdigest(),
            estimator=identity["estimator"],
            parameters=identity["parameters"],
            names=list(values_of(self.plan.chosen)),
            data=rows.facts.name,
            fingerprint=rows.facts.fingerprint,
            versions=_versions(),
        )

    def _about(self, rows: Rows) -> dict[str, Any]:
        return {
            "command": self.command,
            "python": self._python(rows),
            "notes": [*self.notes, *self._told()],
            "data": facts_of(rows),
            "versions": _versions(),
        }

    def _told(self) -> list[str]:
        if self.draws is None or len(self.plan.chosen) >= self.draws:
            return []
        return [
            f"The grid has fewer than {self.draws} different configurations: "
            f"{len(self.plan.chosen)} {'was' if len(self.plan.chosen) == 1 else 'were'} drawn."
        ]

    def _plain_grid(self) -> Any:
        """The grid in plain values, as Python reads them again; draws as they were drawn."""
        if self.draws is None and isinstance(self.grid, Mapping):
            return values_of(self.plan.chosen)
        return [{name: [value] for name, value in one.items()} for one in self.plan.chosen]

    def _python(self, rows: Rows) -> str:
        """The lines that make this study again."""
        given = ", ".join(f"{k}={v!r}" for k, v in self.plan.parameters().items())
        made = f"{type(self.estimator).__name__}({given})"
        more = "" if self.plan.seeds == [0] else f", seeds={self.plan.seeds!r}"
        loads = ", load" if rows.call.startswith("load(") else ""
        grid = repr(self._plain_grid())
        return (
            f"from separatrix import {type(self.estimator).__name__}, Study{loads}\n\n"
            f"study = Study({self.name!r}, {made}, {grid}{more})\n"
            f"study.run({rows.call})\n"
        )


def _versions() -> dict[str, str]:
    return {
        "separatrix": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def name_for(
    plan: Plan, rows: Rows, store: str | os.PathLike[str] | None, resume: bool
) -> tuple[str, str | None]:
    """A name for a study that was given none: that of its data, with a number if that is taken.

    To resume, it is the name of the latest study that is this very one, whatever its name. If there
    is none, the second value says in what the latest study of these data differs, if there is one.
    """
    base = re.sub(r"[^\w.-]+", "-", Path(rows.facts.name).with_suffix("").as_posix())
    base = base.encode()[:80].decode(errors="ignore").strip("-._") or "study"
    identity, differs = plan.identity(rows), None
    with Store(store, write=True) as opened:
        taken = set(opened.names())
        found = "SELECT name, plan, about FROM studies ORDER BY id DESC"
        for row in opened.rows(found) if resume else ():
            told = difference(opened.values(row["plan"], "a plan"), identity)
            if told is None:
                return str(row["name"]), None
            about = opened.values(row["about"], "a description")
            if differs is None and about["data"]["name"] == rows.facts.name:
                differs = f"{row['name']} has {told}"
    names = (base, *(f"{base}-{k}" for k in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken), differs


def rows_of(prepared: PreparedSource, call: str) -> Rows:
    """The training and validation rows of a source that is prepared; `call` gets them again."""
    X, y = prepared.X, prepared.y
    return Rows.of(
        X["train"],
        y["train"],
        X.get("validation"),
        y.get("validation"),
        name=prepared.source.name,
        fingerprint=prepared.source.fingerprint,
        feature_names=list(prepared.preparation.feature_names_out),
        notes=prepared.notes,
        call=call,
    )


def call_of(source: str, settings: Mapping[str, Any]) -> str:
    """What `Study.run` is to be given for the same rows.

    >>> call_of("'a.csv'", {"missing": "median", "standardise": None})
    "'a.csv', missing='median'"
    """
    said = (f"{name}={value!r}" for name, value in settings.items() if value is not None)
    return ", ".join([source, *said])


def _rows(X: Any, y: Any, X_val: Any, y_val: Any, settings: Mapping[str, Any]) -> Rows:
    known = [field.name for field in fields(Settings)]
    if unknown := [name for name in settings if name not in known]:
        raise TypeError(
            f"Study.run has no option {unknown[0]!r}. How a source becomes a matrix is said by "
            f"{', '.join(known)}."
        )
    if (isinstance(X, Rows) or y is not None) and settings:
        raise ValueError(
            f"{next(iter(settings))!r} is for a source, which is prepared; arrays are trained on "
            "as they are. Prepare them first, or give a source."
        )
    if isinstance(X, Rows):
        return X
    if y is not None:
        return Rows.of(X, y, X_val, y_val)
    if not isinstance(X, str | os.PathLike | Source):
        raise ValueError(
            "A study needs labels: run(X, y), or a source alone, by its name, path or as a Source. "
            f"Got {type(X).__name__} and no y."
        )
    source = X if isinstance(X, Source) else load(X)
    call = call_of("source" if isinstance(X, Source) else repr(str(X)), settings)
    return rows_of(prepare_source(source, choose_settings(source.table, **settings)), call)
