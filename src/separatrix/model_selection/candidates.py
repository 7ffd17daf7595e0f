"""The candidates of a search, each split into transformers and classifier."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing

from separatrix._sklearn_compat import routing_enabled
from separatrix.estimators.fit_warnings import warn_once
from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.svc import LinearSVC
from separatrix.kernel_methods.kernel_classifier import KernelClassifier
from separatrix.model_selection.scaling_as_penalty import factors_will_do
from separatrix.verdict.regions import Region

SIMPLE = (bool, int, float, str, type(None))  # types of immutable values


@dataclass(eq=False)
class FoldFit:
    """The fit of a candidate to the training rows of one fold.

    Attributes
    ----------
    candidate : the candidate
    fold : index of the fold. An index equal to the number of folds means all rows
    number : position among all fits, candidate by candidate; fits to all rows come last
    model : the classifier, fitted unless there is an `error`
    pipeline : the fitted pipeline that ends with the model, if there is one
    finished : False if training was interrupted, so that there are no scores
    region : the region of the optimum, if it is computed, or why there is none
    bounds : bounds on the accuracy of the optimum on the test rows, if there is a region
    scores : scores on the "test" rows and, if requested, on the "train" rows
    fit_seconds, score_seconds : time of the batch, divided equally among its fits
    """

    candidate: Candidate
    fold: int
    number: int
    model: LinearClassifier
    pipeline: Any = None
    finished: bool = True
    error: str | None = None
    region: Region | str | None = None
    bounds: tuple[float, float] | None = None
    scores: dict[str, Any] = field(default_factory=dict)
    fit_seconds: float = 0.0
    score_seconds: float = 0.0


@dataclass(eq=False)
class Candidate:
    """One set of parameters of a search, with its estimator split for training in a batch.

    Attributes
    ----------
    estimator : the whole estimator, not fitted
    classifier : its last step or the estimator itself, not fitted
    transformers : the steps before the classifier, not fitted; None if there are none
    scales_penalty : whether the transformers are a StandardScaler that can be expressed as penalty
        factors
    params : the parameters that the search varies
    fits : the fits to the folds, and to all rows if that fit is in the same batch
    """

    estimator: Any
    classifier: LinearClassifier
    transformers: Pipeline | None = None
    scales_penalty: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    fits: list[FoldFit] = field(default_factory=list)

    @classmethod
    def of(cls, estimator: Any, X: Any, params: Mapping[str, Any]) -> Candidate | None:
        """Split an estimator, or return None if it cannot be trained in a batch.

        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        >>> candidate = Candidate.of(pipeline, [[0.0], [1.0]], {})
        >>> candidate.classifier, candidate.scales_penalty
        (LogisticRegression(), True)
        """
        if _folds_are_weights(estimator):
            return cls(estimator, estimator, params=params)
        if type(estimator) is not Pipeline or getattr(estimator, "transform_input", None):
            return None
        classifier = estimator.steps[-1][1]
        if not _folds_are_weights(classifier):
            return None
        steps = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
        if not steps:
            return cls(estimator, classifier, params=params)
        scales = len(steps) == 1 and factors_will_do(steps[0], classifier, X)
        return cls(estimator, classifier, estimator[:-1], scales, params)

    def standardise(self) -> bool:
        """Return whether features are measured in standard deviations by penalty factors."""
        if not self.scales_penalty or self.transformers is None:
            return False
        return any(getattr(step, "with_std", False) for _, step in self.transformers.steps)

    def fit_params(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the parameters of `fit` for the classifier, or None if other steps get some.

        `given` holds the parameters of `fit` for the whole estimator.
        """
        if self.estimator is self.classifier:
            return dict(given)
        *others, last = (name for name, _ in self.estimator.steps)
        if routing_enabled():
            routed = process_routing(self.estimator, "fit", **given)
            if any(params for name in others for params in routed[name].values()):
                return None
            return dict(routed[last]["fit"])
        if not all(name.startswith(f"{last}__") for name in given):
            return None
        return {name.removeprefix(f"{last}__"): value for name, value in given.items()}

    def transformers_key(self) -> Hashable:
        """Return the parameters of the transformers, which candidates can have in common."""
        if self.estimator is self.classifier:
            return None
        last = self.estimator.steps[-1][0]
        return tuple(
            (name, type(value), value if _can_be_hashed(value) else id(value))
            for name, value in sorted(self.params.items())
            if name.split("__", 1)[0] != last
        )

    def add_fits(self, numbers: Sequence[int]) -> None:
        """Create an unfitted model for every fold, with its number among all fits."""
        self.fits = [
            FoldFit(self, k, number, copy_unfitted(self.classifier))
            for k, number in enumerate(numbers)
        ]


def common_sample_weight(
    candidates: Sequence[Candidate], given: Mapping[str, Any]
) -> tuple[bool, Any]:
    """Return whether all classifiers get the same sample weights and nothing else, and these."""
    each = [candidate.fit_params(given) for candidate in candidates]
    if any(params is None or set(params) - {"sample_weight"} for params in each):
        return False, None
    weights = [params.get("sample_weight") for params in each if params is not None]
    return all(weight is weights[0] for weight in weights), weights[0]


def copy_unfitted(model: Any) -> Any:
    """Copy an unfitted model, faster than scikit-learn's `clone`.

    Mutable parameters are copied.
    """
    out = copy(model)
    for name, value in vars(model).items():
        if not isinstance(value, SIMPLE):
            setattr(out, name, deepcopy(value))
    return out


def warn_about_fits(fits: Sequence[FoldFit]) -> None:
    """Give one warning for all fits that did not converge, at the line that called `fit`."""
    good = [fit for fit in fits if fit.error is None and fit.finished]
    warn_once(
        [fit.model for fit in good],
        "fits of the cross-validation",
        lambda k: f"{good[k].model} on split {good[k].fold}",
    )


def _can_be_hashed(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _folds_are_weights(estimator: Any) -> bool:
    """Return whether rows with weight 0 have the same effect as omitted rows, within `tol`.

    Types are compared exactly, because a subclass can behave differently.
    """
    kind = type(estimator)
    if kind is GradientDescentClassifier:
        return estimator.batch_size is None
    # Calibrated probabilities need folds within each fold, so each fit is separate.
    return kind in (LogisticRegression, KernelClassifier) or (
        kind is LinearSVC and estimator.probability is False
    )
