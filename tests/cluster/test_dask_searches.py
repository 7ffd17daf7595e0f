"""Searches on Dask collections share the passes of one fit and send no scores of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.cluster import passes_sent
from separatrix.cluster.compact import compact, expand

da = pytest.importorskip("dask.array", reason="dask is not installed (extra dask)")

N, D, ROWS = 203, 5, 40
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = (X @ RNG.standard_normal((D, 3)) + 2.0 * RNG.gumbel(size=(N, 3))).argmax(axis=1)
TWO = (Y > 0).astype(int)
S = RNG.integers(1, 4, N).astype(float)
GRID = {"C": [0.03, 0.3, 3.0]}
TIGHT: dict[str, Any] = {"tol": 1e-12, "max_iter": 300}


def parts(y: Any = Y) -> tuple[Any, Any]:
    return da.from_array(X, chunks=(ROWS, D)), da.from_array(y, chunks=ROWS)


def in_blocks(model: Any, *given: Any, **params: Any) -> Any:
    with sx.rows_per_block(ROWS):
        return clone(model).fit(*given, **params)


SCALED = make_pipeline(StandardScaler(), sx.LogisticRegression(**TIGHT))
SEARCHES = {
    "grid": sx.GridSearchCV(sx.LogisticRegression(**TIGHT), GRID, cv=3, return_train_score=True),
    "balanced": sx.GridSearchCV(
        sx.LogisticRegression(class_weight="balanced", **TIGHT), GRID, cv=3
    ),
    "log loss": sx.GridSearchCV(sx.LogisticRegression(**TIGHT), GRID, cv=3, scoring="neg_log_loss"),
    "scaled": sx.GridSearchCV(SCALED, {"logisticregression__C": GRID["C"]}, cv=3, refit=False),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_grid_searches_equal_those_of_blocks_in_memory(client, name):
    found = clone(SEARCHES[name]).fit(*parts())
    expected = in_blocks(SEARCHES[name], X, Y)
    for key, value in expected.cv_results_.items():
        if "score" in key and "time" not in key:
            np.testing.assert_allclose(found.cv_results_[key], value, rtol=1e-12)
    if found.refit:
        coef = expected.best_estimator_.coef_
        np.testing.assert_allclose(found.best_estimator_.coef_, coef, rtol=0, atol=1e-12)


def test_searches_use_sample_weights(client):
    search = SEARCHES["grid"]
    found = clone(search).fit(*parts(), sample_weight=da.from_array(S, chunks=ROWS))
    expected = in_blocks(search, X, Y, sample_weight=S)
    np.testing.assert_allclose(
        found.best_estimator_.coef_, expected.best_estimator_.coef_, rtol=0, atol=1e-10
    )


def test_penalty_searches_and_paths_equal_those_of_blocks_in_memory(client):
    search = sx.LogisticRegressionCV(Cs=3, cv=3, use_legacy_attributes=False, **TIGHT)
    found, expected = clone(search).fit(*parts()), in_blocks(search, X, Y)
    assert found.C_ == expected.C_
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-12)
    path = sx.regularization_path(*parts(TWO), Cs=3)
    with sx.rows_per_block(ROWS):
        here = sx.regularization_path(X, TWO, Cs=3)
    np.testing.assert_allclose(path.coefs, here.coefs, rtol=0, atol=1e-9)


def test_studies_equal_those_of_blocks_in_memory(client, tmp_path):
    grid = {"learning_rate": [0.1, 0.01], "epochs": [4, 8]}

    def study(name: str) -> Any:
        return sx.Study(name, sx.GradientDescentClassifier(), grid, store=tmp_path / "runs.db")

    found = study("cluster").run(*parts(), *parts())
    with sx.rows_per_block(ROWS):
        expected = study("memory").run(X, Y, X, Y)
    for here, there in zip(found.table(), expected.table()):
        assert here["val_loss"] == there["val_loss"]
        assert here["train_loss"] == there["train_loss"]
    study("cluster").run(*parts(), *parts(), resume=True)  # the same rows are recognised
    with pytest.raises(Exception, match="data"):
        study("cluster").run(*parts(TWO), *parts(TWO), resume=True)


def count(f: Any) -> int:
    before = passes_sent()
    f()
    return passes_sent() - before


def test_a_search_sends_few_passes_more_than_a_fit(client):
    """Of the nine models, the slowest needs a few steps more than a single one."""
    single = sx.LogisticRegression(C=3.0, solver="newton")
    one = count(lambda: single.fit(*parts()))
    grid = sx.GridSearchCV(clone(single), GRID, cv=3)
    nine = count(lambda: grid.fit(*parts()))
    assert nine <= 2 * one
    assert len(grid.cv_results_["params"]) * 3 == 9


def test_weights_of_folds_are_sent_as_one_byte_for_each_row():
    folds = np.arange(1000) % 5
    weights = (folds[:, None] != np.arange(5)).astype(float)
    sent = compact(weights)
    assert sent.numbers.nbytes == 1000
    assert sent.table.shape == (5, 5)
    assert np.array_equal(expand(sent), weights)
    for kept in (RNG.random(1000), RNG.random((1000, 2)), None, np.empty((0, 2))):
        assert expand(compact(kept)) is kept
    column = np.arange(1000.0) % 3
    assert np.array_equal(expand(compact(column)), column)
