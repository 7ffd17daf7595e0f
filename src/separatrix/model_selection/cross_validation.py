"""All candidates on all folds of a cross-validation, as one batch.

A fold is a column of weights, 0 on the rows held out: X is neither copied nor cut, and all models
share its passes. Only what a transformer makes of X differs from fold to fold in a way that weights
cannot express; then the candidates of one fold are a batch.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from separatrix._sklearn_compat import check_method_params, safe_indexing
from separatrix.data import Dataset
from separatrix.estimators.class_weights import with_class_weights
from separatrix.estimators.convergence import warn_together
from separatrix.estimators.fit_many import as_weights, copy_learnt, prepare, require_validation
from separatrix.estimators.linear_classifier import ACCEPTED, LinearClassifier
from separatrix.estimators.optimum_classifier import CertifiedClassifier
from separatrix.estimators.validation import (
    as_numbers,
    require_equal_lengths,
    require_finite,
    require_labels,
    require_numbers,
)
from separatrix.matrix import Array, Matrix
from separatrix.model_selection.folds import Folds, as_indexable
from separatrix.model_selection.pipelines import Recipe
from separatrix.model_selection.scaling_as_penalty import scales
from separatrix.model_selection.scoring import Referee, Sight, all_scores
from separatrix.model_selection.warm_started_path import train_in_waves
from separatrix.training import Interrupted, Progress
from separatrix.training.callbacks import OnRecord, renumbered
from separatrix.training.task import Task


@dataclass
class Trial:
    """A candidate on one fold.

    Attributes
    ----------
    recipe, fold : which
    number : its place among the trials, candidate by candidate; those on all rows come last
    model : the classifier, fitted unless there is an `error`
    whole : the pipeline that the model is the end of, if there is one
    finished : False if training was interrupted; then there are no scores
    scores : the scores on the "test" rows and, if asked for, on the "train" rows
    fit_seconds, score_seconds : its share of the time of its batch
    """

    recipe: Recipe
    fold: int
    number: int
    model: LinearClassifier
    whole: Any = None
    finished: bool = True
    error: str | None = None
    scores: dict[str, Any] = field(default_factory=dict)
    fit_seconds: float = 0.0
    score_seconds: float = 0.0


class Listener:
    """Passes progress on, and remembers that it was told to end."""

    def __init__(self, on_record: OnRecord | None) -> None:
        self.ended, self._on_record = False, on_record
        self.told = None if on_record is None else self._tell

    def _tell(self, progress: Progress) -> None:
        assert self._on_record is not None
        try:
            self._on_record(progress)
        except Interrupted:
            self.ended = True
            raise


ALONG = 6  # candidates, up to which all are fitted to all rows along with the folds

# For every fold, the rows of a matrix that count and what a scorer is shown of them.
Part = Sequence[tuple[Any, Sight]]


@dataclass(frozen=True)
class CrossValidation:
    """Trains candidates on the folds of X (n, d) and y (n,), both as they were given, and scores.

    Attributes
    ----------
    sample_weight : (n,) or None
    folds, referee : the splits, and who scores
    train_scores : whether the training rows are scored too
    raise_errors : whether a candidate that cannot be fitted is an error; otherwise it is noted
    listener : who is told of the progress, and may end it
    """

    X: Any
    y: Any
    sample_weight: Array | None
    folds: Folds
    referee: Referee
    train_scores: bool = False
    raise_errors: bool = True
    listener: Listener = field(default_factory=lambda: Listener(None))

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        cv: Any,
        scorer: Any,
        to_splitter: Mapping[str, Any],
        to_scorer: Mapping[str, Any],
        error_score: Any = "raise",
        train_scores: bool = False,
        on_record: OnRecord | None = None,
    ) -> CrossValidation:
        """Check the labels and the weights, split the rows, and appoint the referee."""
        require_equal_lengths(X, y)
        require_labels("y", y)
        labels = column_or_1d(y, warn=True)
        X = as_indexable(X)
        # A series goes to splitters and scorers as it is. Of an index, or of the arrays behind a
        # series, scikit-learn cannot always pick rows.
        y = y if hasattr(y, "iloc") else labels
        s = as_weights(sample_weight, X, 1)
        folds = Folds.split(cv, X, y, labels, s, to_splitter)
        to_scorer = check_method_params(X, params=to_scorer)
        referee = Referee(scorer, to_scorer, error_score, X, y, labels)
        raises = isinstance(error_score, str)
        return cls(X, y, s, folds, referee, train_scores, raises, Listener(on_record))

    def run(
        self, recipes: Sequence[Recipe], keys: Sequence[Hashable], refit: bool = False
    ) -> tuple[list[Trial], list[Trial]]:
        """The trials of every candidate on every fold, candidate by candidate; those on all rows.

        Candidates with transformers and equal keys have the same transformers. There are trials on
        all rows if one candidate is to be fitted to them and it costs less to take all along: a
        model alone takes as long as some in a batch. Trials that were interrupted say so.
        """
        F = len(self.folds)
        along = refit and len(recipes) <= ALONG and all(_goes_along(r) for r in recipes)
        groups: dict[tuple[bool, Hashable, Hashable], list[int]] = {}
        for c, (recipe, key) in enumerate(zip(recipes, keys)):
            direct = recipe.transformers is None
            alike = direct, None if direct else key, recipe.classifier._rows_key()
            groups.setdefault(alike, []).append(c)
        out: dict[int, list[Trial]] = {}
        for (direct, _, _), members in groups.items():
            trials = [_trials(c, recipes[c], F, len(recipes) if along else None) for c in members]
            train = self._in_place if direct else self._by_fold
            train(trials)
            out |= zip(members, trials)
        each = [out[c] for c in range(len(recipes))]
        return [trial for own in each for trial in own[:F]], [own[F] for own in each if own[F:]]

    def _by_fold(self, candidates: Sequence[Sequence[Trial]]) -> None:
        for k in range(len(self.folds)):
            self._transformed([own[k] for own in candidates], k)

    def _in_place(self, candidates: Sequence[Sequence[Trial]]) -> None:
        """Train on X as it is, all folds in one batch; a last fold may be all rows."""
        began, folds = time.perf_counter(), self.folds
        trials = [trial for own in candidates for trial in own]
        if len(candidates[0]) > len(folds):
            every = np.arange(folds.n_samples)
            folds = Folds([*folds.train, every], [*folds.test, every[:0]], folds.n_samples)
        if self._is_over(trials):
            return
        X = self._fit(trials, self.X, self.y, self.sample_weight, folds)
        fitted = time.perf_counter()
        parts = {"test": [(rows, self.referee.sight(rows)) for rows in self.folds.test]}
        if self.train_scores:
            parts["train"] = [(rows, self.referee.sight(rows)) for rows in self.folds.train]
        self._score([trial for trial in trials if trial.fold < len(self.folds)], X, parts)
        _timed(trials, began, fitted)

    def _transformed(self, trials: list[Trial], k: int) -> None:
        """Train on what the transformers, fitted on the training rows of one fold, make of them."""
        if self._is_over(trials):
            return
        began = time.perf_counter()
        train, test = self.folds.train[k], self.folds.test[k]
        y = safe_indexing(self.y, train)
        for trial in trials:
            trial.fold = 0  # one fold: all rows of what the transformers make
        transformers: Any = clone(trials[0].recipe.transformers)
        s = None if self.sample_weight is None else self.sample_weight[train]
        every = np.arange(len(train))
        try:
            # As a pipeline does it: fit_transform need not be fit and transform.
            X = transformers.fit_transform(safe_indexing(self.X, train), y)
            matrix = self._fit(trials, X, y, s, Folds([every], [every], len(train)))
            held_out = _checked(_through(transformers, safe_indexing(self.X, test)))
            seen = Matrix(trials[0].model._see_rows(held_out))
        except Exception:
            for trial in trials:
                self._note(trial)
            _timed(trials, began, time.perf_counter())
            return
        for trial in trials:
            trial.whole = Pipeline([*transformers.steps, ("classifier", trial.model)])
        fitted = time.perf_counter()
        whole = slice(None)
        self._score(trials, seen, {"test": [(whole, self.referee.sight(test))]})
        if self.train_scores:
            self._score(trials, matrix, {"train": [(whole, self.referee.sight(train))]})
        for trial in trials:
            trial.fold = k
        _timed(trials, began, fitted)

    def _is_over(self, trials: Sequence[Trial]) -> bool:
        """Whether nothing more is to be trained; then these trials are not."""
        for trial in trials:
            trial.finished = not self.listener.ended
        return self.listener.ended

    def _fit(self, trials: list[Trial], X: Any, y: Any, s: Array | None, folds: Folds) -> Matrix:
        """Train all models on their folds of some X, as few batches as possible; return X."""
        checked = copy(trials[0].model)
        data = prepare(checked, X, y, None)
        (block,) = data.blocks()
        counts = folds.weights()
        weights, whose = self._weights(trials, data, counts if s is None else counts * s[:, None])
        data = Dataset.of(block.X, block.y, weights, whose=whose, classes=data.classes)
        tasks = self._tasks(trials, data, folds)
        require_validation(list(tasks.values()), None)
        numbers = list(tasks)
        results = train_in_waves(
            list(tasks.values()),
            _paths([trials[number] for number in numbers], list(tasks.values())),
            data.select(np.array(numbers, int)),
            renumbered(self.listener.told, [trials[number].number for number in numbers]),
        )
        for trial in trials:
            copy_learnt(checked, trial.model)
        for (number, task), result in zip(tasks.items(), results):
            trials[number].finished = result.stop_reason != "interrupted"
            trials[number].model._accept(result, task.loss, data.classes)
        return block.X

    def _weights(self, trials: Sequence[Trial], data: Dataset, s: Array) -> tuple[Array, list[int]]:
        """The weights (n, G): those of the folds (n, F) times those of classes; whose is which."""
        (block,) = data.blocks()
        columns: list[Array] = []
        places: dict[tuple[int, str], int] = {}
        whose = []
        for trial in trials:
            given = getattr(trial.model, "class_weight", None)
            key = trial.fold, repr(given)
            if key not in places:
                own: Array | None = np.ascontiguousarray(s[:, trial.fold])
                try:
                    own = with_class_weights(own, block.y, data.classes, [given])
                    places[key] = len(columns)
                except ValueError:
                    self._note(trial)
                assert own is not None
                columns.append(own)
            whose.append(places.get(key, len(columns) - 1))
        return np.stack(columns, axis=1), whose

    def _tasks(self, trials: Sequence[Trial], data: Dataset, folds: Folds) -> dict[int, Task]:
        """The tasks of the trials that can be trained, by their numbers."""
        (block,) = data.blocks()
        factors: Array = np.empty(0)
        if any(trial.recipe.standardise for trial in trials):
            factors = np.ascontiguousarray(scales(block.X, folds.weights()).T)
        tasks = {}
        first = data.first_alike(len(trials)).tolist()
        rows = {number: data.select(np.array([number])) for number in set(first)}
        for number, trial in enumerate(trials):
            try:
                if trial.error is None:
                    own = rows[first[number]]
                    scale = factors[trial.fold] if trial.recipe.standardise else None
                    tasks[number] = _task(trial.model, own, scale)
            except ValueError:
                self._note(trial)
        return tasks

    def _note(self, trial: Trial) -> None:
        """Keep the error that is being handled with its trial, or let it pass."""
        if self.raise_errors:
            raise
        trial.error = format_exc()

    def _score(self, trials: Sequence[Trial], X: Matrix, parts: Mapping[str, Part]) -> None:
        """Score all models on parts of the rows of X, by one product."""
        good = [trial for trial in trials if trial.error is None and trial.finished]
        for number, Z in all_scores([trial.model for trial in good], X):
            trial = good[number]
            for name, seen in parts.items():
                rows, sight = seen[trial.fold]
                score = self.referee.score(trial.model, sight, Z[rows], trial.whole)
                trial.scores[name] = score


def _trials(c: int, recipe: Recipe, F: int, along: int | None) -> list[Trial]:
    """Those of candidate c on F folds; one of so many that go along has another, on all rows."""
    numbers = [c * F + k for k in range(F)] + ([] if along is None else [along * F + c])
    return [Trial(recipe, k, n, _alike(recipe.classifier)) for k, n in enumerate(numbers)]


def _alike(model: Any) -> Any:
    """A copy of a model that is not fitted, made faster than a clone.

    Of what can change there is a new one.
    """
    out = copy(model)
    for name, value in vars(model).items():
        if not isinstance(value, (type(None), bool, int, float, str)):
            setattr(out, name, deepcopy(value))
    return out


def _goes_along(recipe: Recipe) -> bool:
    """Whether a candidate fitted to all rows beside the folds is what it would be alone.

    With L1 it would start from its neighbours in the grid.
    """
    without_l1 = getattr(recipe.classifier, "l1_ratio", 0.0) == 0.0
    return recipe.transformers is None and not recipe.standardise and without_l1


def finish(fitted: Trial, X: Any, y: Any, sample_weight: Any) -> LinearClassifier:
    """The model of a trial on all rows, with what `fit` does after training."""
    fitted.model._warn()
    fitted.model._calibrate(X, y, sample_weight)
    return fitted.model


def warn_of(trials: Sequence[Trial]) -> None:
    """Warn once of all models that are unfit for use, naming the line that called `fit`."""
    good = [trial for trial in trials if trial.error is None and trial.finished]
    warn_together(
        [trial.model for trial in good],
        "models of the cross-validation",
        lambda k: f"{good[k].model} on split {good[k].fold}",
    )


def _task(model: LinearClassifier, data: Dataset, factors: Array | None) -> Task:
    if factors is None:
        return model._task(data)
    assert isinstance(model, CertifiedClassifier)
    return model._task(data, factors)


def _paths(trials: Sequence[Trial], tasks: Sequence[Task]) -> list[list[int]]:
    """The trials that differ in C alone, from strong to weak, if they have L1; all others alone.

    Without L1 a start from a neighbour saves little: 5 folds took 0.8 to 0.94 of the time by
    `newton`, 1.16 by `dual`. And each model would depend on the grid it is in.
    """
    paths: dict[Hashable, list[int]] = {}
    for number, (trial, task) in enumerate(zip(trials, tasks)):
        key: Hashable = number
        if task.l1 > 0.0 and hasattr(trial.model, "C"):
            others = {k: v for k, v in trial.model.get_params().items() if k != "C"}
            key = (trial.fold, trial.recipe.standardise, repr(sorted(others.items())))
        paths.setdefault(key, []).append(number)
    return [
        sorted(path, key=lambda n: getattr(trials[n].model, "C", 0.0)) for path in paths.values()
    ]


def _through(pipeline: Pipeline, X: Any) -> Any:
    """X after all steps of a fitted pipeline.

    Step by step: a pipeline asks its last one whether it is fitted, and not all transformers know.
    """
    for _, step in pipeline.steps:
        if step not in (None, "passthrough"):
            X = step.transform(X)
    return X


def _checked(X: Any) -> Any:
    """What a transformer returned, checked as `fit` checks it."""
    require_numbers("X", X)
    checked = check_array(X, accept_sparse=ACCEPTED, dtype="numeric", ensure_all_finite=False)
    checked = as_numbers(checked)
    require_finite("X", checked)
    return checked


def _timed(trials: list[Trial], began: float, fitted: float) -> None:
    """Give each trial of a batch that ends now an equal share of its time."""
    fit, score = fitted - began, time.perf_counter() - fitted
    for trial in trials:
        trial.fit_seconds, trial.score_seconds = fit / len(trials), score / len(trials)
