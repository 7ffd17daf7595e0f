"""Memory and disk use of studies, with small data."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from separatrix import GradientDescentClassifier, Study
from separatrix.study import Store, log_range
from separatrix.study.store.encoding import from_bytes, to_bytes

BUDGET = 20_000_000


def images():
    """Return rows with enough features and classes to make weights and scores large."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 100)), rng.integers(0, 10, 600)
    return X[:500], y[:500], X[500:], y[500:]


def peak(tmp_path, configurations, memory):
    """Return the peak memory of a study in bytes, without its rows."""
    rows = images()
    grid = {"learning_rate": log_range(1e-4, 1e-2, configurations), "epochs": [3, 6]}
    store = tmp_path / f"{configurations}-{memory}.db"
    study = Study("a", GradientDescentClassifier(), grid, store=store, memory=memory)
    tracemalloc.start()
    try:
        study.run(*rows, every=0.0)  # with a checkpoint after every epoch
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_study_of_many_configurations_stays_within_its_memory(tmp_path):
    peak(tmp_path, 2, BUDGET - 1)  # warm up imports and caches
    few = peak(tmp_path, 2, BUDGET)
    assert peak(tmp_path, 200, BUDGET) - few <= BUDGET
    assert peak(tmp_path, 200, 100 * BUDGET) - few > BUDGET


@pytest.fixture
def study(tmp_path):
    """A small finished study."""
    grid = {"learning_rate": [0.1, 0.01], "epochs": [5, 10]}
    return Study("a", GradientDescentClassifier(), grid, store=tmp_path / "a.db").run("iris")


def test_the_table_and_the_verdict_read_neither_histories_nor_other_weights(study):
    table, best = study.table(), study.verdict().best
    with Store(study.store, write=True) as store, store.writing() as connection:
        connection.execute("UPDATE histories SET records = x'00', fields = 'no'")
        connection.execute(
            "UPDATE runs SET coef = x'00', intercept = x'00' WHERE configuration != ?", (best,)
        )
    assert study.table() == table
    with pytest.raises(OSError, match="is damaged"):
        study.histories()


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["list", "table", "show"])
def test_reading_a_study_does_not_import_training_code(study, verb):
    code = (
        "import sys\n"
        "from separatrix.cli import main\n"
        f"sys.argv = ['separatrix', 'studies', {verb!r}, '--store', {str(study.store)!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'sklearn', 'altair', 'scipy.optimize'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@given(
    arrays(
        st.sampled_from([np.dtype(bool), np.dtype(np.float32), np.dtype(float), np.dtype(int)]),
        array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    )
)
def test_arrays_in_a_store_keep_type_shape_and_values(a):
    found = from_bytes(to_bytes(a))
    assert (found.dtype, found.shape, found.tobytes()) == (a.dtype, a.shape, a.tobytes())
    found[...] = 0  # the result is writable


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:9], lambda b: b"x" + b]
)
def test_incomplete_bytes_of_an_array_are_refused(damage):
    with pytest.raises(ValueError, match=r"bytes of an array|buffer|header|EOF"):
        from_bytes(damage(to_bytes(np.arange(3.0))))
