"""The scores that a search can maximise, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from separatrix.errors import Message, OptionError, Parameter

if TYPE_CHECKING:
    from separatrix.matrix import Array

_ANY = (
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "f1_weighted",
    "precision_macro",
    "recall_macro",
    "matthews_corrcoef",
)
_OF_TWO = {  # scores of the second class: scikit-learn's function and its input
    "f1": ("f1_score", "predict"),
    "precision": ("precision_score", "predict"),
    "recall": ("recall_score", "predict"),
    "roc_auc": ("roc_auc_score", "decision_function"),
    "average_precision": ("average_precision_score", "decision_function"),
}
_OF_PROBABILITIES = ("neg_log_loss",)
# The scores that a search can prove, and what is bounded.
PROVEN_SCORES = {"accuracy": "error", "neg_log_loss": "log_loss"}
SCORINGS = (*_ANY, *_OF_TWO, *_OF_PROBABILITIES)


def make_search_scorer(scoring: str, classes: Array) -> Any:
    """Return the `scoring` argument for scikit-learn for this score and these classes.

    >>> import numpy as np
    >>> make_search_scorer("accuracy", np.array(["ham", "spam"]))
    'accuracy'
    >>> make_search_scorer("f1", np.array(["a", "b", "c"]))
    Traceback (most recent call last):
        ...
    separatrix.errors.OptionError: scoring='f1' needs two classes, and this data has 3. Use
    accuracy, balanced_accuracy, f1_macro, f1_weighted, precision_macro, recall_macro,
    matthews_corrcoef or neg_log_loss.
    """
    if scoring not in SCORINGS:
        raise OptionError(
            Message(
                "{scoring:subject} must be one of {known}. Got {given!r} instead.",
                scoring=Parameter("scoring"),
                known=", ".join(SCORINGS),
                given=scoring,
            )
        )
    if scoring not in _OF_TWO:
        return scoring
    if len(classes) != 2:
        raise OptionError(
            Message(
                "{scoring} needs two classes, and this data has {count}. Use {others} or {last}.",
                scoring=Parameter("scoring", scoring),
                count=len(classes),
                others=", ".join(_ANY),
                last=_OF_PROBABILITIES[0],
            )
        )
    import sklearn.metrics as metrics

    name, response = _OF_TWO[scoring]
    given = {} if scoring == "roc_auc" else {"pos_label": classes[1]}
    given |= {"zero_division": 0.0} if response == "predict" else {}
    return metrics.make_scorer(getattr(metrics, name), response_method=response, **given)


def needs_probabilities(scoring: str) -> bool:
    """Return whether a score needs probabilities, which not all models have."""
    return scoring in _OF_PROBABILITIES


def require_provable(scoring: str, has_l1: bool, stored: bool, placed: bool) -> None:
    """Raise unless a search with these options can be proven."""
    certify = Parameter("certify")
    if scoring not in PROVEN_SCORES:
        raise OptionError(
            Message(
                "{scoring:subject} must be {known} with {certify}. Got {given!r} instead.",
                scoring=Parameter("scoring"),
                known=" or ".join(PROVEN_SCORES),
                certify=certify,
                given=scoring,
            )
        )
    if has_l1:
        raise OptionError(
            Message(
                "{l1} cannot be used with {certify}: with an L1 penalty nothing bounds the optimum "
                "for other values of C. Omit one of them.",
                l1=Parameter("l1"),
                certify=certify,
            )
        )
    if placed:
        raise OptionError(
            Message(
                "{certify} needs all rows in memory, and {dask:quoted} divides them between "
                "workers. Leave one of them out.",
                certify=certify,
                dask=Parameter("dask"),
            )
        )
    if stored:
        raise OptionError(
            Message(
                "{certify} needs all rows in memory, and those of a folder of blocks stay on disk. "
                "Give the original source, or omit {certify}.",
                certify=certify,
            )
        )
