"""Grid search by cross-validation, with folds and candidates trained together."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNUSED

from separatrix._sklearn_compat import (
    check_method_params,
    insert_error_scores,
    scorers_by_name,
    warn_or_raise_about_fit_failures,
)
from separatrix.cluster import is_collection
from separatrix.data import BlockRows
from separatrix.estimators.checks.placed_data import place_rows
from separatrix.estimators.checks.validation import require_equal_lengths, require_flag
from separatrix.estimators.fit_many import finish_fit
from separatrix.matrix import Array
from separatrix.model_selection.candidates import (
    Candidate,
    FoldFit,
    common_sample_weight,
    warn_about_fits,
)
from separatrix.model_selection.certified.candidates import (
    prove_choice,
    require_bounds,
    run_certified,
)
from separatrix.model_selection.cross_validation import CrossValidation
from separatrix.training.recording.callbacks import OnProgress
from separatrix.training.recording.progress import TrainingCounter


class GridSearchCV(PlainGridSearchCV):
    """scikit-learn's GridSearchCV, with folds and candidates trained together.

    The parameters, attributes and methods are those of scikit-learn's class. Only the training
    differs: a fold is a column of sample weights, so all models of the search share the passes
    over X, and X is not copied. This applies to LogisticRegression, LinearSVC, KernelClassifier and
    full-batch GradientDescentClassifier, alone or as the last step of a Pipeline:

    - A StandardScaler before a linear classifier is expressed as penalty factors, computed from
      the training rows of each fold.
    - Candidates with the same kernel share one low-rank factor, computed from all rows.
    - Other transformers are fitted once per fold and combination of their parameters. Candidates
      with the same transformers are one batch.
    - `class_weight="balanced"` is computed from the training rows of each fold.

    scikit-learn's own search is used for everything else: other estimators, LinearSVC with
    `probability`, parameters of `fit` other than the classifier's `sample_weight`, and
    scikit-learn's callbacks. `n_jobs` and `pre_dispatch` have an effect only there, because a batch
    uses the threads of `set_threads`.

    Parameters
    ----------
    estimator, param_grid, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, \
            return_train_score
        As in scikit-learn.
    certified : bool, default=False
        Whether to prove which candidate has the highest accuracy at the exact optima. Every fold
        of a candidate is trained only until its accuracy is certain, or it can no longer win.

    Attributes
    ----------
    proof_ : CertifiedChoice
        With `certified=True`, whether `best_params_` are proven to be the best, and if not, which
        candidates could be better. `cv_results_` then has bounds on the accuracy of the exact
        optimum, "split0_test_low", "split0_test_high", ..., "mean_test_low", "mean_test_high".
        Scores of fits that ended early are moved into these bounds.
    n_batches_ : int
        Number of batches trained, including the refit. All folds and candidates are one batch if
        they share a solver and its precision. With L1 there are up to four batches, each started
        from the previous ones. A fallback solver adds one batch.
    n_passes_ : float
        Number of times the rows of X were read: by products with X and X^T and by dual ascent,
        but not by the coordinate solver, which reads single columns. Both counters include
        searches that run in other threads of the process at the same time.
    interrupted_ : bool
        Whether a callback interrupted the search.

    Notes
    -----
    With solver="auto", candidates share a solver if this costs no time. So a candidate can use
    another solver or precision than in a fit of its own. Both reach `tol`, so `best_estimator_` and
    a separate fit with the same parameters agree within their duality gaps. If `solver` is set, all
    candidates use it.

    `mean_fit_time` and `mean_score_time` are equal shares of the time of a batch. A split whose
    training rows lack a class is an error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GridSearchCV, LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(LogisticRegression(), {"C": [0.01, 0.1, 1, 10]}, cv=3).fit(X, y)
    >>> GridSearchCV(LogisticRegression(), {"C": [0.01, 0.1]}, certified=True).fit(X, y).proof_
    The chosen candidate is certainly the best of 2 at the exact optima.
    >>> search.best_params_, search.cv_results_["mean_test_score"].round(3)
    ({'C': 1}, array([0.873, 0.947, 0.973, 0.973]))
    """

    __metadata_request__fit: ClassVar = {"on_progress": UNUSED}  # it is not metadata

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: Any = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        certified: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.certified = certified

    def fit(
        self, X: Any, y: Any = None, *, on_progress: OnProgress | None = None, **params: Any
    ) -> Self:
        """Train all candidates on all folds, and the best one on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or rows on disk
            Training data. Rows on disk come from `separatrix.open`.
        y : array-like of shape (n,)
            Class labels. Rows on disk have their own.
        on_progress : callable, default=None
            Function to call with a `Progress` after every epoch of every batch. Its `members` are
            numbers of fits: candidate c on fold k of F folds has number c F + k. If the function
            raises `Interrupted`, training stops: `interrupted_` is True, unfinished models get
            the score NaN, and there is no refit. scikit-learn's own search does not call it.
        **params : dict
            Metadata such as `sample_weight` and `groups`, as in scikit-learn.

        Returns
        -------
        self : object
            The fitted search.
        """
        self.interrupted_ = False
        for name in ("n_batches_", "n_passes_", "proof_"):  # counters of an earlier fit
            self.__dict__.pop(name, None)
        self._validate_params()
        if is_collection(X):
            X, y = place_rows(X, y, params.pop("sample_weight", None)), None
        if isinstance(X, BlockRows) and y is None:
            y = X.y
            if X.weights is not None and not isinstance(self.estimator, Pipeline):
                params["sample_weight"] = X.weights  # so that the scorer gets them too
        grid = list(ParameterGrid(self.param_grid))
        found = [Candidate.of(self._make_estimator(params), X, params) for params in grid]
        candidates = [candidate for candidate in found if candidate is not None]
        others = len(candidates) < len(grid) or not grid
        require_flag("certified", self.certified)
        if y is None or getattr(self, "_skl_callbacks", None) or others:
            self._refuse_proof()
            return super().fit(X, y, **params)
        if isinstance(X, BlockRows) and self.refit and any(c.transformers for c in candidates):
            raise ValueError(
                "GridSearchCV cannot fit a pipeline to rows outside of memory. Set refit=False and "
                f"fit the best model to scaled rows, or search without the pipeline. Got {X!r}."
            )
        require_equal_lengths(X, y)
        routed = self._get_routed_params_for_fit(check_method_params(X, params=params))
        alike, sample_weight = common_sample_weight(candidates, routed.estimator.fit)
        if not alike:
            self._refuse_proof()
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
        bounds: list[Array] = []
        if self.certified:
            require_bounds(work, candidates)
            fits, *bounds = run_certified(work, candidates)
            on_all_rows: list[FoldFit] = []
        else:
            fits, on_all_rows = work.run(candidates, bool(self.refit))
        self.interrupted_ = not all(fit.finished for fit in (*fits, *on_all_rows))
        warn_about_fits(fits)
        with warnings.catch_warnings():
            if self.interrupted_:  # NaN scores are expected
                warnings.simplefilter("ignore", UserWarning)
            self._take_results(grid, fits)
        if bounds:
            self._take_bounds(grid, *bounds)
        if self.refit and not self.interrupted_:
            self._refit(X, y, routed.estimator.fit, candidates[self.best_index_], on_all_rows)
        self.n_batches_ = counter.n_batches()
        self.n_passes_ = counter.n_passes(work.folds.n_samples)
        return self

    def _make_estimator(self, params: dict[str, Any]) -> Any:
        # Clone the parameters too: they can be estimators, such as the steps of a pipeline.
        return clone(self.estimator).set_params(**clone(params, safe=False))

    def _take_results(self, grid: list[dict[str, Any]], fits: Sequence[FoldFit]) -> None:
        """Convert the fits to scikit-learn's format and let it compute `cv_results_`."""
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

    def _take_bounds(self, grid: list[dict[str, Any]], low: Array, high: Array) -> None:
        """Store the bounds on the accuracies (C, F), and what they prove."""
        for name, values in (("low", low), ("high", high)):
            for k in range(self.n_splits_):
                self.cv_results_[f"split{k}_test_{name}"] = values[:, k]
            self.cv_results_[f"mean_test_{name}"] = values.mean(axis=1)
        self.proof_ = prove_choice(self.best_index_, grid, low, high)

    def _refuse_proof(self) -> None:
        """Raise if a proof is asked for that scikit-learn's own search cannot give."""
        if self.certified:
            raise ValueError(
                "certified=True needs LogisticRegression, LinearSVC or KernelClassifier, alone or "
                "at the end of a pipeline, with no parameters of fit but sample_weight, and no "
                f"callbacks. Got {self.estimator!r}."
            )

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
        """Train the best candidate on all rows, unless this was done together with the folds."""
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
