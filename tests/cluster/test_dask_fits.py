"""A fit on Dask collections gives the bits of a fit on the same blocks in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import separatrix as sx
from separatrix.cluster import DaskBlocks, Placement
from separatrix.data import Dataset
from separatrix.data.block_sums import labels, total_weight

da = pytest.importorskip("dask.array", reason="dask is not installed (extra dask)")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed (extra dask)")

N, D, ROWS = 203, 5, 20  # eleven partitions, more than are added at a time
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = (X @ RNG.standard_normal((D, 3)) + 2.0 * RNG.gumbel(size=(N, 3))).argmax(axis=1)
TWO = (Y > 0).astype(int)
S = RNG.exponential(1.0, N)
NAMES = [f"x{j}" for j in range(D)]
TIGHT: dict[str, Any] = {"tol": 1e-12, "max_iter": 300}
FITS: dict[str, tuple[Any, np.ndarray]] = {
    "newton": (sx.LogisticRegression(**TIGHT), Y),
    "lbfgs": (sx.LogisticRegression(solver="lbfgs", **TIGHT), TWO),
    "one-vs-rest": (sx.LogisticRegression(multiclass="ovr", **TIGHT), Y),
    "balanced": (sx.LogisticRegression(class_weight="balanced", **TIGHT), Y),
    "class weights": (sx.LogisticRegression(class_weight={0: 3.0}, **TIGHT), TWO),
    "L1": (sx.LogisticRegression(l1_ratio=1.0, C=0.3, **TIGHT), TWO),
    "no penalty": (sx.LogisticRegression(C=np.inf, **TIGHT), TWO),
    "squared hinge": (sx.LinearSVC(loss="squared_hinge", **TIGHT), TWO),
    "gradient": (sx.GradientDescentClassifier(rule="adam", epochs=8), Y),
    "mini-batches": (sx.GradientDescentClassifier(batch_size=8, epochs=3), TWO),
    "perceptron": (sx.Perceptron(max_iter=4), TWO),
}


def dask_array(a: Any, rows: int = ROWS) -> Any:
    return da.from_array(a, chunks=(rows, *a.shape[1:]))


def in_blocks(model: Any, X: Any, y: Any, *more: Any, rows: int = ROWS) -> Any:
    with sx.rows_per_block(rows):
        return clone(model).fit(X, y, *more)


def same_bits(first: Any, second: Any) -> bool:
    return bool(
        np.array_equal(first.coef_, second.coef_)
        and np.array_equal(first.intercept_, second.intercept_)
        and np.array_equal(first.classes_, second.classes_)
        and repr(first.certificate_) == repr(second.certificate_)
    )


@pytest.mark.parametrize("name", FITS)
def test_dask_arrays_give_the_bits_of_blocks_in_memory(client, name):
    model, y = FITS[name]
    found = clone(model).fit(dask_array(X), dask_array(y))
    assert same_bits(found, in_blocks(model, X, y))


def test_fits_do_not_depend_on_the_kind_of_collection(client):
    model = sx.LogisticRegression(**TIGHT)
    expected = in_blocks(model, X, Y)
    frame = pd.DataFrame(X, columns=NAMES).assign(label=Y)
    frames = dd.from_pandas(frame, npartitions=1).repartition(divisions=[*range(0, N, ROWS), N - 1])
    names = np.array(["a", "b", "c"])[Y]
    pairs = {
        "labels in memory": (dask_array(X), Y),
        "columns in several chunks": (dask_array(X).rechunk({1: 2}), dask_array(Y)),
        "labels in other chunks": (dask_array(X), dask_array(Y, 50)),
        "unknown chunk sizes": (
            dask_array(X)[dask_array(X)[:, 0] > -9.0],
            dask_array(Y)[dask_array(X)[:, 0] > -9.0],
        ),
        "data frame": (frames[NAMES], frames["label"]),
        "persisted": (dask_array(X).persist(), dask_array(Y).persist()),
        "words": (dask_array(X), dask_array(names)),
    }
    for kind, (rows, y) in pairs.items():
        found = clone(model).fit(rows, y)
        assert np.array_equal(found.coef_, expected.coef_), kind
        assert found.classes_.tolist() == (["a", "b", "c"] if kind == "words" else [0, 1, 2])
        assert list(getattr(found, "feature_names_in_", [])) == (
            NAMES if kind == "data frame" else []
        )


@pytest.mark.parametrize("kind", ["float32", "int8", "float16", "csr", "csc", "fortran"])
def test_partitions_of_any_type_give_the_bits_of_the_type_in_memory(client, kind):
    made = np.rint(3.0 * X)
    if kind in ("csr", "csc"):
        parts = dask_array(made).map_blocks(sp.csr_array if kind == "csr" else sp.csc_array)
        given: Any = sp.csr_array(made)
    else:
        given = np.asfortranarray(made) if kind == "fortran" else made.astype(kind)
        parts = dask_array(given)
    model = sx.LogisticRegression(**TIGHT)
    assert same_bits(clone(model).fit(parts, dask_array(TWO)), in_blocks(model, given, TWO))


def test_sample_weights_can_be_in_memory_or_a_collection(client):
    model = sx.LogisticRegression(class_weight="balanced", **TIGHT)
    expected = in_blocks(model, X, Y, S)
    for weights in (S, dask_array(S), dask_array(S, 70)):
        found = clone(model).fit(dask_array(X), dask_array(Y), weights)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-12)


def test_partitions_without_rows_are_left_out(client):
    rows = dask_array(X)
    kept = (rows[:, 0] > 0.0) & (da.arange(N, chunks=ROWS) >= 40)  # two partitions are empty
    here = (X[:, 0] > 0.0) & (np.arange(N) >= 40)
    found = sx.LogisticRegression(**TIGHT).fit(rows[kept], dask_array(Y)[kept])
    expected = sx.LogisticRegression(**TIGHT).fit(X[here], Y[here])
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-9)


def test_models_share_the_passes_over_partitions(client):
    rates = [0.1, 0.01, 0.001]
    models = [sx.GradientDescentClassifier(learning_rate=rate, epochs=8) for rate in rates]
    rows, y = dask_array(X), dask_array(Y)
    sx.fit_many(models, rows, y, X_val=rows, y_val=y)
    for model, rate in zip(models, rates):
        alone = in_blocks(sx.GradientDescentClassifier(learning_rate=rate, epochs=8), X, Y)
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-12)
        assert np.array_equal(model.history_["val_loss"], model.history_["train_loss"])


def test_a_source_keeps_the_protocol_of_blocks_in_memory(client):
    rows = Placement(dask_array(X), dask_array(Y), dask_array(S)).rows(np.arange(3))
    source = rows.source
    data, here = Dataset(source, np.arange(3)), Dataset.of(X, Y, S, rows_per_block=ROWS)
    assert isinstance(data.source, DaskBlocks)
    assert data.facts.lengths == here.facts.lengths
    assert np.array_equal(data.labels(), Y)
    assert np.array_equal(data.weights(), S)
    assert np.array_equal(data.total_weight(), here.total_weight())
    part = data.every(3).select(np.array([0]))
    assert [len(y) for y in part.map_blocks(labels)] == [-(-n // 3) for n in here.facts.lengths]
    assert part.sum_over_blocks(total_weight)[0] == here.every(3).total_weight()
