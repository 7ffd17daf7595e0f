"""Parameters of scikit-learn's classifiers, translated into those of this library."""

from __future__ import annotations

import math
import warnings
from typing import Any

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.checks.validation import is_number, require_choice
from separatrix.estimators.fit_warnings import user_stacklevel

LIBLINEAR = "liblinear"
SOLVERS = (LIBLINEAR, "newton-cg", "newton-cholesky", "sag", "saga")
PENALTIES = ("l1", "l2", "elasticnet")
UNSET = ("auto", "deprecated")  # "deprecated" is scikit-learn's own default of old parameters
MULTICLASS_FORMS = {"multinomial": "softmax"}
RATIOS = {"l1": 1.0, "l2": 0.0}


def is_unset(value: Any) -> bool:
    """Return whether a parameter has a default that means that it was not given."""
    return isinstance(value, str) and value in UNSET


def own_solver(name: str) -> str:
    """Return the solver of this library for a solver's name: "auto" for those of scikit-learn."""
    return "auto" if name in SOLVERS else name


def split_positional(penalty: Any, C: Any) -> tuple[Any, Any]:
    """Return penalty and C, where a number in place of `penalty` is C.

    >>> split_positional(0.5, 1.0), split_positional("l1", 0.5)
    (('auto', 0.5), ('l1', 0.5))
    """
    if not is_number(penalty):
        return penalty, C
    if C not in (1.0, penalty):
        raise TypeError(
            f"Got two values for C: {penalty!r} as the first argument, and C={C!r}. Pass only one."
        )
    return "auto", penalty


def own_penalty(penalty: Any, C: float, l1_ratio: float | None) -> tuple[float, float]:
    """Return C and l1_ratio, which scikit-learn's `penalty` overrides.

    >>> own_penalty("l1", 0.5, 0.0), own_penalty(None, 1.0, 0.0), own_penalty("auto", 0.5, 0.2)
    ((0.5, 1.0), (inf, 0.0), (0.5, 0.2))
    """
    return (math.inf, 0.0) if penalty is None else (C, own_ratio(penalty, l1_ratio))


def own_ratio(penalty: Any, l1_ratio: float | None) -> float:
    """Return the share of L1 in a penalty.

    >>> own_ratio("l1", 0.15), own_ratio("elasticnet", 0.15), own_ratio(None, None)
    (1.0, 0.15, 0.0)
    """
    return RATIOS.get(penalty, 0.0 if l1_ratio is None else l1_ratio)


def check_penalty(penalty: Any, l1_ratio: float | None) -> None:
    """Raise unless `penalty` is one of scikit-learn's, and fits to `l1_ratio`."""
    if is_unset(penalty):
        return
    require_choice("penalty", penalty, ("auto", *PENALTIES), optional=True)
    if penalty == "elasticnet" and l1_ratio is None:
        raise ParameterError(
            Message(
                "{ratio:subject} must be a number from 0 to 1 with {penalty}. Got {given!r} "
                "instead.",
                ratio=Parameter("l1_ratio"),
                penalty=Parameter("penalty", penalty),
                given=l1_ratio,
            )
        )


def warn_about_penalty(penalty: Any, C: float, l1_ratio: float | None) -> None:
    """Warn if `penalty` overrides a value of `C` or `l1_ratio` that is not the default."""
    message = ""
    if penalty is None and C != 1.0:
        message = f"Setting penalty=None will ignore the C={C:g} parameter. Set C=inf instead."
    elif penalty in RATIOS and l1_ratio not in (None, 0.0, RATIOS[penalty]):
        message = (
            f"Inconsistent values: penalty={penalty} with l1_ratio={l1_ratio}. The "
            "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
            f"(penalty={penalty}). Set only one of the two."
        )
    if message:
        warnings.warn(message, UserWarning, stacklevel=user_stacklevel())


def own_multiclass(multiclass: str, multi_class: str | None, default: str) -> str:
    """Return the multiclass form; `multi_class` is scikit-learn's name of the parameter.

    >>> own_multiclass("auto", "ovr", "auto"), own_multiclass("softmax", None, "auto")
    ('ovr', 'softmax')
    """
    if multi_class is None or is_unset(multi_class):
        return multiclass
    form = MULTICLASS_FORMS.get(multi_class, multi_class)
    if multiclass not in (default, form):
        raise _contradiction("multiclass", multiclass, "multi_class", multi_class)
    return form


def own_value(ours: str, value: Any, theirs: str, given: Any, default: Any) -> Any:
    """Return the value of a parameter that has a second name in scikit-learn.

    >>> own_value("epochs", 1000, "max_iter", 5, 1000)
    5
    >>> own_value("epochs", 20, "max_iter", None, 1000)
    20
    """
    if given is None:
        return value
    if value not in (default, given):
        raise _contradiction(ours, value, theirs, given)
    return given


def _contradiction(ours: str, value: Any, theirs: str, given: Any) -> ParameterError:
    return ParameterError(
        Message(
            "{ours} and {theirs} contradict each other: they are two names of the same "
            "parameter. Set only {name}.",
            ours=Parameter(ours, value),
            theirs=f"{theirs}={given!r}",
            name=Parameter(ours),
        )
    )
