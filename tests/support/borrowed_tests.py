"""Test modules of the installed scikit-learn, run on the classes of this library."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

# Where scikit-learn's tests find its classes, at import and when they run.
HOMES = (
    "sklearn.linear_model",
    "sklearn.linear_model._logistic",
    "sklearn.linear_model._perceptron",
    "sklearn.linear_model._stochastic_gradient",
    "sklearn.svm",
)


@contextmanager
def replaced(classes: Mapping[str, type]) -> Iterator[None]:
    """Replace scikit-learn's classes by others of the same names."""
    homes = [importlib.import_module(name) for name in HOMES]
    patches = [
        patch.object(home, name, cls)
        for home in homes
        for name, cls in classes.items()
        if hasattr(home, name)
    ]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in reversed(patches):
            each.stop()


def borrow(
    module: str, classes: Mapping[str, type], wanted: Callable[[str], bool] = lambda name: True
) -> dict[str, Any]:
    """Import a test module of scikit-learn with other classes, and return its tests."""
    with replaced(classes):
        sys.modules.pop(module, None)
        theirs = vars(importlib.import_module(module))
        sys.modules.pop(module)

    @pytest.fixture(autouse=True)
    def _replaced_classes() -> Iterator[None]:
        with replaced(classes):
            yield

    tests = {name: value for name, value in theirs.items() if name.startswith("test_")}
    for test in tests.values():
        if hasattr(test, "pytestmark"):
            test.pytestmark = [_with_lists(mark) for mark in test.pytestmark]
    marks = theirs.get("pytestmark", [])
    return {
        **{name: test for name, test in tests.items() if wanted(name)},
        "pytestmark": [
            pytest.mark.filterwarnings("default"),
            *(marks if isinstance(marks, list) else [marks]),
        ],
        "_replaced_classes": _replaced_classes,
    }


def _with_lists(mark: pytest.Mark) -> pytest.Mark:
    """Return the mark with iterators replaced by lists, as the newest pytest demands."""
    args = (list(a) if isinstance(a, Iterator) else a for a in mark.args)
    return getattr(pytest.mark, mark.name)(*args, **mark.kwargs).mark
