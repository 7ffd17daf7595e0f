"""One lab for all tests."""

import pytest

from separatrix import GradientDescentClassifier, Study
from support.running_lab import running_lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """A lab whose store has one finished study, "rates"."""
    store = tmp_path_factory.mktemp("lab") / "studies.db"
    grid = {"learning_rate": [0.01, 0.1, 20.0], "epochs": [10, 40]}
    study = Study("rates", GradientDescentClassifier(), grid, store=store)
    study.command = "separatrix study iris --learning-rate 0.01,0.1,20 --epochs 10,40 --as-is"
    study.run("iris", standardise=False)
    with running_lab(store) as found:
        yield found
