"""The scores by which a search may choose, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from separatrix.workflow.families import OptionError

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
_OF_TWO = {  # of the second class: scikit-learn's score, and what it is given
    "f1": ("f1_score", "predict"),
    "precision": ("precision_score", "predict"),
    "recall": ("recall_score", "predict"),
    "roc_auc": ("roc_auc_score", "decision_function"),
    "average_precision": ("average_precision_score", "decision_function"),
}
_OF_PROBABILITIES = ("neg_log_loss",)
SCORINGS = (*_ANY, *_OF_TWO, *_OF_PROBABILITIES)


def scorer_of(scoring: str, classes: Array) -> Any:
    """What scikit-learn takes for a score of this name, for labels of these classes.

    >>> import numpy as np
    >>> scorer_of("accuracy", np.array(["ham", "spam"]))
    'accuracy'
    >>> scorer_of("f1", np.array(["a", "b", "c"]))
    Traceback (most recent call last):
        ...
    separatrix.workflow.families.OptionError: scoring='f1' is of two classes, and these data have 3.
    Use accuracy, balanced_accuracy, f1_macro, f1_weighted, precision_macro, recall_macro,
    matthews_corrcoef or neg_log_loss.
    """
    if scoring not in SCORINGS:
        raise OptionError(
            f"The 'scoring' parameter must be one of {', '.join(SCORINGS)}. Got {scoring!r} "
            "instead."
        )
    if scoring not in _OF_TWO:
        return scoring
    if len(classes) != 2:
        raise OptionError(
            f"scoring={scoring!r} is of two classes, and these data have {len(classes)}. Use "
            f"{', '.join(_ANY)} or {_OF_PROBABILITIES[0]}."
        )
    import sklearn.metrics as metrics

    name, response = _OF_TWO[scoring]
    given = {} if scoring == "roc_auc" else {"pos_label": classes[1]}
    given |= {"zero_division": 0.0} if response == "predict" else {}
    return metrics.make_scorer(getattr(metrics, name), response_method=response, **given)


def needs_probabilities(scoring: str) -> bool:
    """Whether a score is one of probabilities, which not all models have."""
    return scoring in _OF_PROBABILITIES
