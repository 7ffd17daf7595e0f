"""The search of a grid by cross-validation, folds and candidates trained together."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metadata_routing import UNUSED

from separatrix._sklearn_compat import (
    check_method_params,
    insert_error_scores,
    scorers_by_name,
    warn_or_raise_about_fit_failures,
)
from separatrix.estimators.fit_many import finish_fit
from separatrix.estimators.validation import require_equal_lengths
from separatrix.model_selection.candidates import (
    Candidate,
    FoldFit,
    common_sample_weight,
    warn_about_fits,
)
from separatrix.model_selection.cross_validation import CrossValidation
from separatrix.training.callbacks import OnProgress
from separatrix.training.progress import TrainingCounter


class GridSearchCV(PlainGridSearchCV):
    """scikit-learn's GridSearchCV, with folds and candidates trained together.

    Parameters, attributes and methods are those of scikit-learn's class. What differs is how the
    models are trained. The folds are weights of the rows, so that all models of the search share
    their passes over X, which is neither copied nor cut. This is done for LogisticRegression,
    LinearSVC, KernelClassifier and full-batch GradientDescentClassifier, alone or at the end of a
    Pipeline:

    - a StandardScaler before a linear classifier becomes a factor of the penalty, for every fold
      from its own training rows;
    - the candidates with the same kernel share one factor of its matrix, made of all rows;
    - any other transformers are fitted once for every fold and for every combination of their own
      parameters, and the candidates that share them are one batch;
    - `class_weight="balanced"` is balanced for every fold by its own training rows.

    Everything else is left to scikit-learn's own search: other estimators, a LinearSVC with
    `probability`, parameters of `fit` other than the classifier's sample_weight, and callbacks.
    `n_jobs` and `pre_dispatch` matter only there: a batch uses the threads of `set_threads`.

    Two more attributes say how much was shared:

    n_batches_ : the batches that were trained, the refit included. All folds and candidates are one
        batch where they share a solver and its precision; with L1 there are up to four, each
        starting from the ones before. A solver that takes over from one that stalled is one more
    n_passes_ : how often the rows of X were read, by products with X and with X^T and by dual
        ascent. What the coordinate solver reads of single columns is not counted. Both count
        what the process does: searches in other threads at the same time are counted, too

    With solver="auto" the candidates share a solver where that costs no time, so that a model may
    be solved by another solver, or in another precision, than alone. Both reach `tol`:
    `best_estimator_` and a fit with the same parameters agree within their certificates. A solver
    that is named is used for all candidates.

    Two things are to be known of the results. `mean_fit_time` and `mean_score_time` are equal
    shares of the time of a batch. A split whose training rows lack a class is an error.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GridSearchCV, LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(LogisticRegression(), {"C": [0.01, 0.1, 1, 10]}, cv=3).fit(X, y)
    >>> search.best_params_, search.cv_results_["mean_test_score"].round(3)
    ({'C': 1}, array([0.873, 0.947, 0.973, 0.973]))
    """

    __metadata_request__fit: ClassVar = {"on_progress": UNUSED}  # not metadata of rows

    def fit(
        self, X: Any, y: Any = None, *, on_progress: OnProgress | None = None, **params: Any
    ) -> Self:
        """Train all candidates on all folds, and the best one on all rows.

        `params` are metadata such as `sample_weight` and `groups`, as in scikit-learn.

        `on_progress` is called with a `Progress` after every epoch of every batch. Its `members`
        are numbers of fits: candidate c on fold k of F is c F + k. If it raises `Interrupted`, no
        more is trained, `interrupted_` is True, the models that were not done have NaN for a score,
        and there is no refit. What is left to scikit-learn's own search does not call it.
        """
        self.interrupted_ = False
        for name in ("n_batches_", "n_passes_"):  # those of an earlier fit
            self.__dict__.pop(name, None)
        self._validate_params()
        grid = list(ParameterGrid(self.param_grid))
        found = [Candidate.of(self._make_estimator(params), X, params) for params in grid]
        candidates = [candidate for candidate in found if candidate is not None]
        others = len(candidates) < len(grid) or not grid
        if y is None or getattr(self, "_skl_callbacks", None) or others:
            return super().fit(X, y, **params)
        require_equal_lengths(X, y)
        routed = self._get_routed_params_for_fit(check_method_params(X, params=params))
        alike, sample_weight = common_sample_weight(candidates, routed.estimator.fit)
        if not alike:
            return super().fit(X, y, **params)
        counter = TrainingCounter()
        self.scorer_, _ = self._get_scorers()
        work = CrossValidation.of(
            X,
            y,
            sample_weight,
            cv=self.cv,
            scorer=self.scorer_,
            to_splitter=routed.splitter.split,
            to_scorer=routed.scorer.score,
            error_score=self.error_score,
            train_scores=self.return_train_score,
            on_progress=on_progress,
        )
        self.n_splits_ = len(work.folds)
        if self.verbose > 0:
            print(
                f"Fitting {self.n_splits_} folds for each of {len(grid)} candidates, "
                f"totalling {self.n_splits_ * len(grid)} fits"
            )
        fits, on_all_rows = work.run(candidates, bool(self.refit))
        self.interrupted_ = not all(fit.finished for fit in (*fits, *on_all_rows))
        warn_about_fits(fits)
        with warnings.catch_warnings():
            if self.interrupted_:  # scores that are NaN are no surprise
                warnings.simplefilter("ignore", UserWarning)
            self._take_results(grid, fits)
        if self.refit and not self.interrupted_:
            self._refit(X, y, routed.estimator.fit, candidates[self.best_index_], on_all_rows)
        self.n_batches_ = counter.n_batches()
        self.n_passes_ = counter.n_passes(work.folds.n_samples)
        return self

    def _make_estimator(self, params: dict[str, Any]) -> Any:
        # Parameters are cloned too: they may be estimators, such as the steps of a pipeline.
        return clone(self.estimator).set_params(**clone(params, safe=False))

    def _take_results(self, grid: list[dict[str, Any]], fits: Sequence[FoldFit]) -> None:
        """Bring the fits into scikit-learn's form, and let its code make the table of them."""
        parts = ("test", "train") if self.return_train_score else ("test",)
        out = [
            {f"{part}_scores": self._score_of(fit, part) for part in parts}
            | {"fit_error": fit.error}
            | {"fit_time": fit.fit_seconds, "score_time": fit.score_seconds}
            for fit in fits
        ]
        warn_or_raise_about_fit_failures(out, self.error_score)
        insert_error_scores(out, self.error_score)
        self.multimetric_ = any(isinstance(row["test_scores"], dict) for row in out)
        if self.multimetric_:
            self._check_refit_for_multimetric(out[0]["test_scores"])
        metric = self.refit if self.multimetric_ else "score"
        self.cv_results_ = self._format_results(grid, self.n_splits_, out)
        self.scorer_ = scorers_by_name(self.scorer_) or self.scorer_
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, metric, self.cv_results_)
            self.best_params_ = grid[self.best_index_]
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{metric}"][self.best_index_]

    def _score_of(self, fit: FoldFit, part: str) -> Any:
        if fit.finished:
            return fit.scores.get(part, self.error_score)
        names = scorers_by_name(self.scorer_)
        return math.nan if names is None else dict.fromkeys(names, math.nan)

    def _refit(
        self,
        X: Any,
        y: Any,
        fit_params: dict[str, Any],
        best: Candidate,
        on_all_rows: Sequence[FoldFit],
    ) -> None:
        """Train the best candidate on all rows, unless that was done along with the folds."""
        began = time.perf_counter()
        if on_all_rows:
            self.best_estimator_ = best.fits[-1].model
            finish_fit(self.best_estimator_, X, y, fit_params.get("sample_weight"))
            began -= sum(fit.fit_seconds for fit in on_all_rows)
        else:
            self.best_estimator_ = best.estimator.fit(X, y, **fit_params)
        self.refit_time_ = time.perf_counter() - began
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
