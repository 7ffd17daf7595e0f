"""The models of all folds at some values of C, with bounds on the scores of their test rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from separatrix.cluster import is_collection
from separatrix.data import BlockRows, Dataset, rows_per_block
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.checks.class_weights import with_class_weights
from separatrix.estimators.checks.training_data import as_weights, make_dataset
from separatrix.estimators.checks.validation import require_equal_lengths, require_labels
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.svc import LinearSVC
from separatrix.losses import OneVsRest
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.model_selection.candidates import Candidate, copy_unfitted
from separatrix.model_selection.certified.row_measures import MEASURES
from separatrix.model_selection.folds import Folds, as_indexable
from separatrix.model_selection.scaling_as_penalty import scales
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.training import train
from separatrix.training.task import Task
from separatrix.verdict.regions.score_paths import PathRows, References, ScorePath, score_paths
from separatrix.verdict.regions.secant_curvature import has_one_peak

LARGEST_GAP = 1e-7  # relative duality gap of the fits
MOST_COLUMNS = 500  # of X, for one Hessian per fit; fewer with several classes


@dataclass(frozen=True)
class Fold:
    """The test rows of a fold.

    Attributes
    ----------
    rows, path_rows, y : their numbers, the rows and their class numbers
    weights : their shares of the mean over all folds
    unit : the strength of the penalty for C = 1
    """

    rows: Array
    path_rows: PathRows
    y: Array
    weights: Array
    unit: float


@dataclass(frozen=True, eq=False)
class FoldPoint:
    """The models of all folds at one value of C.

    Attributes
    ----------
    C, value : the value of C, and the measure of the trained models
    fold_values : the measure of each fold (F,)
    models : the models (B = F)
    paths : bounds on the scores of the test rows of each fold
    references : for each fold what bounds of other values nearby can use, or None
    """

    C: float
    value: float
    fold_values: Array
    models: Model
    paths: list[ScorePath]
    references: list[References | None]


@dataclass(frozen=True, eq=False)
class FoldModels:
    """Trains the models of all folds.

    Attributes
    ----------
    tasks : a task for each fold
    data : the rows, with a column of weights for each fold
    path_rows : the rows, for the bounds
    folds : the test rows of each fold
    measure : name of the measure
    """

    tasks: list[Task]
    data: Dataset
    path_rows: PathRows
    folds: list[Fold]
    measure: str

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any, sample_weight: Any, cv: Any, measure: str
    ) -> FoldModels:
        """Check the data and the estimator, and split the rows."""
        if isinstance(X, BlockRows):
            raise TypeError(
                f"certified_search needs all rows in memory. Got {X!r}. Pass an array or a sparse "
                "matrix."
            )
        if is_collection(X):
            raise TypeError(
                f"certified_search needs all rows in memory. Got a {type(X).__name__} of Dask. If "
                "they fit, pass X.compute() and y.compute()."
            )
        require_equal_lengths(X, y)
        require_labels("y", y)
        labels = column_or_1d(y, warn=True)
        X = as_indexable(X)
        classifier, standardises = _classifier(estimator, X)
        s = as_weights(sample_weight, X, 1)
        folds = Folds.split(cv, X, y, labels, s, {})
        checked = copy(classifier)
        with rows_per_block(None):
            data = make_dataset(checked, X, labels, None)
        counts = folds.weights()
        factors = scales(data.with_weights(counts)).T if standardises else [None] * len(folds)
        weights = counts if s is None else counts * s[:, None]
        of_class = [classifier.class_weight] * len(folds)
        numbers = data.labels()
        data = data.with_weights(with_class_weights(weights, numbers, data.classes, of_class))
        tasks = []
        for k, own in enumerate(factors):
            seen = data.select(np.array([k]))
            _require_every_class(seen, k)
            task = classifier._make_task(seen, None if own is None else np.ascontiguousarray(own))
            _require_certificate(classifier, task, data, measure)
            stop = replace(task.stop, tol=np.minimum(task.stop.tol, LARGEST_GAP))
            tasks.append(replace(task, stop=stop, rounds=False, device=None, start=None))
        free = classifier._has_free_bias()
        every = PathRows.of(Objective(data, tasks[0].loss, ElasticNet(0.0, 1.0)), free)
        parts = []
        for k, (test, task) in enumerate(zip(folds.test, tasks)):
            rows = np.sort(test)
            own = np.ones(len(rows)) if s is None else s[rows]
            if not own.any():
                raise ValueError(
                    f"Split {k} of the cross-validation (counted from 0) has no test row with a "
                    "positive sample_weight. Use other splits, or give more rows a weight."
                )
            share = own / own.sum() / len(folds)
            unit = task.l2 * float(classifier.C)
            parts.append(Fold(rows, every.take(rows), numbers[rows], share, unit))
        return cls(tasks, data, every, parts, measure)

    def train(
        self,
        Cs: Sequence[float],
        reach: Sequence[tuple[float, float]],
        starts: Sequence[Model | None],
        references: Sequence[Sequence[References | None]],
    ) -> list[FoldPoint]:
        """Train the models of all folds at some values of C as one batch.

        Parameters
        ----------
        Cs : the values
        reach : for each, the smallest and the largest C for which bounds are needed
        starts : for each, the models to start from (B = F), or None
        references : for each, those of a value nearby
        """
        F = len(self.folds)
        tasks = [
            replace(task, l2=fold.unit / C, start=None if start is None else one)
            for C, start in zip(Cs, starts)
            for task, fold, one in zip(
                self.tasks, self.folds, [None] * F if start is None else start.split(np.arange(F))
            )
        ]
        which = np.tile(np.arange(F), len(Cs))
        data = self.data.select(which)
        results = train(tasks, data)
        model = Model.stack([result.model.astype(np.float64) for result in results])
        factors = None
        if tasks[0].factors is not None:
            factors = np.stack([task.factors for task in tasks if task.factors is not None], axis=1)
        first = tasks[0]
        penalty = ElasticNet(
            np.zeros(len(tasks)), [task.l2 for task in tasks], factors, first.bias_factor
        )
        found = score_paths(
            Objective(data, first.loss, penalty, bias=first.bias),
            model,
            self.path_rows,
            [(fold.unit / most, fold.unit / least) for least, most in reach for fold in self.folds],
            [(fold.rows, fold.path_rows) for _ in Cs for fold in self.folds],
            [one for own in references for one in own],
        )
        points = []
        for c, C in enumerate(Cs):
            own = slice(c * F, (c + 1) * F)
            paths = [path for path, _ in found[own]]
            shares = self._of_folds([(path.scores, path.scores) for path in paths])[0]
            models = model.select(np.arange(F) + c * F)
            others = [one for _, one in found[own]]
            points.append(FoldPoint(C, float(shares.sum()), F * shares, models, paths, others))
        return points

    def measured(self, scores: Sequence[tuple[Array, Array]]) -> tuple[float, float]:
        """Return bounds on the measure from bounds on the scores of the test rows of all folds."""
        low, high = self._of_folds(scores)
        return float(low.sum()), float(high.sum())

    def _of_folds(self, scores: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Return the bounds (F,) of each fold, as shares of the mean."""
        low, high = np.zeros(len(scores)), np.zeros(len(scores))
        for k, (fold, (least, most)) in enumerate(zip(self.folds, scores)):
            of_rows = MEASURES[self.measure](fold.y, least, most)
            low[k], high[k] = (float(fold.weights @ values) for values in of_rows)
        return low, high


def _classifier(estimator: Any, X: Any) -> tuple[OptimumClassifier, bool]:
    """Return the classifier of an estimator, and whether it standardises the features."""
    estimator = LogisticRegression() if estimator is None else estimator
    found = Candidate.of(estimator, X, {})
    if (
        found is None
        or not isinstance(found.classifier, OptimumClassifier)
        or not (found.transformers is None or found.scales_penalty)
    ):
        raise TypeError(
            "certified_search takes a LogisticRegression, a LinearSVC with loss='squared_hinge', "
            "or a KernelClassifier with loss='logistic' or loss='squared_hinge', alone or after a "
            f"StandardScaler in a pipeline. Got {estimator!r} instead. Other steps would change X "
            "differently in every fold: apply them before the search."
        )
    classifier = copy_unfitted(found.classifier)
    C, l1_ratio = classifier._penalty()
    if l1_ratio:
        raise ParameterError(
            Message(
                "certified_search needs {l1_ratio}: with an L1 penalty nothing bounds the "
                "optimum for other values of C. Got {given!r} instead.",
                l1_ratio=Parameter("l1_ratio", 0),
                given=l1_ratio,
            ),
            parameter="l1_ratio",
        )
    if not np.isfinite(C):
        classifier.C, classifier.penalty = 1.0, "auto"
    return classifier, found.standardise()


def _require_certificate(
    classifier: OptimumClassifier, task: Task, data: Dataset, measure: str
) -> None:
    """Raise if there are no bounds for a task."""
    if not has_one_peak(task.loss, task.n_outputs):
        _refuse_loss(classifier, task)
    most = int(MOST_COLUMNS / np.sqrt(task.n_outputs))
    if data.n_features > most:
        raise ValueError(
            "certified_search computes a Hessian for every class against the rest, and so takes X "
            f"with up to {most} columns here. Got {data.n_features:,}. Select features first."
        )
    if measure == "log_loss" and task.loss.probabilities(np.zeros((1, 1, task.n_outputs))) is None:
        raise ParameterError(
            f"measure='log_loss' needs probabilities, and the loss '{task.loss.name}' has none. "
            "Use measure='error', or a LogisticRegression.",
            parameter="measure",
        )


def _refuse_loss(classifier: OptimumClassifier, task: Task) -> None:
    """Raise, with the parameters of the classifier that give bounds."""
    loss, ovr = Parameter("loss", "squared_hinge"), Parameter("multiclass", "ovr")
    template = "{loss}" if isinstance(classifier, LinearSVC) else "loss='logistic' or {loss}"
    if isinstance(classifier, LogisticRegression):
        template = "{ovr}"
    elif task.n_outputs > 1 and not isinstance(task.loss, OneVsRest):
        template += ", and {ovr}"
    raise ParameterError(
        Message(
            "certified_search has no bounds for the loss '{name}': it must be smooth, with scores "
            f"that do not depend on each other. Set {template}.",
            name=task.loss.name,
            ovr=ovr,
            loss=loss,
        ),
        parameter="multiclass" if template == "{ovr}" else "loss",
    )


def _require_every_class(data: Dataset, k: int) -> None:
    missing = data.classes[data.class_weight() == 0.0]
    if len(missing):
        raise ValueError(
            f"The training rows of split {k} (counted from 0) have no row of class {missing[0]!s} "
            "with a positive weight. Use stratified splits with fewer folds, or give more rows of "
            "this class a weight."
        )
