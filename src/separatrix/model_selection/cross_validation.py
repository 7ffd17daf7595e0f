"""Cross-validation of all candidates on all folds in as few batches as possible.

A fold is a column of sample weights with 0 for the rows held out. So X is not copied, and all
models share the passes over X. If a transformer changes X differently in every fold, weights are
not sufficient, and the candidates of each fold are a batch.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from traceback import format_exc
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from separatrix._sklearn_compat import check_method_params, safe_indexing
from separatrix.data import BlockRows, Dataset, require_own_labels
from separatrix.estimators.certified.certified_predictions import prove
from separatrix.estimators.checks.class_weights import with_class_weights
from separatrix.estimators.checks.training_data import as_weights, make_dataset
from separatrix.estimators.checks.validation import (
    as_numbers,
    require_equal_lengths,
    require_finite,
    require_labels,
    require_numbers,
)
from separatrix.estimators.fit_many import require_validation
from separatrix.estimators.linear_classifier import (
    ACCEPTED,
    LinearClassifier,
    copy_feature_attributes,
)
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.matrix import Array, Matrix
from separatrix.model_selection.candidates import Candidate, FoldFit
from separatrix.model_selection.folds import Folds, as_indexable
from separatrix.model_selection.interruption import InterruptibleCallback
from separatrix.model_selection.scaling_as_penalty import scales
from separatrix.model_selection.scoring import (
    FoldScorer,
    ScoredRows,
    accuracies,
    accuracy_bounds,
    scores_of_models,
)
from separatrix.model_selection.shared_solver import share_solver
from separatrix.model_selection.warm_started_path import train_warm_started
from separatrix.training.recording.callbacks import OnProgress, renumbered
from separatrix.training.task import Task
from separatrix.verdict.regions import Region

FEW_CANDIDATES = 6  # up to this number, all candidates are fitted to all rows with the folds

# For every fold, the rows of a matrix to score and their form for the scorer.
Part = Sequence[tuple[Any, ScoredRows]]


@dataclass(frozen=True)
class CrossValidation:
    """Trains candidates on the folds of X (n, d) and y (n,), and scores them.

    Attributes
    ----------
    X, y : the data as given by the user
    sample_weight : (n,) or None
    folds, scorer : the splits, and the scorer of the models
    train_scores : whether to score the training rows too
    fold_by_fold : whether to score all models of a fold before the next fold, which matters only to
        a scorer that remembers its calls
    raise_errors : whether a candidate that cannot be fitted raises; otherwise the error is recorded
    callback : receives the progress and can stop the training
    certified_gap : relative duality gap of fits whose accuracy at the optimum is bounded, or None
    """

    X: Any
    y: Any
    sample_weight: Array | None
    folds: Folds
    scorer: FoldScorer
    train_scores: bool = False
    fold_by_fold: bool = False
    raise_errors: bool = True
    callback: InterruptibleCallback = field(default_factory=lambda: InterruptibleCallback(None))
    certified_gap: float | None = None

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
        fold_by_fold: bool = False,
        on_progress: OnProgress | None = None,
    ) -> CrossValidation:
        """Check the labels and the weights, and split the rows."""
        if isinstance(X, BlockRows):
            require_own_labels(X, y, sample_weight)
            y, sample_weight = X.y, X.weights
        require_equal_lengths(X, y)
        require_labels("y", y)
        labels = column_or_1d(y, warn=True)
        X = as_indexable(X)
        # Splitters and scorers get a series unchanged. scikit-learn cannot always select rows of a
        # pandas index or extension array, so these are replaced by the labels.
        y = y if hasattr(y, "iloc") else labels
        s = as_weights(sample_weight, X, 1)
        folds = Folds.split(cv, X, y, labels, s, to_splitter)
        to_scorer = check_method_params(X, params=to_scorer)
        by = FoldScorer(scorer, to_scorer, error_score, X, y, labels)
        raises = isinstance(error_score, str)
        callback = InterruptibleCallback(on_progress)
        return cls(X, y, s, folds, by, train_scores, fold_by_fold, raises, callback)

    def run(
        self, candidates: Sequence[Candidate], refit: bool = False
    ) -> tuple[list[FoldFit], list[FoldFit]]:
        """Return the fits to the folds, candidate by candidate, and the fits to all rows.

        With `refit` and few candidates, all candidates are also fitted to all rows in the same
        batch, because this is faster than fitting the best one separately afterwards. Interrupted
        fits have `finished` set to False.
        """
        F, C = len(self.folds), len(candidates)
        along = refit and C <= FEW_CANDIDATES and all(map(_can_go_along, candidates))
        groups: dict[tuple[bool, Hashable, Hashable], list[Candidate]] = {}
        for c, candidate in enumerate(candidates):
            candidate.add_fits([c * F + k for k in range(F)] + ([C * F + c] if along else []))
            in_place = self._in_place(candidate)
            key = None if in_place else candidate.transformers_key()
            alike = in_place, key, candidate.classifier._feature_map_key()
            groups.setdefault(alike, []).append(candidate)
        for (in_place, _, _), members in groups.items():
            if in_place:
                self._fit_in_place([fit for candidate in members for fit in candidate.fits])
                continue
            for k in range(F):
                self._fit_transformed([candidate.fits[k] for candidate in members], k)
        each = [candidate.fits for candidate in candidates]
        return [fit for own in each for fit in own[:F]], [own[F] for own in each if own[F:]]

    def _in_place(self, candidate: Candidate) -> bool:
        """Return whether a candidate is trained on the original X with folds as weights."""
        scales_penalty = candidate.scales_penalty and self.scorer.needs_predictions_only
        return candidate.transformers is None or scales_penalty

    def _fit_in_place(self, fits: list[FoldFit]) -> None:
        """Train all folds together on the original X; the last fold can be all rows."""
        began, folds = time.perf_counter(), self.folds
        if any(fit.fold == len(folds) for fit in fits):
            every = np.arange(folds.n_samples)
            folds = Folds([*folds.train, every], [*folds.test, every[:0]], folds.n_samples)
        if self._is_over(fits):
            return
        X = self._fit(fits, self.X, self.y, self.sample_weight, folds)
        fitted = time.perf_counter()
        parts = {"test": [(rows, self.scorer.select_rows(rows)) for rows in self.folds.test]}
        if self.train_scores:
            parts["train"] = [(rows, self.scorer.select_rows(rows)) for rows in self.folds.train]
        scored = [fit for fit in fits if fit.fold < len(self.folds)]
        if self.fold_by_fold:
            scored.sort(key=lambda fit: fit.fold)
        self._score(scored, X, parts)
        _share_time(fits, began, fitted)

    def _fit_transformed(self, fits: list[FoldFit], k: int) -> None:
        """Train on the transformed training rows of fold k."""
        if self._is_over(fits):
            return
        began = time.perf_counter()
        train, test = self.folds.train[k], self.folds.test[k]
        y = safe_indexing(self.y, train)
        for fit in fits:
            fit.fold = 0  # a single fold with all transformed rows
        transformers: Any = clone(fits[0].candidate.transformers)
        s = None if self.sample_weight is None else self.sample_weight[train]
        every = np.arange(len(train))
        try:
            # Call fit_transform as a pipeline does: it can differ from fit and transform.
            X = transformers.fit_transform(safe_indexing(self.X, train), y)
            matrix = self._fit(fits, X, y, s, Folds([every], [every], len(train)))
            held_out = _check_transformed(_transform(transformers, safe_indexing(self.X, test)))
            seen = Matrix(fits[0].model._apply_feature_map(held_out))
        except Exception:
            for fit in fits:
                self._record_error(fit)
            _share_time(fits, began, time.perf_counter())
            return
        for fit in fits:
            fit.pipeline = Pipeline([*transformers.steps, ("classifier", fit.model)])
        fitted = time.perf_counter()
        whole = slice(None)
        self._score(fits, seen, {"test": [(whole, self.scorer.select_rows(test))]})
        if self.train_scores:
            self._score(fits, matrix, {"train": [(whole, self.scorer.select_rows(train))]})
        for fit in fits:
            fit.fold = k
        _share_time(fits, began, fitted)

    def _is_over(self, fits: Sequence[FoldFit]) -> bool:
        """Return whether the training was interrupted, and mark the fits accordingly."""
        for fit in fits:
            fit.finished = not self.callback.interrupted
        return self.callback.interrupted

    def _fit(self, fits: list[FoldFit], X: Any, y: Any, s: Array | None, folds: Folds) -> Dataset:
        """Train all models on their folds of X in as few batches as possible; return the rows."""
        checked = copy(fits[0].model)
        data = make_dataset(checked, X, y, None)
        counts = folds.weights()
        factors: Array = np.empty(0)
        if any(self._standardises(fit) for fit in fits):
            factors = np.ascontiguousarray(scales(data.with_weights(counts)).T)
        counts = counts if s is None else counts * s[:, None]
        weights, columns = self._weights(fits, data, counts)
        data = data.with_weights(weights, np.array(columns))
        tasks = self._make_tasks(fits, data, factors)
        require_validation(list(tasks.values()), None)
        numbers = list(tasks)
        results = train_warm_started(
            list(tasks.values()),
            self._paths([fits[number] for number in numbers], list(tasks.values())),
            data.select(np.array(numbers, int)),
            renumbered(self.callback.on_progress, [fits[number].number for number in numbers]),
        )
        for fit in fits:
            copy_feature_attributes(checked, fit.model)
        for (number, task), result in zip(tasks.items(), results):
            fits[number].finished = result.stop_reason != "interrupted"
            fits[number].model._set_fitted(result, task.loss, data.classes)
            if self.certified_gap is not None:
                fits[number].region = prove(task, data.select(np.array([number])), result)[0]
        return data

    def _weights(self, fits: Sequence[FoldFit], data: Dataset, s: Array) -> tuple[Array, list[int]]:
        """Return fold weights times class weights (n, G), and the column of each fit."""
        y = data.labels()
        columns: list[Array] = []
        places: dict[tuple[int, str], int] = {}
        column_of_fit = []
        for fit in fits:
            given = getattr(fit.model, "class_weight", None)
            key = fit.fold, repr(given)
            if key not in places:
                own: Array | None = np.ascontiguousarray(s[:, fit.fold])
                try:
                    own = with_class_weights(own, y, data.classes, [given])
                    places[key] = len(columns)
                except ValueError:
                    self._record_error(fit)
                assert own is not None
                columns.append(own)
            column_of_fit.append(places.get(key, len(columns) - 1))
        return np.stack(columns, axis=1), column_of_fit

    def _make_tasks(
        self, fits: Sequence[FoldFit], data: Dataset, factors: Array
    ) -> dict[int, Task]:
        """Return the tasks of the fits without errors, by their positions in the list.

        `factors` (F, d) are the penalty factors of standardised features in every fold.
        """
        tasks = {}
        first = data.first_alike(len(fits)).tolist()
        rows = {number: data.select(np.array([number])) for number in set(first)}
        for number, fit in enumerate(fits):
            try:
                if fit.error is None:
                    own = rows[first[number]]
                    scale = factors[fit.fold] if self._standardises(fit) else None
                    tasks[number] = _make_task(fit.model, own, scale, self.certified_gap)
            except ValueError:
                self._record_error(fit)
        automatic = {n: t for n, t in tasks.items() if _chooses_solver(fits[n].model)}
        return tasks | share_solver(automatic)

    def _standardises(self, fit: FoldFit) -> bool:
        """Return whether the scales of the features are penalty factors."""
        return self._in_place(fit.candidate) and fit.candidate.standardise()

    def _record_error(self, fit: FoldFit) -> None:
        """Raise the current exception again, or record it in the fit."""
        if self.raise_errors:
            raise
        fit.error = format_exc()

    def _score(
        self, fits: Sequence[FoldFit], X: Matrix | Dataset, parts: Mapping[str, Part]
    ) -> None:
        """Score all models on parts of the rows, with one product with X."""
        good = [fit for fit in fits if fit.error is None and fit.finished]
        self._bound(good, X, parts.get("test", []))
        if isinstance(X, Dataset) and not X.in_one_block and self.scorer.is_accuracy and good:
            for name, seen in parts.items():
                models, folds = [fit.model for fit in good], [fit.fold for fit in good]
                found = accuracies(models, folds, [rows for rows, _ in seen], X)
                for fit, score in zip(good, found):
                    fit.scores[name] = float(score)
            return
        for number, Z in scores_of_models([fit.model for fit in good], X):
            fit = good[number]
            for name, seen in parts.items():
                rows, shown = seen[fit.fold]
                fit.scores[name] = self.scorer.score(fit.model, shown, Z[rows], fit.pipeline)

    def _bound(self, fits: Sequence[FoldFit], X: Matrix | Dataset, test: Part) -> None:
        """Bound the accuracy of the optima on the test rows, for fits with a region."""
        for fit in fits:
            if isinstance(fit.region, Region) and test:
                rows, shown = test[fit.fold]
                y = np.searchsorted(fit.model.classes_, shown.labels)
                fit.bounds = accuracy_bounds(fit.region, fit.model._loss, X, rows, y)

    def _paths(self, fits: Sequence[FoldFit], tasks: Sequence[Task]) -> list[list[int]]:
        """Return paths of fits: with L1, fits that differ only in C, from strong to weak penalty.

        All other fits are paths of one. Without L1, starting from a neighbour saves little (five
        folds took 0.8 to 0.94 of the time with `newton`, 1.16 with `dual`), and each model would
        depend on the grid.
        """
        paths: dict[Hashable, list[int]] = {}
        for number, (fit, task) in enumerate(zip(fits, tasks)):
            key: Hashable = number
            if task.l1 > 0.0 and hasattr(fit.model, "C"):
                others = {k: v for k, v in fit.model.get_params().items() if k != "C"}
                key = (fit.fold, self._standardises(fit), repr(sorted(others.items())))
            paths.setdefault(key, []).append(number)
        return [
            sorted(path, key=lambda n: getattr(fits[n].model, "C", 0.0)) for path in paths.values()
        ]


def _can_go_along(candidate: Candidate) -> bool:
    """Return whether a candidate can be fitted to all rows in the batch of the folds.

    With L1, the fit would start from its neighbours in the grid and so depend on them. A pipeline
    must be fitted as a whole.
    """
    classifier = candidate.classifier
    without_l1 = not isinstance(classifier, OptimumClassifier) or classifier._penalty()[1] == 0.0
    return candidate.estimator is classifier and without_l1


def _make_task(
    model: LinearClassifier, data: Dataset, factors: Array | None, gap: float | None
) -> Task:
    if gap is not None:  # in a copy, because errors and warnings are about the model's own one
        model._check_parameters()
        model = copy(model)
        model.tol = gap
    if factors is None:
        return model._make_task(data)
    assert isinstance(model, OptimumClassifier)
    return model._make_task(data, factors)


def _chooses_solver(model: LinearClassifier) -> bool:
    return isinstance(model, OptimumClassifier) and model._solver_name() == "auto"


def _transform(pipeline: Pipeline, X: Any) -> Any:
    """Return X transformed by all steps of a fitted pipeline.

    The steps are called one by one, because a pipeline checks whether its last step is fitted, and
    not all transformers support this check.
    """
    for _, step in pipeline.steps:
        if step not in (None, "passthrough"):
            X = step.transform(X)
    return X


def _check_transformed(X: Any) -> Any:
    """Check the output of a transformer as `fit` checks X."""
    require_numbers("X", X)
    checked = check_array(X, accept_sparse=ACCEPTED, dtype="numeric", ensure_all_finite=False)
    checked = as_numbers(checked)
    require_finite("X", checked)
    return checked


def _share_time(fits: list[FoldFit], began: float, fitted: float) -> None:
    """Divide the time of a batch that ends now equally among its fits."""
    fit_seconds, score_seconds = fitted - began, time.perf_counter() - fitted
    for fit in fits:
        fit.fit_seconds, fit.score_seconds = fit_seconds / len(fits), score_seconds / len(fits)
