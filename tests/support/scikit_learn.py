"""scikit-learn's checks of estimators, and differences between its versions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import pytest
import sklearn
from sklearn.utils.estimator_checks import estimator_checks_generator

_VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))
BEFORE_1_7 = _VERSION < (1, 7)
BEFORE_1_8 = _VERSION < (1, 8)


def elastic_net(l1_ratio: float) -> dict[str, Any]:
    """The parameters of scikit-learn's LogisticRegression for this L1 ratio."""
    if l1_ratio == 0.0:
        return {}
    return {"l1_ratio": l1_ratio} | ({"penalty": "elasticnet"} if BEFORE_1_8 else {})


def checks(estimators: Sequence[Any], left_out: Collection[str] = ()) -> pytest.MarkDecorator:
    """Run scikit-learn's checks on estimators, except those whose names are left out."""
    pairs = [
        pytest.param(estimator, check, id=f"{estimator}-{name_of(check)}")
        for estimator in estimators
        for estimator, check in estimator_checks_generator(estimator)
        if name_of(check) not in left_out
    ]
    return pytest.mark.parametrize(("estimator", "check"), pairs)


def name_of(check: Any) -> str:
    """The name of a check, which can have fixed arguments."""
    return check.func.__name__ if isinstance(check, partial) else check.__name__
