"""The facts of a study that tables, charts and reports show: plain values from its store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from separatrix.matrix import Array
from separatrix.text import counted
from separatrix.training.history import History

MEASURES = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")


@dataclass(frozen=True)
class DataFacts:
    """What a study was trained on.

    Attributes
    ----------
    name : of the source; "data" for arrays
    rows : number of rows of each part, "train" and, where there are some, "validation"
    classes : the labels, as plain values
    feature_names : d names, or None where there are none
    fingerprint : sha256 of the rows as they came in
    notes : what was decided when they were read and prepared, in sentences
    """

    name: str
    rows: dict[str, int]
    features: int
    classes: list[Any]
    feature_names: list[str] | None
    fingerprint: str
    notes: list[str] = field(default_factory=list)

    def in_words(self) -> str:
        """Name and size.

        >>> DataFacts("iris", {"train": 100, "validation": 25}, 4, [0, 1, 2], None, "").in_words()
        'iris: 100 train, 25 validation rows, 4 features, 3 classes'
        """
        *parts, (last, count) = self.rows.items()
        rows = [*(f"{n:,} {part}" for part, n in parts), counted(count, f"{last} row")]
        size = counted(self.features, "feature"), counted(len(self.classes), "class", "classes")
        return f"{self.name}: {', '.join([*rows, *size])}"


@dataclass(frozen=True)
class Row:
    """One configuration of the grid: a line of the table.

    Measures are means over the seeds that are done; `deviation` has the standard deviations over
    them, empty for one seed. Epochs are medians over the seeds (of an even number the lower of the
    two in the middle, so that it is some seed's); those of each are in its history. What is not
    known is None: nothing is while `state` is "waiting", and validation measures are not without
    validation rows. Numbers beyond what a float holds are inf.

    Attributes
    ----------
    number : of the configuration, from 0; the key of `StudyFacts.histories`
    parameters : what varies, by name, in the order of the grid
    state : "waiting" or "done"
    last, best : measures by the names in MEASURES, at the last epoch and at that of the lowest
        validation loss, of every seed its own
    best_epoch : the latter
    kept_epoch : the epoch whose weights were kept
    epochs : epochs made
    stopped : why training ended, in words: "epochs", "diverged at epoch 3"
    diverged : number of seeds that diverged
    smoothness : L, from the data: a rate of 2/L is stable; None where the loss has kinks
    stable_rate : the rate up to which descent with its rule and momentum mu is stable by L alone,
        2/L or, say, 2(1 + mu)/L; None where there is no such limit
    relative_gap : the relative duality gap proven at the kept weights, where there is one
    objective : the formula that was minimised
    observations : what was seen, in sentences
    mark : "best", "same" (cannot be told apart from the best), "worse", or "" if not judged
    seconds : when its training was over, after that of its batch began
    """

    number: int
    parameters: dict[str, Any]
    state: str
    last: dict[str, float | None] = field(default_factory=dict)
    best: dict[str, float | None] = field(default_factory=dict)
    deviation: dict[str, float] = field(default_factory=dict)
    best_epoch: int | None = None
    kept_epoch: int | None = None
    epochs: int | None = None
    stopped: str = ""
    diverged: int = 0
    smoothness: float | None = None
    stable_rate: float | None = None
    relative_gap: float | None = None
    objective: str = ""
    observations: list[str] = field(default_factory=list)
    mark: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Comparison:
    """The best configuration against another one.

    `by` says what tells them apart, "accuracy" or "loss", "" if nothing does. `p_accuracy` is of an
    exact sign test (McNemar's) on rows that one predicts right and the other wrong, `p_loss` of a
    paired t-test on the rows' losses; None where it was not made.
    """

    number: int
    by: str
    p_accuracy: float | None
    p_loss: float | None


@dataclass(frozen=True)
class StudyVerdict:
    """What a study found.

    Attributes
    ----------
    best : number of the best configuration, None if there is none yet
    score : "val_accuracy", or "train_loss" where there are no validation rows
    sentences : the verdict in words, each computed, the best first
    comparisons : the best against every other one that is done and did not diverge
    edges : parameters whose best value is at the edge of the grid: "low" or "high"
    diverged, runs : configurations and seeds that diverged, and all that are done
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
    """The weights kept of the best configuration's first seed: coef (K, d), intercept (K,)."""

    coef: Array
    intercept: Array


@dataclass(frozen=True, eq=False)
class StudyFacts:
    """A study as its store has it, whether it is finished or not.

    Attributes
    ----------
    name, created, seconds : created in UTC, ISO 8601; seconds of training, over all sessions
    finished : whether all runs are done
    estimator, parameters : the class, and the parameters that were given for all configurations
    grid : the values of each parameter that varies, in order
    seeds : the random states of the repeats
    data : what it was trained on
    command, python : how to do it again, in a terminal ("" if it was not made there) and in Python
    versions : of Python and the libraries that trained it
    objective_words : the formulas that were minimised, each once
    notes : what was chosen for the user, in sentences
    rows : the table, one row for each configuration, in the order of the grid
    histories : for every configuration that is done, by number, a history for every seed
    verdict : what was found
    weights : of the best configuration
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

    @property
    def varied(self) -> list[str]:
        """The parameters that have more than one value."""
        return [name for name, values in self.grid.items() if len(values) > 1]

    def table(self) -> list[dict[str, Any]]:
        """The rows as flat dictionaries of plain values; two equal studies differ in seconds only.

        The names of parameters come first; those of the best epoch begin with "best_".
        """
        return [_flat(row) for row in self.rows]


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
        "epochs_made": row.epochs,
        "stopped": row.stopped,
        "state": row.state,
        "mark": row.mark,
        "observations": row.observations,
        "seconds": row.seconds,
    }
