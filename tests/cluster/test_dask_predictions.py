"""Predictions for Dask collections are lazy, and equal those in memory."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.errors import ClusterError

da = pytest.importorskip("dask.array", reason="dask is not installed (extra dask)")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed (extra dask)")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 4))
Y = np.array(["a", "b", "c"])[(X @ RNG.standard_normal((4, 3))).argmax(axis=1)]
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_predictions_are_lazy_arrays(method, classes):
    rows = Y != "c" if classes == 2 else slice(None)
    model = sx.LogisticRegression().fit(X[rows], Y[rows])
    call = getattr(model, method)
    for parts in (da.from_array(X, chunks=(20, 4)), da.from_array(X, chunks=(20, 3))):
        found = call(parts)
        assert isinstance(found, da.Array)
        assert found.shape == call(X).shape
        assert found.dtype == call(X).dtype
        assert np.array_equal(found.compute(scheduler="sync"), call(X))


def fitted(X: Any) -> Any:
    return sx.LogisticRegression().fit(X, Y)


@pytest.mark.parametrize("method", METHODS)
def test_predictions_for_data_frames_check_the_names_of_the_columns(method):
    frame = pd.DataFrame(X, columns=list("pqrs"))
    call = getattr(fitted(frame), method)
    parts = dd.from_pandas(frame, npartitions=4)
    found = call(parts)
    assert isinstance(found, da.Array)
    assert np.array_equal(found.compute(scheduler="sync"), call(frame))
    with pytest.raises(ValueError, match="feature names"):
        call(parts.rename(columns={"p": "other"})).compute(scheduler="sync")


def test_predictions_need_no_chunk_sizes_and_allow_partitions_without_rows():
    parts, model = da.from_array(X, chunks=(20, 4)), fitted(X)
    kept = (parts[:, 0] > 0.0) & (da.arange(90, chunks=20) >= 40)
    here = (X[:, 0] > 0.0) & (np.arange(90) >= 40)
    for method in METHODS:
        found = getattr(model, method)(parts[kept]).compute(scheduler="sync")
        assert np.array_equal(found, getattr(model, method)(X[here]))


def test_the_score_is_the_accuracy_of_all_rows():
    model, s = sx.LogisticRegression(C=0.01).fit(X, Y), RNG.random(90)
    parts, labels = da.from_array(X, chunks=(20, 4)), da.from_array(Y, chunks=20)
    assert model.score(parts, labels) == model.score(X, Y)
    for weights in (s, da.from_array(s, chunks=20)):
        found = model.score(parts, labels, weights)
        assert found == pytest.approx(model.score(X, Y, s), abs=1e-14)


@pytest.mark.filterwarnings("error")
def test_the_score_on_data_frames_with_string_labels_warns_of_nothing():
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(label=Y, s=RNG.random(90))
    parts, model = dd.from_pandas(frame, npartitions=4), fitted(frame[list("pqrs")])
    found = model.score(parts[list("pqrs")], parts["label"], parts["s"])
    expected = model.score(frame[list("pqrs")], Y, frame["s"].to_numpy())
    assert found == pytest.approx(expected, abs=1e-14)


def test_a_lazy_prediction_carries_no_history():
    model = sx.GradientDescentClassifier(epochs=3000).fit(X, Y)
    found = model.predict(da.from_array(X, chunks=(20, 4)))
    assert len(pickle.dumps(dict(found.dask))) < len(pickle.dumps(model)) / 2


def test_a_fit_without_a_client_says_how_to_connect():
    pytest.importorskip("distributed", reason="distributed is not installed (extra dask)")
    with pytest.raises(ClusterError, match=r"this process has none\. Connect first"):
        sx.LogisticRegression().fit(da.from_array(X, chunks=(20, 4)), Y)
