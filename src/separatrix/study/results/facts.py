"""The facts of a study for tables, charts and reports: plain values from its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from separatrix.matrix import Array
from separatrix.study.results.pictures import StudyPictures
from separatrix.text import counted, describe_configuration
from separatrix.training.recording.history import History

LEVEL = 0.05  # significance level of all tests
MEASURES = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")


def configuration_words(parameters: Mapping[str, Any], grid: Mapping[str, list[Any]]) -> str:
    """Return the parameters of a configuration that vary, or all of the grid if none does.

    >>> configuration_words({"momentum": 0.9}, {"momentum": [0.0, 0.9], "l2": [0.1]})
    'momentum 0.9'
    >>> configuration_words({}, {"learning_rate": [0.1], "l2": [0.1]})
    'the only configuration, learning rate 0.1, l2 0.1'
    """
    only = {name: values[0] for name, values in grid.items() if len(values) == 1}
    words = ", ".join(filter(None, ["the only configuration", describe_configuration(only)]))
    return describe_configuration(parameters) or words


@dataclass(frozen=True)
class DataFacts:
    """The data of a study.

    Attributes
    ----------
    name : the name of the source, or "data" for arrays
    rows : the number of rows by part, "train" and, if there are any, "validation"
    features : the number of features
    classes : the labels, as plain values
    feature_names : the d names of the features, or None if they have no names
    fingerprint : SHA-256 of the rows before preparation
    notes : sentences about the decisions in reading and preparing the rows
    """

    name: str
    rows: dict[str, int]
    features: int
    classes: list[Any]
    feature_names: list[str] | None
    fingerprint: str
    notes: list[str] = field(default_factory=list)

    def in_words(self) -> str:
        """Describe name and size.

        >>> DataFacts("iris", {"train": 100, "validation": 25}, 4, [0, 1, 2], None, "").in_words()
        'iris: 100 training and 25 validation rows, 4 features, 3 classes'
        """
        rows = counted(self.rows["train"], "training row")
        if "validation" in self.rows:
            validation = counted(self.rows["validation"], "validation row")
            rows = f"{self.rows['train']:,} training and {validation}"
        features = counted(self.features, "feature")
        return f"{self.name}: {rows}, {features}, {counted(len(self.classes), 'class', 'classes')}"


@dataclass(frozen=True)
class Row:
    """One configuration of the grid: a row of the table.

    Measures are means over the seeds, and epochs are medians (of an even number of seeds, the lower
    of the two middle epochs). Unknown values are None: all of them while `state` is "waiting", and
    validation measures if there are no validation rows. Numbers too large for a float are inf.
    While `state` is "training", `last`, `epochs` and `diverged` are those of the last checkpoint.

    Attributes
    ----------
    number : the number of the configuration, from 0; the key in `StudyFacts.histories`
    parameters : the values of the varied parameters, in the order of the grid
    state : "waiting", "training" or "done"
    last, best : the measures (names in MEASURES) at the last epoch, and at the epoch with the
        lowest validation loss of every seed
    deviation : the standard deviations of `last` over the seeds. Empty for one seed
    best_epoch : the epoch with the lowest validation loss
    kept_epoch : the epoch whose weights were kept
    val_log_loss : the log-loss of the kept weights on the validation rows, if configurations with
        different losses are compared by it
    epochs : the number of epochs
    stopped : the reason why training stopped, such as "epochs" or "diverged at epoch 3"
    diverged : the number of seeds that diverged
    converged : whether all seeds converged; a seed that patience stopped has not, unless its
        duality gap is small
    smoothness : L, a bound on the curvature of the objective. A learning rate of 2/L is stable.
        None if the loss has kinks
    stable_rate : the largest learning rate that is stable for the step rule according to L: 2/L,
        or 2 (1 + momentum) / L with momentum. None if there is no such limit, as with mini-batches
    relative_gap : the relative duality gap of the kept weights, or None if there is none
    objective : the formula of the objective
    problem : why a seed did not converge ("not_converged", "oscillating", "ended_higher",
        "stopped_early", ...), or "overfitting". "" if there is no such problem, and for seeds that
        diverged
    observations : sentences about the training
    mark : "best", "same" (not significantly different from the best), "worse", or "" if not
        compared
    seconds : the time from the start of the batch to the end of this training
    """

    number: int
    parameters: dict[str, Any]
    state: str
    last: dict[str, float | None] = field(default_factory=dict)
    best: dict[str, float | None] = field(default_factory=dict)
    deviation: dict[str, float] = field(default_factory=dict)
    best_epoch: int | None = None
    kept_epoch: int | None = None
    val_log_loss: float | None = None
    epochs: int | None = None
    stopped: str = ""
    diverged: int = 0
    converged: bool | None = None
    smoothness: float | None = None
    stable_rate: float | None = None
    relative_gap: float | None = None
    objective: str = ""
    observations: list[str] = field(default_factory=list)
    mark: str = ""
    problem: str = ""
    seconds: float = 0.0

    @property
    def safe_rate(self) -> float | None:
        """A learning rate that is stable at all weights: the smaller of `stable_rate` and 2/L."""
        if self.stable_rate is None or self.smoothness is None:
            return self.stable_rate
        return min(self.stable_rate, 2.0 / self.smoothness)


@dataclass(frozen=True)
class Comparison:
    """A comparison of the best configuration with another one.

    Attributes
    ----------
    number : the number of the other configuration
    by : the measure in which the other is significantly worse than the best or than another one as
        good, "accuracy" or "loss", or "" if it is as good
    p_accuracy : the p-value of McNemar's exact test on the rows that exactly one of them classifies
        correctly
    p_loss : the p-value of a paired t-test on the losses of the rows. A test that was not made has
        the p-value None
    behind : whether no test separates the other from them, but it is no better by this measure than
        one that is significantly worse
    """

    number: int
    by: str
    p_accuracy: float | None
    p_loss: float | None
    behind: bool = False

    def is_direct(self) -> bool:
        """Whether the other is worse than the best itself, not than another one as good."""
        p = self.p_accuracy if self.by == "accuracy" else self.p_loss
        return p is not None and p <= LEVEL


@dataclass(frozen=True)
class StudyVerdict:
    """The verdict on a study.

    Attributes
    ----------
    best : the number of the best configuration, or None if there is none yet
    score : the measure that decided, such as "val_loss", or "train_loss" without validation rows
    sentences : the verdict in sentences, with the best configuration first
    comparisons : of the best with every other configuration that is finished and did not diverge
    edges : the parameters whose best value is at the edge of the grid: "low" or "high"
    diverged, runs : the numbers of diverged and of finished runs
    """

    best: int | None
    score: str
    sentences: list[str]
    comparisons: list[Comparison]
    edges: dict[str, str]
    diverged: int
    runs: int


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of the best configuration for its first seed: coef (K, d), intercept (K,)."""

    coef: Array
    intercept: Array


@dataclass(frozen=True, eq=False)
class StudyFacts:
    """A stored study, which may be unfinished.

    Attributes
    ----------
    name : the name of the study
    created : the time of creation in UTC, ISO 8601
    finished : whether all runs are finished
    seconds : the training time of all sessions
    estimator, parameters : the class, and the parameters that all configurations share
    grid : the values of every parameter in the grid, in order
    seeds : the random seeds of the repeats
    data : the data of the study
    command, python : how to repeat the study in a terminal ("" if it was run in Python), and in
        Python
    versions : the versions of Python and of the libraries
    objective_words : the formulas of the objectives, without repetition
    notes : sentences about values that were chosen automatically
    rows : the table, one row for every configuration, in the order of the grid
    histories : the histories of all seeds, by the number of a finished configuration
    verdict : the verdict on the study
    weights : the weights of the best configuration
    pictures : what the report draws beyond these; read together with histories
    """

    name: str
    created: str
    finished: bool
    seconds: float
    estimator: str
    parameters: dict[str, Any]
    grid: dict[str, list[Any]]
    seeds: list[int]
    data: DataFacts
    command: str
    python: str
    versions: dict[str, str]
    objective_words: list[str]
    notes: list[str]
    rows: list[Row]
    histories: Mapping[int, tuple[History, ...]]
    verdict: StudyVerdict
    weights: Weights | None
    pictures: StudyPictures = field(default_factory=StudyPictures)

    @property
    def varied(self) -> list[str]:
        """The parameters that have more than one value."""
        return [name for name, values in self.grid.items() if len(values) > 1]

    @property
    def has_unlike_losses(self) -> bool:
        """Whether configurations have different losses, whose values cannot be compared."""
        return not {"loss", "multiclass"}.isdisjoint(self.varied)

    @property
    def has_log_losses(self) -> bool:
        """Whether configurations are compared by the log-loss of their probabilities."""
        return any(row.val_log_loss is not None for row in self.rows)

    def caption(self) -> str:
        """Whether the features were standardised, on which losses and learning rates depend."""
        return standardisation_words(self.data.notes)

    def table(self) -> list[dict[str, Any]]:
        """Return the rows as flat dictionaries of plain values.

        Parameters come first. Names of measures at the best epoch begin with "best_". The tables of
        two equal studies differ only in "seconds".
        """
        return [_flat(row) for row in self.rows]


def standardisation_words(notes: Sequence[str]) -> str:
    """Say whether the features were standardised, according to the notes about their preparation.

    >>> standardisation_words(["Standardised the features (mean 0, standard deviation 1)."])
    'Numeric features were standardised (mean 0, standard deviation 1).'
    """
    standardised = any(
        note.startswith("Standardised the features") or "numeric (standardised)" in note
        for note in notes
    )
    return (
        "Numeric features were standardised (mean 0, standard deviation 1)."
        if standardised
        else "The features were not standardised."
    )


def _flat(row: Row) -> dict[str, Any]:
    measures = {name: row.last.get(name) for name in MEASURES}
    best = {f"best_{name}": row.best.get(name) for name in MEASURES}
    deviations = {f"{name}_deviation": value for name, value in row.deviation.items()}
    return {
        **row.parameters,
        **measures,
        **deviations,
        "best_epoch": row.best_epoch,
        **best,
        **({} if row.val_log_loss is None else {"val_log_loss": row.val_log_loss}),
        "epochs_made": row.epochs,
        "converged": row.converged,
        "stopped": row.stopped,
        "state": row.state,
        "mark": row.mark,
        "observations": row.observations,
        "seconds": row.seconds,
    }
