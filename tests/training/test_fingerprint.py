"""The fingerprint of a run is the same in every process."""

import os
import subprocess
import sys

import pytest

from separatrix.solvers import SOLVERS

PROGRAM = """
import sys
import numpy as np
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import SOLVERS
from separatrix.training.checkpoint import fingerprint

one = np.ones(1)
made = [kind(one, one, one) if kind.name == "gradient" else kind() for kind in SOLVERS.values()]
objective = Objective(Dataset.of([[0.0], [1.0]], [0, 1]), LOSSES["logistic"], ElasticNet(0.0, 0.0))
for solver in made:
    print(fingerprint(solver, objective, Model.zeros(1, 1, 1))["fingerprint"].tolist())
"""


@pytest.mark.slow
def test_a_fingerprint_does_not_depend_on_the_hash_seed() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    ]
    assert told[0].count("\n") == len(SOLVERS)
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("name", SOLVERS)
def test_the_needs_of_a_solver_are_a_class_attribute(name: str) -> None:
    assert all(need.words for need in SOLVERS[name].needs)
    assert "needs" not in getattr(SOLVERS[name], "__dataclass_fields__", {})
