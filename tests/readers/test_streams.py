"""Sources that are read in parts give the same rows as sources that are loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import separatrix as sx
from separatrix.readers.streams.opening import open_stream
from separatrix.workflow.converting import conversion
from separatrix.workflow.preparing import choose_settings, prepare_source

N = 400
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(10, 90, N),
        "job": RNG.choice(["clerk", "smith", "baker, cook", 'a "b"\nc\nd'], N),
        "size": np.where(np.arange(N) % 50 == 7, np.nan, RNG.normal(size=N)),
        "weight": RNG.exponential(size=N),
        "label": RNG.choice(["no", "yes"], N),
    }
)
A = np.where(RNG.random((N, 6)) < 0.5, RNG.normal(size=(N, 6)), 0.0)
Y = (A[:, 0] > 0).astype(float)


def write_csv(folder: Path) -> Path:
    FRAME.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def write_parquet(folder: Path) -> Path:
    FRAME.to_parquet(folder / "rows.parquet", row_group_size=150)
    return folder / "rows.parquet"


def write_headerless(folder: Path) -> Path:
    FRAME.to_csv(folder / "rows.tsv", index=False, header=False, sep="\t")
    return folder / "rows.tsv"


def write_svmlight(folder: Path) -> Path:
    dump_svmlight_file(A, Y, str(folder / "rows.svm"), zero_based=False)
    return folder / "rows.svm"


def write_npy(folder: Path) -> Path:
    np.save(folder / "rows.npy", np.column_stack([A, Y]))
    return folder / "rows.npy"


def write_npy_folder(folder: Path) -> Path:
    (folder / "rows").mkdir()
    cuts = {"train": slice(0, 250), "val": slice(250, 300), "test": slice(300, N)}
    for part, rows in cuts.items():
        np.save(folder / "rows" / f"{part}_x.npy", A[rows].astype(np.float32))
        np.save(folder / "rows" / f"{part}_y.npy", Y[rows].astype(int))
    return folder / "rows"


CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "csv": (write_csv, {"weight": "weight"}, {}),
    "csv, dropped": (write_csv, {"drop": ["weight"], "label": "job"}, {"standardise": False}),
    "csv, types": (write_csv, {"types": {"age": "category"}}, {"standardise": False}),
    "headerless": (write_headerless, {}, {}),
    "parquet": (write_parquet, {"weight": "weight"}, {}),
    "svmlight": (write_svmlight, {}, {}),
    "scaled svmlight": (write_svmlight, {}, {"standardise": True}),
    "npy": (write_npy, {"label": -1}, {}),
    "npy folder": (write_npy_folder, {}, {"standardise": False}),
}
SIZE = 3000  # bytes


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every source in several chunks."""
    monkeypatch.setattr(conversion, "chunk_bytes", lambda memory: SIZE)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", CASES)
def test_a_source_read_in_parts_has_the_rows_of_the_loaded_source(
    name: str, tmp_path: Path
) -> None:
    write, reading, settings = CASES[name]
    path = write(tmp_path)
    stream = open_stream(path, reading, split=None, seed=0, size=SIZE)
    assert len(list(stream.chunks())) > 3
    sx.convert(path, tmp_path / "blocks", rows_per_block=90, settings=settings, **reading)
    source = sx.load(path, **reading)
    expected = prepare_source(source, choose_settings(source.table, **settings))
    for part, X in expected.X.items():
        rows = sx.open(tmp_path / "blocks", part)
        found, y = rows.load()
        if sp.issparse(X):
            assert rows.sparse
            found, X = found.toarray(), X.toarray()
        np.testing.assert_allclose(found, X, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(y, expected.y[part])
        if expected.weights:
            np.testing.assert_array_equal(rows.weights, expected.weights[part])
    assert rows.feature_names == expected.preparation.feature_names_out


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    for k in range(4):
        FRAME[100 * k : 100 * (k + 1)].to_parquet(folder / f"part-{k}.parquet")
    source = sx.load(folder, label="label")
    assert source.fingerprint == sx.load(FRAME, label="label").fingerprint
    rows = sx.convert(folder, tmp_path / "blocks", label="label")
    np.testing.assert_array_equal(rows.y, source.part("train").y)
    (folder / "notes.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"notes.csv, which is not a text document"):
        sx.load(folder)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("words", ["tfidf", "counts", "hashing"])
def test_words_of_all_parts_are_counted(words: str, tmp_path: Path) -> None:
    texts = [f"{'free money' if k % 3 else 'lunch with you'} number {k % 40}" for k in range(N)]
    frame = pd.DataFrame({"mail": texts, "label": np.where(np.arange(N) % 3, "spam", "ham")})
    frame.to_csv(tmp_path / "mail.csv", index=False)
    settings = {"text": words, "min_documents": 9, "most_words": 12, "n_hashes": 64}
    sx.convert(tmp_path / "mail.csv", tmp_path / "blocks", settings=settings, text="mail")
    source = sx.load(tmp_path / "mail.csv", text="mail")
    expected = prepare_source(source, choose_settings(source.table, **settings))
    rows = sx.open(tmp_path / "blocks")
    assert rows.feature_names == expected.preparation.feature_names_out
    np.testing.assert_allclose(rows.load()[0].toarray(), expected.X["train"].toarray(), rtol=1e-12)


@pytest.mark.usefixtures("small_chunks")
def test_a_late_cell_of_another_type_is_named_with_its_line(tmp_path: Path) -> None:
    frame = FRAME.astype({"age": object})
    frame.loc[390, "age"] = "unknown age"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    text = (tmp_path / "rows.csv").read_text()
    line = text[: text.index("unknown")].count("\n") + 1  # the age is the first cell of its row
    words = rf"rows.csv, line {line}: column 'age' must hold numbers.*'unk"
    with pytest.raises(ValueError, match=words):
        sx.convert(tmp_path / "rows.csv", tmp_path / "blocks")
    sx.convert(tmp_path / "rows.csv", tmp_path / "more", types={"age": "category"})


@pytest.mark.usefixtures("small_chunks")
def test_a_late_row_of_another_length_is_named_with_its_line(tmp_path: Path) -> None:
    path = write_csv(tmp_path)
    line = path.read_text().count("\n") + 1
    with path.open("a") as file:
        file.write("1\n")
    with pytest.raises(ValueError, match=rf"rows.csv, line {line}: expected .* Got 1 instead"):
        sx.convert(path, tmp_path / "blocks")


@pytest.mark.usefixtures("small_chunks")
def test_what_needs_all_rows_is_refused_or_loaded_with_a_note(tmp_path: Path) -> None:
    path = write_csv(tmp_path)
    with pytest.raises(ValueError, match=r"missing='median' needs all rows in memory.*'mean'"):
        sx.convert(path, tmp_path / "a", settings={"missing": "median"})
    rows = sx.convert(path, tmp_path / "b", group="job")
    assert any("read into memory" in note for note in rows.manifest.about["notes"])


@pytest.mark.usefixtures("small_chunks")
def test_fractional_labels_are_class_names_in_their_order(tmp_path: Path) -> None:
    y = np.array([10.5, 2.5, 0.5])[np.arange(N) % 3]
    np.save(tmp_path / "rows.npy", np.column_stack([A, y]))
    rows = sx.convert(tmp_path / "rows.npy", tmp_path / "a", label=-1, split=(1, 0, 0))
    source = sx.load(tmp_path / "rows.npy", label=-1)
    np.testing.assert_array_equal(rows.y, source.y)
    assert rows.labels.tolist() == ["0.5", "10.5", "2.5"]
    assert "All rows are training rows." in rows.manifest.about["notes"]
