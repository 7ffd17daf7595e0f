"""A short version of benchmarks/certified_bounds.py, and what each part of the bounds is for."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

_PATH = Path(__file__).parents[2] / "benchmarks" / "certified_bounds.py"
no_extended = pytest.mark.skipif(
    np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps,
    reason="this machine has no numbers with more digits than float64",
)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("certified_bounds", _PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def violations(script, seeds):
    found = [script.check(seed) for seed in seeds]
    return [f for f in found if f is not None and f.excess > 0.0]


@no_extended
@pytest.mark.parametrize("first", range(0, 240, 60))
def test_the_optimum_and_its_scores_are_in_the_region(script, first):
    assert violations(script, range(first, first + 60)) == []
