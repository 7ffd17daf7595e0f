"""The class `Study`: a grid of configurations, its runs, its store and its verdict."""

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
from separatrix.training.recording.history import History


@dataclass(eq=False)
class Study:
    """A grid of configurations that are trained on the same data, stored and compared.

    Parameters
    ----------
    name : the name of the study in the store. With None, `run` chooses the name of the data
    estimator : an estimator of separatrix, with the parameters that all configurations share
    grid : a mapping from parameters to lists of values (or arrays, or ranges), or a list of such
        mappings. A single value applies to all configurations. A tuple is refused, because it could
        be one value or several. `log_range` makes a list; `Between` is a range for random draws
    seeds : the number of repeats of every configuration, or a list of their random seeds
    draws : the number of configurations to draw from the grid at random. None trains all of them
    store : the file of the store. None uses SEPARATRIX_STORE, or separatrix.db in this folder
    memory : the memory for the models of one batch, in bytes
    seed : the random seed for the draws, and the seed of the first repeat
    command : the command that repeats the study
    notes : sentences about values that were chosen automatically

    Configurations that can share a pass over the data are trained together. Configurations that
    differ only in their number of epochs are trained once. If a study is interrupted, all finished
    runs are kept, and `run` with `resume=True` continues it to bit-identical results.

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
                f"memory must be a number of bytes >= 1. Got {self.memory} instead.",
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
        """Train all configurations and store the results.

        Parameters
        ----------
        X, y, X_val, y_val : training and validation rows. Or X alone as a source: a name, a path or
            a `Source`, whose training and validation rows are used
        resume : continue the study of this name, or start it if it does not exist. A finished study
            is left unchanged. Without `resume`, an existing study is an error
        on_progress : called a few times a second with a `StudyProgress`. It may raise an exception
            to stop the study, which can then be resumed
        on_epoch : called after every epoch of a batch with a list of `Epoch`, one for every run
            that is still in training. It may raise an exception, too. After a crash, a resumed
            study repeats the calls for the epochs since the last checkpoint
        logs : `CsvLog`, `MlflowLog` or other logs, which record every epoch. A log that fails is
            dropped with a warning
        progress : whether to show a progress bar in the terminal or notebook
        every : seconds between two checkpoints
        **settings : how to convert a source to a matrix: `standardise`, `missing` and the other
            settings of `separatrix.features.settings.Settings`. The defaults depend on the source
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
        """Read everything that is stored about the study.

        `histories` selects the histories to read: True for all configurations, False for none,
        "best" for the best configuration, or the numbers of configurations.
        """
        if self.name is None:
            raise StoreError("This study has no name yet. Run it, or give it a name.")
        with Store(self.store) as store:
            return read_facts(store, self.name, histories=histories)

    def table(self) -> list[dict[str, Any]]:
        """Return one row of plain values for every configuration."""
        return self.facts(histories=False).table()

    def histories(self) -> Mapping[int, tuple[History, ...]]:
        """Return the histories of all seeds, by the number of the configuration."""
        return self.facts().histories

    def verdict(self) -> StudyVerdict:
        """Return the verdict: the best configuration, and what the comparison shows."""
        return self.facts(histories=False).verdict

    @property
    def data(self) -> DataFacts:
        """The data of the study."""
        return self.facts(histories=False).data

    @property
    def objective_words(self) -> list[str]:
        """The formulas of the objectives that were minimised, without repetition."""
        return self.facts(histories=False).objective_words

    def _repr_html_(self) -> str:
        """Return the card for a notebook: verdict, best configurations, curves of the best one."""
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
        """Add this study to the store, with the batches of its runs."""
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
    """Whether the stored study is finished. Raise a StoreError if it cannot be resumed."""
    name = stored["name"]
    difference = describe_difference(store.values(stored["plan"], f"the plan of {name}"), identity)
    if difference is not None:
        raise StoreError(
            f"{store.path} already has a study {name!r} with {difference}. Choose another name, or "
            f"delete the stored study: {shell_command('studies', 'delete', name)}"
        )
    if not resume:
        state = "finished" if stored["finished"] else "not finished"
        raise StoreError(
            f"{store.path} already has this study {name!r} ({state}). Continue it with --resume "
            "(resume=True in Python), or choose another name. Resuming does not change a finished "
            "study."
        )
    return bool(stored["finished"])


def _info(
    name: str, identity: Mapping[str, Any], data: StudyData, parameters: list[str], resumed: bool
) -> StudyInfo:
    """Return the description of the study for the logs."""
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
