"""Replace scikit-learn's linear classifiers by those of this library in running code."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from inspect import Signature, signature
from typing import Any

from sklearn import linear_model, svm

from separatrix import estimators, model_selection
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.estimators.scikit_learn_parameters import own_solver

LOG = logging.getLogger("separatrix")
FINEST_TOL = 1e-11  # a smaller relative duality gap is often lost to rounding
SMALL_GAP = 1e-9  # a relative duality gap that gives no warning: rounding can stop a fit below it
HOMES = {
    "LogisticRegression": "sklearn.linear_model",
    "LogisticRegressionCV": "sklearn.linear_model",
    "Perceptron": "sklearn.linear_model",
    "SGDClassifier": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
}
LEFT_ALONE = ("RidgeClassifier", "RidgeClassifierCV", "PassiveAggressiveClassifier", "SVC", "NuSVC")


def with_their_defaults(
    ours: type[LinearClassifier], theirs: type, **content: Any
) -> type[LinearClassifier]:
    """Return a subclass of `ours` whose parameters have the defaults of scikit-learn's class.

    >>> with_their_defaults(estimators.LinearSVC, svm.LinearSVC)().intercept_scaling
    1
    """
    # Before version 1.8, scikit-learn had only the attributes that are now called legacy.
    defaults = {"use_legacy_attributes": True}
    defaults |= {name: each.default for name, each in signature(theirs).parameters.items()}
    own = signature(ours.__init__)
    arguments = Signature(
        [
            each.replace(default=defaults.get(name, each.default))
            for name, each in own.parameters.items()
        ]
    )

    def __init__(*args: Any, **given: Any) -> None:  # noqa: N807
        bound = arguments.bind(*args, **given)
        bound.apply_defaults()
        ours.__init__(**bound.arguments)

    __init__.__signature__ = arguments  # type: ignore[attr-defined]
    content |= {
        "_saved_as": ours,
        "__init__": __init__,
        "__doc__": ours.__doc__,
        "__module__": __name__,
    }
    return type(theirs.__name__, (ours,), content)


def _squared_tol(self: Any) -> float:
    """Return the relative duality gap for scikit-learn's `tol`, which bounds the gradient.

    Near the optimum, the gap falls with the square of the gradient.
    """
    return max(float(self.tol) ** 2, FINEST_TOL)


def _largest_gap(self: Any) -> float:
    """Return the largest relative duality gap that gives no warning."""
    return max(_squared_tol(self), SMALL_GAP)


def _any_solver(self: Any) -> str:
    """Return "auto" for every solver of scikit-learn, also for "lbfgs", which this library has."""
    return "auto" if self.solver == "lbfgs" else own_solver(self.solver)


def _never(self: Any) -> bool:
    """Return that Rosenblatt's rule is not used: scikit-learn's class is gradient descent."""
    return False


def _fit_perceptron(
    self: Any,
    X: Any,
    y: Any,
    coef_init: Any = None,
    intercept_init: Any = None,
    sample_weight: Any = None,
    **options: Any,
) -> Any:
    """Call `separatrix.Perceptron.fit`, with the positional arguments of scikit-learn's class."""
    options |= {"coef_init": coef_init, "intercept_init": intercept_init}
    return estimators.Perceptron.fit(self, X, y, sample_weight, **options)


# The replacements are attributes of this module, so that they can be pickled.
LogisticRegression = with_their_defaults(
    estimators.LogisticRegression,
    linear_model.LogisticRegression,
    _gap_goal=_squared_tol,
    _largest_gap=_largest_gap,
    _solver_name=_any_solver,
)
LogisticRegressionCV = with_their_defaults(
    model_selection.LogisticRegressionCV,
    linear_model.LogisticRegressionCV,
    _gap_goal=_squared_tol,
    _largest_gap=_largest_gap,
    _classifier_class=LogisticRegression,
)
LinearSVC = with_their_defaults(
    estimators.LinearSVC,
    svm.LinearSVC,
    _gap_goal=_squared_tol,
    _largest_gap=_largest_gap,
)
Perceptron = with_their_defaults(
    estimators.Perceptron,
    linear_model.Perceptron,
    _follows_rosenblatt=_never,
    fit=_fit_perceptron,
)
SGDClassifier = with_their_defaults(estimators.SGDClassifier, linear_model.SGDClassifier)

_originals: dict[str, type] = {}


def patch() -> None:
    """Replace scikit-learn's linear classifiers in all modules that have imported them.

    The replacements have the defaults of the installed scikit-learn and are subclasses of the
    classes of this library. Estimators that exist already do not change, and neither do those in
    files of scikit-learn. The logger "separatrix" reports every class that is replaced or left
    alone, at the level INFO.

    Examples
    --------
    >>> import separatrix
    >>> separatrix.patch()
    >>> from sklearn.linear_model import LogisticRegression
    >>> issubclass(LogisticRegression, separatrix.LogisticRegression)
    True
    >>> separatrix.unpatch()
    """
    for name, home in HOMES.items():
        if name in _originals:
            continue
        theirs = getattr(import_module(home), name)
        _replace(theirs, globals()[name])
        _originals[name] = theirs
        LOG.info("%s.%s is replaced by separatrix.%s.", home, name, name)
    for name in LEFT_ALONE:
        LOG.info("%s of scikit-learn is left alone: separatrix does not replace it.", name)


def unpatch() -> None:
    """Put scikit-learn's own classes back, wherever `patch` has replaced them."""
    for name, theirs in _originals.items():
        _replace(globals()[name], theirs)
    _originals.clear()


def _replace(before: type, after: type) -> None:
    """Replace a class in all modules that have imported it, under any name.

    The module that defines it keeps it, so that instances can still be pickled and unpickled.
    """
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if name == before.__module__ or name.partition(".")[0] == "separatrix":
            continue
        for alias, value in list(getattr(module, "__dict__", {}).items()):
            if value is before:
                setattr(module, alias, after)
