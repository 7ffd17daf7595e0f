"""Candidates of a search, taken apart into what is done to X and the classifier at the end."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing

from separatrix._sklearn_compat import routing_enabled
from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.svc import LinearSVC
from separatrix.kernel_methods.kernel_classifier import KernelClassifier
from separatrix.model_selection.scaling_as_penalty import factors_will_do


@dataclass(frozen=True)
class Recipe:
    """How one candidate is trained.

    Attributes
    ----------
    classifier : what is trained, not fitted
    standardise : whether the penalty counts the features in units of their standard deviations
    transformers : what X goes through before, not fitted; None if it is used as it is
    sample_weight : the weights that are meant for the classifier
    """

    classifier: LinearClassifier
    standardise: bool = False
    transformers: Pipeline | None = None
    sample_weight: Any = None


def take_apart(
    estimator: Any, X: Any, fit_params: Mapping[str, Any], *, may_scale: bool
) -> Recipe | None:
    """The recipe of an estimator that can be trained in a batch; None for all others.

    With `may_scale`, a StandardScaler may become factors of the penalty.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    >>> recipe = take_apart(pipeline, [[0.0], [1.0]], {}, may_scale=True)
    >>> recipe.classifier, recipe.standardise, recipe.transformers
    (LogisticRegression(), True, None)
    """
    if _folds_are_weights(estimator):
        return _recipe(estimator, fit_params)
    if type(estimator) is not Pipeline or getattr(estimator, "transform_input", None):
        return None
    classifier, params = estimator.steps[-1][1], _for_the_last_step(estimator, fit_params)
    if not _folds_are_weights(classifier) or params is None:
        return None
    steps = [step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")]
    if not steps:
        return _recipe(classifier, params)
    if may_scale and len(steps) == 1 and factors_will_do(steps[0], classifier, X):
        return _recipe(classifier, params, standardise=steps[0].with_std)
    return _recipe(classifier, params, transformers=estimator[:-1])


def group_key(params: Mapping[str, Any], estimator: Any) -> Hashable:
    """What candidates with the same transformers have in common: the parameters of these."""
    if not isinstance(estimator, Pipeline):
        return None
    last = estimator.steps[-1][0]
    return tuple(
        (name, type(value), value if _can_be_hashed(value) else id(value))
        for name, value in sorted(params.items())
        if name.split("__", 1)[0] != last
    )


def _can_be_hashed(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _recipe(
    classifier: LinearClassifier,
    fit_params: Mapping[str, Any],
    standardise: bool = False,
    transformers: Pipeline | None = None,
) -> Recipe | None:
    if set(fit_params) - {"sample_weight"}:
        return None
    return Recipe(classifier, standardise, transformers, fit_params.get("sample_weight"))


def _folds_are_weights(estimator: Any) -> bool:
    """Whether training with weights of 0 is training without the rows, to the tolerance asked for.

    Types are compared exactly: a subclass may do something else.
    """
    kind = type(estimator)
    if kind is GradientDescentClassifier:
        return estimator.batch_size is None
    # Probabilities are calibrated by folds within the fold, fit by fit.
    return kind in (LogisticRegression, KernelClassifier) or (
        kind is LinearSVC and estimator.probability is False
    )


def _for_the_last_step(pipeline: Pipeline, params: Mapping[str, Any]) -> dict[str, Any] | None:
    """What `fit` of a pipeline passes on to its last step; None if another step gets something."""
    *others, last = (name for name, _ in pipeline.steps)
    if routing_enabled():
        routed = process_routing(pipeline, "fit", **params)
        if any(given for name in others for given in routed[name].values()):
            return None
        return dict(routed[last]["fit"])
    if not all(name.startswith(f"{last}__") for name in params):
        return None
    return {name.removeprefix(f"{last}__"): value for name, value in params.items()}
