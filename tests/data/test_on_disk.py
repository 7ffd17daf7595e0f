"""Rows on disk give the same models as rows in memory, and damage is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import separatrix as sx
from data.test_blocks import FITS, ROWS, TWO, S, X, Y, numbers_of
from separatrix.data.on_disk.blocks_on_disk import BlocksOnDisk

PLAIN = {"standardise": False}
ALL = (1, 0, 0)
NOT_ON_DISK = {"scaled grid": "its refit needs X", "calibrated": "its folds need X"}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: Any) -> dict[str, sx.StoredRows]:
    """The rows of the tests of blocks with two and three classes, with weights, on disk."""
    found = {}
    for name, y in {"three": Y, "two": TWO}.items():
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        frame["weight"], frame["label"] = S, y
        found[name] = sx.convert(
            frame,
            tmp_path_factory.mktemp("stored") / name,
            rows_per_block=ROWS,
            settings=PLAIN,
            split=ALL,
            weight="weight",
            types={"label": "number"},
        )
    return found


def test_blocks_on_disk_hold_the_rows_in_their_order(stored: Any) -> None:
    A, y = stored["three"].load()
    np.testing.assert_array_equal(A, X)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(stored["three"].weights, S)
    assert stored["three"].source.facts.lengths == (ROWS,) * 7


@pytest.mark.parametrize("name", [name for name in FITS if name not in NOT_ON_DISK])
def test_every_fit_and_search_has_the_bits_of_the_same_blocks_in_memory(
    name: str, stored: Any
) -> None:
    estimator, y = FITS[name]
    rows = stored["three" if len(np.unique(y)) == 3 else "two"]
    disk = numbers_of(clone(estimator).fit(rows))
    with sx.rows_per_block(ROWS):
        memory = numbers_of(clone(estimator).fit(X, y, sample_weight=S))
    one = numbers_of(clone(estimator).fit(X, y, sample_weight=S))
    for what, value in memory.items():
        np.testing.assert_array_equal(disk[what], value, err_msg=what)
        scale = np.abs(one[what]).max()
        np.testing.assert_allclose(disk[what], one[what], rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.parametrize(
    "estimator", [sx.LogisticRegression(tol=1e-10), sx.LinearSVC(loss="squared_hinge")]
)
def test_predictions_of_rows_on_disk_are_those_of_rows_in_memory(
    estimator: Any, stored: Any
) -> None:
    rows = stored["three"]
    model = clone(estimator).fit(rows)
    np.testing.assert_array_equal(model.predict(rows), model.predict(X))
    np.testing.assert_array_equal(model.decision_function(rows), model.decision_function(X))
    assert model.score(rows) == model.score(X, Y, S)
    two = clone(estimator).fit(stored["two"])
    found = two.choose_threshold(stored["two"], recall=0.9)
    assert str(found) == str(two.choose_threshold(X, TWO, recall=0.9, sample_weight=S))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_on_disk_are_those_in_memory(dtype: Any, tmp_path: Path) -> None:
    A = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0).astype(dtype))
    rows = sx.convert((A, Y), tmp_path / "sparse", rows_per_block=40, split=ALL)
    assert rows.sparse
    assert rows.source.facts.dtype == dtype
    disk = sx.LogisticRegression().fit(rows)
    with sx.rows_per_block(40):
        memory = sx.LogisticRegression().fit(A, Y)
    np.testing.assert_array_equal(disk.coef_, memory.coef_)
    assert rows.source.facts.n_entries == A.nnz


def test_parts_are_those_of_the_reader(tmp_path: Path) -> None:
    source = sx.load("wine")
    sx.convert("wine", tmp_path / "wine", settings=PLAIN)
    for part in source.splits:
        A, y = sx.open(tmp_path / "wine", part).load()
        expected = source.part(part)
        table = expected.table
        values = (
            np.column_stack([table[name] for name in table]) if hasattr(table, "kinds") else table
        )
        np.testing.assert_array_equal(A, values)
        np.testing.assert_array_equal(y, expected.y)
    every = sx.open(tmp_path / "wine", "all")
    assert len(every) == len(source)
    assert len(every.part(["validation", "test"])) == len(source) - len(source.splits["train"])


def test_validation_rows_on_disk_stop_a_fit_early(tmp_path: Path) -> None:
    sx.convert("wine", tmp_path / "wine", rows_per_block=20)
    train, validation = (sx.open(tmp_path / "wine", part) for part in ("train", "validation"))
    model = sx.GradientDescentClassifier(epochs=20, patience=3)
    disk = clone(model).fit(train, X_val=validation)
    with sx.rows_per_block(20):
        memory = clone(model).fit(*train.load(), X_val=validation.load()[0], y_val=validation.y)
    np.testing.assert_array_equal(disk.coef_, memory.coef_)
    assert disk.history_["val_loss"].tolist() == memory.history_["val_loss"].tolist()


def test_models_of_a_batch_share_every_pass_over_the_disk(
    stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocks_read(count: int) -> int:
        seen = []
        original = BlocksOnDisk.block
        with monkeypatch.context() as patch:
            patch.setattr(
                BlocksOnDisk,
                "block",
                lambda self, number, with_x=True: (
                    seen.append(number),
                    original(self, number, with_x),
                )[1],
            )
            models = [sx.LogisticRegression(C=1.0, tol=1e-8) for _ in range(count)]
            sx.fit_many(models, stored["two"])
        return len(seen)

    assert blocks_read(9) == blocks_read(1)


def test_what_needs_rows_in_memory_says_so(stored: Any) -> None:
    rows = stored["two"]
    with pytest.raises(ValueError, match=r"all rows are in one block in memory.*squared_hinge"):
        sx.LinearSVC(loss="hinge").fit(rows)
    with pytest.raises(ValueError, match="LinearSVC with probability=3 needs X in memory"):
        sx.LinearSVC(loss="squared_hinge", probability=3).fit(rows)
    with pytest.raises(ValueError, match="KernelClassifier needs X in memory"):
        sx.KernelClassifier().fit(rows)
    with pytest.raises(ValueError, match=r"SGDClassifier with early_stopping=True.*without X_val"):
        sx.SGDClassifier(early_stopping=True).fit(rows)
    with pytest.raises(ValueError, match="have their own labels"):
        sx.LogisticRegression().fit(rows, 1 - TWO)
    with pytest.raises(ValueError, match="only the weights that are stored"):
        sx.LogisticRegression().fit(rows, sample_weight=2.0 * S)
    model = sx.LogisticRegression().fit(rows)
    assert model.score(rows, TWO, S) == model.score(rows)
    with pytest.raises(ValueError, match="have their own labels"):
        model.score(rows, 1 - TWO)
    with pytest.raises(TypeError, match="outside of memory are not an array"):
        np.asarray(rows)
    with pytest.raises(ValueError, match=r"X must have the 2 features .* Got 5 features"):
        sx.LogisticRegression().fit(X[:, :2], TWO).predict(rows)
    with pytest.raises(ValueError, match=r"has no part 'test'. Its parts are: train, all"):
        rows.part("test")


@pytest.mark.parametrize("count", [0, -1, 1.5, "a", True])
def test_a_conversion_with_bad_blocks_leaves_no_folder(count: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'rows_per_block' parameter must be a whole number >= 1"):
        sx.convert("iris", tmp_path / "blocks", rows_per_block=count)
    assert not (tmp_path / "blocks").exists()


def test_a_search_over_scaled_features_works_without_a_refit(stored: Any) -> None:
    search, _ = FITS["scaled grid"]
    with pytest.raises(ValueError, match=r"cannot fit a pipeline to rows outside.*refit=False"):
        clone(search).fit(stored["three"])
    disk = clone(search).set_params(refit=False).fit(stored["three"])
    frame = stored["three"].load()[0]
    with sx.rows_per_block(ROWS):
        memory = clone(search).set_params(refit=False)
        memory.fit(frame, Y, logisticregression__sample_weight=S)
    for name in ("split0_test_score", "mean_test_score"):
        np.testing.assert_array_equal(disk.cv_results_[name], memory.cv_results_[name])
    assert disk.n_batches_ == 1


def test_paths_and_intervals_of_rows_on_disk_are_those_in_memory(stored: Any) -> None:
    rows = stored["two"]
    model = sx.LogisticRegression(tol=1e-10).fit(rows)
    options: Any = {"method": "bootstrap", "n_replicates": 8, "level": 0.5}
    disk = (
        sx.confidence_intervals(model, rows, **options),
        sx.regularization_path(rows, Cs=3, l1_ratio=1.0),
    )
    with sx.rows_per_block(ROWS):
        memory = (
            sx.confidence_intervals(model, X, TWO, S, **options),
            sx.regularization_path(X, TWO, Cs=3, l1_ratio=1.0, sample_weight=S),
        )
    np.testing.assert_array_equal(disk[0].lower, memory[0].lower)
    np.testing.assert_array_equal(disk[1].coefs, memory[1].coefs)


def test_a_study_of_rows_on_disk_has_the_losses_in_memory(tmp_path: Path) -> None:
    sx.convert("wine", tmp_path / "wine", rows_per_block=30)
    train, validation = (sx.open(tmp_path / "wine", part) for part in ("train", "validation"))

    def losses(name: str, *rows: Any) -> Any:
        grid = {"learning_rate": [0.3, 0.1]}
        study = sx.Study(
            name, sx.GradientDescentClassifier(epochs=5), grid, store=tmp_path / "s.db"
        )
        study.run(*rows)
        return [row["val_loss"] for row in study.table()]

    disk = losses("disk", train, None, validation)
    with sx.rows_per_block(30):
        memory = losses("memory", *train.load(), *validation.load())
    assert disk == memory
