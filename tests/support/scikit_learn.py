"""Differences between the versions of scikit-learn that the tests use."""

from __future__ import annotations

from typing import Any

import sklearn

_VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))
BEFORE_1_7 = _VERSION < (1, 7)
BEFORE_1_8 = _VERSION < (1, 8)


def elastic_net(l1_ratio: float) -> dict[str, Any]:
    """The parameters of scikit-learn's LogisticRegression for this L1 ratio."""
    if l1_ratio == 0.0:
        return {}
    return {"l1_ratio": l1_ratio} | ({"penalty": "elasticnet"} if BEFORE_1_8 else {})
