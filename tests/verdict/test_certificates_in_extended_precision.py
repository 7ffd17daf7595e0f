"""A short version of benchmarks/certificates.py: random fits checked in extended precision."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from separatrix.verdict.certificate import Certificate

_PATH = Path(__file__).parents[2] / "benchmarks" / "certificates.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("certificates", _PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif(
    np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps,
    reason="this machine has no numbers with more digits than float64",
)
@pytest.mark.parametrize("first", range(0, 30, 10))
def test_no_lower_bound_is_above_the_objective_of_a_better_point(script, first):
    for seed in range(first, first + 10):
        found = script.check(script.draw_fit(seed))
        assert found.excess <= script.ROUNDING, (seed, found)
        assert found.misreport <= script.MISREPORT, (seed, found)


def test_a_bound_far_below_the_objective_keeps_its_digits():
    found = Certificate("duality_gap", 1.0, 0.0, 1.0, 1.0, 0.5).raised_to(3e-17)
    assert found.dual == 3e-17
    assert found.gap == 1.0
