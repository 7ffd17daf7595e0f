"""When a rising validation loss is overfitting, and when it is no evidence."""

import numpy as np
import pytest

from separatrix import GradientDescentClassifier
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.run_checks import check_overfitting
from separatrix.verdict.trace import Trace

NOTHING = Certificate("gradient_norm", 0.5, None, None, None, 0.0)


def traced(train, val, **more):
    """The course of a run that starts at a loss of 1."""
    history = {"objective": train, "train_loss": train, "val_loss": val}
    history["gradient_norm"] = history["objective"]
    return Trace(history, 1.0, "epochs", None, NOTHING, **more)


def test_a_run_that_oscillates_does_not_overfit():
    at = np.arange(300)
    val = 0.413 + 5e-5 * at
    steady, swings = 0.44 - 2e-5 * at, 0.44 - 2e-5 * at + np.where(at % 2 == 1, 0.05, 0.0)
    assert check_overfitting(traced(steady, val)) is not None
    assert traced(swings, val).still_swings()
    assert check_overfitting(traced(swings, val)) is None


@pytest.mark.parametrize(("rows", "told"), [(17, False), (75, True), (np.inf, True)])
def test_few_rows_are_no_evidence_of_overfitting(rows, told):
    """A rise by 0.055 makes 75 rows 60 times less likely, and 17 rows 2.5 times."""
    train, val = np.linspace(0.4, 0.1, 40), np.r_[np.linspace(0.6, 0.3, 10), np.full(30, 0.355)]
    found = check_overfitting(traced(train, val, val_rows=rows))
    assert (found is not None) is told


def test_a_fit_counts_its_validation_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 12))
    y = (X[:, 0] + 1.5 * rng.normal(size=60) > 0).astype(int)
    seen = set()
    for row in range(40, 60):
        for copies in (1, 100):
            own = np.full(copies, row)
            model = GradientDescentClassifier(learning_rate=0.5, epochs=60)
            val = model.fit(X[:40], y[:40], None, X[own], y[own]).history_["val_loss"]
            rise = val[-6:].min() - val.min()
            if rise > 0.05 * val.min() > 0.001:
                told = "overfitting" in [d.kind for d in model.diagnoses_]
                assert told is bool(rise * copies > np.log(20.0))
                seen.add((copies, told))
    assert seen >= {(1, False), (100, True)}
