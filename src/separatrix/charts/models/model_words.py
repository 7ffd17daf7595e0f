"""The name and the parameters of a model, for titles."""

from __future__ import annotations

import inspect
from typing import Any

from separatrix.text import describe_configuration

_UNSAID = frozenset(
    {"tol", "max_iter", "random_state", "verbose", "n_jobs", "warm_start", "certified"}
)


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def model_words(estimator: Any) -> str:
    """Return the class of a model and the parameters that differ from their defaults.

    >>> from separatrix import GradientDescentClassifier, LogisticRegression
    >>> model_words(LogisticRegression(certified=True))
    'LogisticRegression'
    >>> model_words(GradientDescentClassifier(learning_rate=0.1, momentum=0.9))
    'GradientDescentClassifier, learning rate 0.1, momentum 0.9'
    """
    model = last_step(estimator)
    name = type(model).__name__
    if not hasattr(model, "get_params"):
        return name
    parameters = inspect.signature(type(model)).parameters
    changed = {
        key: float(f"{value:.3g}") if isinstance(value, float) else value
        for key, value in model.get_params(deep=False).items()
        if key not in _UNSAID
        and isinstance(value, bool | int | float | str)
        and key in parameters
        and value != parameters[key].default
    }
    return ", ".join(filter(None, [name, describe_configuration(changed)]))
