"""The study: one object for a grid, its runs, its store and its verdict."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from sqlite3 import Row as StoredRow
from typing import Any, Literal

from separatrix.display import card
from separatrix.errors import ParameterError
from separatrix.estimators.fit_warnings import user_stacklevel
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.study.logs.log import Log, Logs, StudyInfo
from separatrix.study.planning.batches import MEMORY, split_into_batches
from separatrix.study.planning.data import StudyData, read_data
from separatrix.study.planning.description import describe_study, library_versions
from separatrix.study.planning.grid import Grid
from separatrix.study.planning.names import choose_name, describe_difference, require_name
from separatrix.study.planning.plan import StudyPlan
from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.card import study_card
from separatrix.study.results.facts import DataFacts, StudyFacts, StudyVerdict
from separatrix.study.running.progress import OnStudyProgress
from separatrix.study.running.progress_bar import show_progress
from separatrix.study.running.train_runs import CHECKPOINT_INTERVAL, train_runs
from separatrix.study.store.database import Store
from separatrix.study.store.encoding import to_text
from separatrix.study.store.errors import StoreError
from separatrix.study.store.reader import read_facts
from separatrix.study.store.writer import StudyWriter, claim_study, create_study
from separatrix.text import shell_command
from separatrix.training import OnEpoch
from separatrix.training.history import History


@dataclass(eq=False)
class Study:
    """A grid of configurations over the same data, trained together, kept, compared and judged.

    Parameters
    ----------
    name : of the study in its store; None for the name of its data, which `run` chooses
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

    name: str | None
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
        if self.name is not None:
            require_name(self.name)
        if self.memory < 1:
            raise ParameterError(
                f"memory is a number of bytes, at least 1. Got {self.memory} instead.",
                parameter="memory",
            )
        self.plan = StudyPlan.from_grid(
            self.estimator, self.grid, self.seeds, self.draws, self.seed
        )

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
        on_progress: OnStudyProgress | None = None,
        on_epoch: OnEpoch | None = None,
        logs: Sequence[Log] = (),
        progress: bool = False,
        every: float = CHECKPOINT_INTERVAL,
        **settings: Any,
    ) -> Study:
        """Train all configurations, and store what they find.

        Parameters
        ----------
        X, y, X_val, y_val : the rows; or X alone, a source: its name, its path or a `Source`, whose
            training and validation rows are taken
        resume : go on with the study of this name; without it such a study is an error. A finished
            one is left alone, and one that is not there is begun
        on_progress : called with a `StudyProgress` a few times a second; it may raise to end the
            study, which can be resumed
        on_epoch : called after every epoch of a batch with a list of `Epoch`, one for every run of
            the batch that is still trained; it may raise, too. After a crash, a resumed study tells
            the epochs since its last checkpoint again
        logs : `CsvLog`, `MlflowLog` or others that keep every epoch; one that fails is left behind
            with a warning
        progress : show a bar, in a terminal or a notebook
        every : seconds between two checkpoints
        **settings : of a source, how it becomes a matrix: `standardise`, `missing` and the others
            of `separatrix.features.settings.Settings`; by default what suits it
        """
        data = read_data(X, y, X_val, y_val, settings)
        identity = self.plan.identity(data)
        with Store(self.store, write=True) as store:
            name = self.name = self.name or self._choose_name(store, data, identity, resume)
            stored = store.find(name)
            if stored is not None and _is_finished(store, stored, identity, resume):
                return self
            info = _info(name, identity, data, list(self.plan.values), stored is not None)
            opened_logs = Logs(info, logs, on_epoch)
            planned = StudyTasks.from_plan(self.plan, data)
            if stored is not None:
                writer = claim_study(store, stored)
            else:
                writer = self._create(store, name, identity, data, planned)
            with writer, ExitStack() as stack:
                # Logs open their files only when no other process writes this study.
                try:
                    stack.enter_context(opened_logs)
                except BaseException:
                    if stored is None:
                        writer.remove()
                    raise
                show = stack.enter_context(show_progress(progress, on_progress))
                train_runs(planned, writer, opened_logs, show, every)
        return self

    def facts(self, *, histories: bool | Literal["best"] | Collection[int] = True) -> StudyFacts:
        """All that is known of the study, from its store alone.

        `histories` says whether to read those of all configurations, of the best one ("best"), or
        of which numbers.
        """
        if self.name is None:
            raise StoreError("This study has no name yet: run it, or give it one.")
        with Store(self.store) as store:
            return read_facts(store, self.name, histories=histories)

    def table(self) -> list[dict[str, Any]]:
        """One row for every configuration, of plain values."""
        return self.facts(histories=False).table()

    def histories(self) -> Mapping[int, tuple[History, ...]]:
        """For every configuration, by its number, the history of every seed."""
        return self.facts().histories

    def verdict(self) -> StudyVerdict:
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
            return study_card(self.facts(histories="best"))
        except StoreError as error:
            return card(
                f"Study {self.name or ''}".rstrip() + " has not been run.",
                [("Runs", f"{len(self):,}"), ("Store", str(error))],
            )

    def _choose_name(
        self, store: Store, data: StudyData, identity: Mapping[str, Any], resume: bool
    ) -> str:
        name, difference = choose_name(store, data.facts.name, identity, resume)
        if difference is not None:
            warnings.warn(
                f"No study to resume; starting a new one: {difference}.",
                stacklevel=user_stacklevel(),
            )
        return name

    def _create(
        self,
        store: Store,
        name: str,
        identity: Mapping[str, Any],
        data: StudyData,
        planned: StudyTasks,
    ) -> StudyWriter:
        """Put this study into the store, with the batches of its runs."""
        description = describe_study(
            self.plan,
            data,
            name=name,
            one_grid=self.draws is None and isinstance(self.grid, Mapping),
            draws=self.draws,
            command=self.command,
            notes=self.notes,
        )
        runs = self.plan.runs
        batches = [[runs[k] for k in batch] for batch in split_into_batches(planned, self.memory)]
        return create_study(store, name, identity, description, batches)


def _is_finished(
    store: Store, stored: StoredRow, identity: Mapping[str, Any], resume: bool
) -> bool:
    """Whether nothing is left to train; a study that cannot be resumed is refused."""
    name = stored["name"]
    difference = describe_difference(store.values(stored["plan"], f"the plan of {name}"), identity)
    if difference is not None:
        raise StoreError(
            f"{store.path} has a study {name!r} with {difference}. Choose another name, or "
            f"delete that one: {shell_command('studies', 'delete', name)}"
        )
    if not resume:
        state = "finished" if stored["finished"] else "not finished"
        raise StoreError(
            f"{store.path} has this very study {name!r} already, {state}. Go on with it "
            "by resume (--resume), which leaves a finished one alone, or choose another name."
        )
    return bool(stored["finished"])


def _info(
    name: str, identity: Mapping[str, Any], data: StudyData, parameters: list[str], resumed: bool
) -> StudyInfo:
    """What logs are told about the study."""
    return StudyInfo(
        name=name,
        resumed=resumed,
        identity=hashlib.sha256(to_text(identity).encode()).hexdigest(),
        estimator=identity["estimator"],
        parameters=identity["parameters"],
        names=parameters,
        data=data.facts.name,
        fingerprint=data.facts.fingerprint,
        versions=library_versions(),
    )
