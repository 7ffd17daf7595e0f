"""Collections that cannot be trained on are refused with the row, the column or the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import separatrix as sx

da = pytest.importorskip("dask.array", reason="dask is not installed (extra dask)")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed (extra dask)")
pytest.importorskip("distributed", reason="distributed is not installed (extra dask)")

X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.arange(60) % 2
PARTS, LABELS = da.from_array(X, chunks=(20, 3)), da.from_array(Y, chunks=20)


def changed(a: np.ndarray, at: Any, value: Any) -> Any:
    out = a.astype(float)
    out[at] = value
    return da.from_array(out, chunks=(20, *out.shape[1:]))


def of_unknown_sizes(rows: int) -> Any:
    return LABELS[da.arange(60, chunks=20) < rows]


FRAME = dd.from_pandas(pd.DataFrame({"a": X[:, 0], "job": ["baker"] * 60}), npartitions=3)
REFUSED: dict[str, tuple[Any, Any, Any, str]] = {
    "NaN": (changed(X, (45, 2), np.nan), LABELS, None, "NaN at row 45, column 2"),
    "label": (PARTS, changed(Y, 30, np.nan), None, "y has nan at row 30"),
    "weight": (PARTS, LABELS, changed(Y, 31, -2.0), "Row 31 has -2"),
    "weights": (PARTS, LABELS, da.zeros(60, chunks=20), "zero for every row"),
    "text": (FRAME, LABELS, None, "column 'job' is of type string"),
    "partitions": (PARTS, LABELS[:20], None, "X has 3 and y has 1"),
    "lengths": (PARTS, of_unknown_sizes(50), None, "10 entries in the partition .* row 40"),
    "memory": (PARTS, Y[:50], None, r"60 rows of X. Got an array of shape \(50,\)"),
    "classes": (PARTS, da.zeros(60, chunks=20), None, "only one class"),
    "continuous": (PARTS, PARTS[:, 0], None, "Unknown label type: continuous"),
    "no labels": (PARTS, None, None, "needs labels"),
    "one dimension": (PARTS[:, 0], LABELS, None, "two dimensions"),
    "frame of labels": (PARTS, FRAME, None, "must be one column"),
    "no rows": (PARTS[PARTS[:, 0] > 99.0], LABELS[PARTS[:, 0] > 99.0], None, "no rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_rows_are_refused_with_their_place(client, case):
    rows, y, weights, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        sx.LogisticRegression().fit(rows, y, weights)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sx.LinearSVC(loss="hinge"), "squared"),
        (sx.LinearSVC(loss="squared_hinge", probability=3), "probability"),
        (sx.KernelClassifier(), "KernelClassifier"),
        (sx.SGDClassifier(early_stopping=True), "early_stopping"),
    ],
)
def test_estimators_that_need_all_rows_are_refused(client, model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(PARTS, LABELS)
    assert not hasattr(model, "coef_")


def test_certificates_of_rows_on_a_cluster_are_refused(client):
    model = sx.LogisticRegression(certified=True).fit(X, Y)
    with pytest.raises(TypeError, match=r"certify needs rows in memory.*\.compute\(\)"):
        model.certify(PARTS)
    with pytest.raises(TypeError, match=r"certified_search needs all rows in memory.*Array of"):
        sx.certified_search(PARTS, LABELS)
