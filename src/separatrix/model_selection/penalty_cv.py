"""Classifiers that choose their penalty by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import column_or_1d

from separatrix._sklearn_compat import raise_for_params, routing_enabled, with_labels
from separatrix.cluster import is_collection
from separatrix.data import BlockRows, Dataset, require_own_labels
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.checks.placed_data import place_rows
from separatrix.estimators.checks.training_data import as_weights
from separatrix.estimators.checks.validation import (
    as_list,
    has_length,
    require_choice,
    require_count,
    require_equal_lengths,
    require_flag,
    require_number,
    require_strength,
)
from separatrix.estimators.fit_many import finish_fit
from separatrix.estimators.fit_warnings import user_stacklevel
from separatrix.estimators.linear_classifier import LinearClassifier, copy_feature_attributes
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.scikit_learn_parameters import PENALTIES, RATIOS, is_unset
from separatrix.matrix import Array
from separatrix.model_selection.candidates import Candidate, warn_about_fits
from separatrix.model_selection.cross_validation import CrossValidation
from separatrix.training.recording.progress import TrainingCounter
from separatrix.training.task import Task


class PenaltyCV(OptimumClassifier):
    """A classifier that chooses its penalty by cross-validation.

    A subclass sets `_classifier_class`, the classifier whose penalty is chosen. Parameters that
    both classes have mean the same.
    """

    _classifier_class: ClassVar[Callable[..., OptimumClassifier]]
    Cs: Any
    l1_ratios: Any
    cv: Any
    scoring: Any
    refit: bool

    # `score` passes sample weights on to the scorer.
    __metadata_request__score: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Train all penalties on all folds, and the best one on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or rows on disk
            Training data. Rows on disk come from `separatrix.open`.
        y : array-like of shape (n,), default=None
            Class labels. Rows on disk have their own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. None means 1 for every row.
        **params : dict
            Metadata for the splitter and the scorer, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        raise_for_params(params, self, "fit")
        if is_collection(X):
            X, y, sample_weight = place_rows(X, y, sample_weight), None, None
        if isinstance(X, BlockRows):
            require_own_labels(X, y, sample_weight)
            y, sample_weight = X.y, X.weights
        counter = TrainingCounter()
        Cs, ratios = _strengths(self.Cs), _ratios(self.l1_ratios, self.penalty)
        require_flag("refit", self.refit)
        work = self._cross_validation(X, y, sample_weight, params)
        shared = self._shared_params()
        models = [self._make_classifier(C, ratio, shared) for ratio in ratios for C in Cs]
        candidates = [Candidate(model, model) for model in models]
        fits, on_all_rows = work.run(candidates, self.refit)
        warn_about_fits(fits)
        shape = len(ratios), len(Cs), len(work.folds)
        scores = _by_fold([fit.scores["test"] for fit in fits], shape)
        paths = _by_fold(self._degrees_of_freedom([fit.model for fit in fits]), shape)
        if self.refit:
            r, c = _best(scores.mean(axis=0))
            self.C_, self.l1_ratio_ = float(Cs[c]), float(ratios[r])
            if on_all_rows:
                best = on_all_rows[r * len(Cs) + c].model
                finish_fit(best, X, y, sample_weight)
            else:
                best = models[r * len(Cs) + c].fit(X, y, sample_weight)
            self._adopt(best)
        else:
            each = [_best(of_fold) for of_fold in scores]
            self.C_ = float(np.mean([Cs[c] for _, c in each]))
            self.l1_ratio_ = float(np.mean([ratios[r] for r, _ in each]))
            self._adopt_mean(fits[0].model, np.array([p[at] for p, at in zip(paths, each)]))
        self.Cs_, self.l1_ratios_, self.scores_, self.coefs_paths_ = Cs, ratios, scores, paths
        self.n_iter_ = _by_fold([fit.model.history_.epochs for fit in fits], shape)
        self.n_batches_ = counter.n_batches()
        self.n_passes_ = counter.n_passes(work.folds.n_samples)
        return self

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> float:
        """Return the score on X and y, computed by `scoring` (accuracy if it is None)."""
        if isinstance(X, BlockRows):
            y, sample_weight = X.y, X.weights
        raise_for_params(params, self, "score")
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if routing_enabled():
            given = process_routing(self, "score", **given, **params).scorer["score"]
        return float(self._scorer()(self, X, y, **given))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata from `fit` and `score` to the splitter and the scorer."""
        by_fit = MethodMapping().add(caller="fit", callee="split")
        by_both = MethodMapping().add(caller="fit", callee="score")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=by_fit)
            .add(
                scorer=self._scorer(),
                method_mapping=by_both.add(caller="score", callee="score"),
            )
        )

    def _shared_params(self) -> dict[str, Any]:
        """Return the parameters that all candidates have in common."""
        known = signature(self._classifier_class).parameters
        given = self.get_params(deep=False).items()
        return {k: v for k, v in given if k in known and k != "penalty"}

    def _make_classifier(
        self, C: float, l1_ratio: float, shared: dict[str, Any]
    ) -> OptimumClassifier:
        return self._classifier_class("auto", C=float(C), l1_ratio=float(l1_ratio), **shared)

    def _scorer(self) -> Any:
        default = self.scoring is None or self.scoring == "warn"  # scikit-learn's own default
        return get_scorer("accuracy" if default else self.scoring)

    def _cross_validation(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> CrossValidation:
        require_equal_lengths(X, y)
        s = as_weights(sample_weight, X, 1)
        to_splitter, to_scorer = self._routed(s, params)
        return CrossValidation.of(
            X,
            y,
            s,
            cv=self.cv,
            scorer=with_labels(self._scorer(), np.unique(column_or_1d(y))),
            to_splitter=to_splitter,
            to_scorer=to_scorer,
            fold_by_fold=True,  # as scikit-learn
        )

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> tuple[Any, Any]:
        """Return the metadata for the splitter and for the scorer."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not routing_enabled():
            return {}, given
        routed = process_routing(self, "fit", **given, **params)
        return routed.splitter.split, routed.scorer.score

    def _degrees_of_freedom(self, models: Sequence[LinearClassifier]) -> Array:
        """Return the weights (T, K, d) of all models, with the biases, if any, as last column."""
        K, d = models[0].coef_.shape
        out = np.empty((len(models), K, d + bool(self.fit_intercept)), models[0].coef_.dtype)
        for weights, model in zip(out, models):
            weights[:, :d] = model.coef_
            if self.fit_intercept:
                weights[:, d] = model.intercept_
        return out

    def _adopt(self, best: LinearClassifier) -> None:
        """Copy the fitted attributes of another classifier."""
        given = best.get_params(deep=False)
        for name, value in vars(best).items():
            if name not in given:
                setattr(self, name, value)

    def _adopt_mean(self, one: LinearClassifier, weights: Array) -> None:
        """Set the fitted attributes to the mean of F models; `one` is one of these models.

        Their weights have shape (F, K, d), or (F, K, d + 1) with the biases as the last column.
        """
        mean, d = weights.mean(axis=0), one.coef_.shape[1]
        self._loss, self.classes_ = one._loss, one.classes_
        self.coef_ = np.ascontiguousarray(mean[:, :d])
        self.intercept_ = mean[:, d].copy() if self.fit_intercept else np.zeros_like(mean[:, 0])
        copy_feature_attributes(one, self)
        self.threshold_ = 0.0
        self._objective_words = (
            f"mean of the best models of {len(weights)} folds, each fitted to its training rows"
        )

    def _make_task(self, data: Dataset, factors: Array | None = None) -> Task:
        raise TypeError(
            f"{type(self).__name__} trains its own batch and cannot be part of another one. "
            "Call its fit method."
        )


def _by_fold(values: Sequence[Any] | Array, shape: tuple[int, int, int]) -> Array:
    """Reorder values of the fits from (l1_ratios, Cs, folds) to (folds, l1_ratios, Cs, ...)."""
    array = np.asarray(values)
    return np.moveaxis(array.reshape(*shape, *array.shape[1:]), 2, 0)


def _best(scores: Array) -> tuple[int, int]:
    """Return the position of the best score: if tied, the first C, then the first l1_ratio."""
    c, r = np.unravel_index(np.argmax(scores.T), scores.T.shape)
    return int(r), int(c)


def _strengths(Cs: Any) -> Array:
    """Return the values of C; a number means that many values from 1e-4 to 1e4."""
    if not has_length(Cs):
        require_count("Cs", Cs)
        return np.logspace(-4, 4, int(Cs))
    for C in as_list("Cs", Cs, "a whole number or a list of numbers"):
        require_strength("Cs", C)
    return np.array(Cs, np.float64)


def _ratios(l1_ratios: Any, penalty: Any) -> Array:
    """Return the values of l1_ratio, which scikit-learn's `penalty` can override."""
    default = l1_ratios is None or (isinstance(l1_ratios, str) and l1_ratios == "warn")
    if not is_unset(penalty):
        require_choice("penalty", penalty, ("auto", *PENALTIES))
    if penalty in RATIOS:
        if not default and set(as_list("l1_ratios", l1_ratios)) != {RATIOS[penalty]}:
            warnings.warn(
                f"l1_ratios={l1_ratios!r} is ignored with penalty={penalty!r}, which is "
                f"l1_ratio={RATIOS[penalty]:g}. Set penalty='elasticnet' to try all of them, or "
                "leave l1_ratios out.",
                UserWarning,
                stacklevel=user_stacklevel(),
            )
        return np.array([RATIOS[penalty]])
    if penalty == "elasticnet" and default:
        raise ParameterError(
            Message(
                "{ratios:subject} must be a list of numbers from 0 to 1 (values of l1_ratio) with "
                "penalty='elasticnet'. Got {given!r} instead.",
                ratios=Parameter("l1_ratios"),
                given=l1_ratios,
            ),
            parameter="l1_ratios",
        )
    if default:
        return np.zeros(1)
    for ratio in as_list("l1_ratios", l1_ratios):
        require_number("l1_ratios", ratio, high=1.0, closed_high=True)
    return np.array(l1_ratios, np.float64)
