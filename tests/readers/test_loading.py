"""Data loaded by name, from files and from memory has the same rows, labels and fingerprint."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris

import separatrix
from separatrix.readers import Columns, load
from separatrix.readers.compression import size_limits
from separatrix.readers.formats import READERS, format_of
from separatrix.readers.idx import read_idx
from separatrix.readers.splits import PARTS, own_splits, split_rows
from separatrix.workflow.fitting import fit_source

X = np.array([[0.5, 0.0, 3.0], [0.0, -1.0, 1e-3], [2.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
Y = np.array([1, 0, 1, 0])


def idx_bytes(array):
    """Return an array of bytes in the IDX format."""
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def digits():
    images, y = load_digits(return_X_y=True)
    return images[:60].reshape(60, 8, 8).astype(np.uint8), y[:60].astype(np.uint8)


# Splits


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=300),
    st.integers(0, 9),
    st.sampled_from([(0.8, 0.1, 0.1), (0.6, 0.2, 0.2), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0)]),
)
def test_a_split_contains_every_row_once_and_is_stratified(labels, seed, shares):
    y = np.array(labels)
    splits = split_rows(y, len(y), seed, shares)
    assert sorted(np.concatenate(list(splits.values()))) == list(range(len(y)))
    assert set(y[splits["train"]]) == set(y)
    moved = len(set(labels))  # rows moved back so that every class has training rows
    for part, share in zip(PARTS, shares):
        for label in set(labels):
            found, wanted = (y[splits[part]] == label).sum(), share * (y == label).sum()
            assert abs(found - wanted) <= 2 + moved * (part == "train")
    again = split_rows(y, len(y), seed, shares)
    assert all(np.array_equal(splits[part], again[part]) for part in PARTS)


def test_the_default_split_is_80_10_10_and_seeded():
    y = np.repeat([0, 1, 2], [500, 300, 200])
    first, second = (load((np.ones((1000, 1)), y), seed=seed) for seed in (0, 1))
    for source in (first, second):
        counts = {part: np.bincount(y[rows]).tolist() for part, rows in source.splits.items()}
        assert counts == {
            "train": [400, 240, 160],
            "validation": [50, 30, 20],
            "test": [50, 30, 20],
        }
        assert any("80/10/10, stratified" in note for note in source.notes)
    assert not np.array_equal(first.splits["test"], second.splits["test"])


def test_own_test_rows_are_kept_and_validation_rows_come_from_training():
    y = np.tile([0, 1], 60)
    notes = []
    splits = own_splits({"train": range(100), "test": range(100, 120)}, y, 0, notes)
    assert splits["test"].tolist() == list(range(100, 120))
    assert len(splits["validation"]) == 10
    assert sorted([*splits["train"], *splits["validation"]]) == list(range(100))
    assert "10 % of the training rows" in notes[0]


def test_a_split_can_be_given_as_proportions_or_row_numbers():
    shares = load((X, Y), split=(0.5, 0.0, 0.5))
    assert [len(shares.splits[part]) for part in PARTS] == [2, 0, 2]
    rows = load((X, Y), split={"train": [3, 0], "test": [1]})
    assert rows.part("train").table.tolist() == X[[3, 0]].tolist()
    assert [len(rows.splits[part]) for part in PARTS] == [2, 0, 1]


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ((0.5, 0.5), "three numbers"),
        ((0.5, 0.5, 0.5), "add up to 1"),
        ((0.0, 0.5, 0.5), "the first must be above 0"),
        ((np.nan, 0.5, 0.5), "three numbers >= 0"),
        ((np.inf, 0.5, 0.5), "three numbers >= 0"),
        ("80/10/10", r"as in \(0.8, 0.1, 0.1\). Got '80/10/10' instead"),
        ({"train": [0], "tests": [1]}, "no parts other than"),
        ({"test": [1]}, "must contain the part 'train'"),
        ({"train": [0, 4]}, "between 0 and 3. Got 4"),
        ({"train": [0, 1], "test": [1]}, "Row 1 occurs more than once"),
    ],
)
def test_bad_splits_are_refused(split, words):
    with pytest.raises(ValueError, match=words):
        load((X, Y), split=split)


@pytest.mark.parametrize("n", [2, 8])
def test_a_note_names_parts_without_rows(n):
    note = load((np.eye(n), np.arange(n))).notes[-1]
    assert note.endswith(
        f"{n} training, 0 validation and 0 test rows. There are too few rows for a validation "
        "part and a test part."
    )
    assert "too few rows" not in load((np.eye(n), np.arange(n)), split=(1, 0, 0)).notes[-1]


def test_a_note_describes_a_requested_split():
    note = load("wine", split=(0.5, 0.25, 0.25), seed=3).notes[-1]
    assert note.startswith(
        "Split the rows 50/25/25, stratified by label (random seed 3): 90 training"
    )


# Labels that are numbers


def test_a_few_fractional_labels_are_class_names(tmp_path):
    y = np.array([0.5, 1.5] * 10)
    path = tmp_path / "a.svm"
    dump_svmlight_file(np.eye(20), y, str(path))
    for source in ((np.eye(20), y), path, pd.DataFrame({"x": range(20), "y": y})):
        loaded = load(source)
        assert loaded.y.tolist() == ["0.5", "1.5"] * 10
        assert "they were read as class names" in " ".join(loaded.notes)
        assert fit_source(loaded).facts["source"]["classes"] == ["0.5", "1.5"]


def test_a_quantity_is_refused_as_label():
    source = load(pd.DataFrame({"x": range(20), "price": np.arange(20) / 7}))
    words = r"labels of data frame are .* 20 different values, such as 0.142857."
    with pytest.raises(ValueError, match=words):
        fit_source(source)


# The source


def test_parts_and_rows_are_sources():
    source = load((X, ["a", "b", "a", "b"]))
    part = source.rows([2, 0])
    assert part.table.tolist() == X[[2, 0]].tolist()
    assert part.y.tolist() == ["a", "a"]
    assert len(source.rows(np.array([True, False, False, True]))) == 2
    assert load(source) is source
    with pytest.raises(ValueError, match="no part 'tests'"):
        source.part("tests")
    sparse = load((sp.csr_array(X), Y)).rows(slice(1, 3))
    assert sparse.table.toarray().tolist() == X[1:3].tolist()
    table = load(pd.DataFrame({"a": [1, 2, 3], "y": [0, 1, 0]})).rows([2])
    assert table.table["a"].tolist() == [3.0]


def test_the_fingerprint_depends_only_on_the_content(tmp_path):
    dump_svmlight_file(X, Y, str(tmp_path / "a.svm"), zero_based=False)
    packed = tmp_path / "other.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.svm").read_bytes()))
    plain = load(tmp_path / "a.svm")
    assert plain.fingerprint == load(packed).fingerprint
    assert plain.fingerprint == load((sp.csr_array(X), Y.astype(float))).fingerprint
    changed = X.copy()
    changed[1, 2] = 2e-3
    others = [
        load((sp.csr_array(changed), Y)),
        load((sp.csr_array(X), 1 - Y)),
        load((sp.csr_array(X), Y.astype(str))),
        load(sp.csr_array(X)),
        load((X, Y)),
    ]
    assert len({source.fingerprint for source in [plain, *others]}) == 6


def test_the_fingerprint_of_columns_includes_names_and_missing_values():
    frames = [
        {"a": [1.0, 2.0], "b": ["x", "yz"]},
        {"a": [1.0, 2.0], "c": ["x", "yz"]},
        {"a": [1.0, 2.0], "b": ["xy", "z"]},
        {"a": [1.0, 2.0], "b": ["xyz", None]},
        {"a": [1.0, 2.0], "b": ["xyz", "."]},
        {"a": [1.0, np.nan], "b": ["x", "yz"]},
    ]
    prints = [load(pd.DataFrame(frame), label=False).fingerprint for frame in frames]
    assert len(set(prints)) == len(frames)
    assert prints[0] == load(pl.DataFrame(frames[0]), label=False).fingerprint


# Memory


def test_arrays_frames_and_documents_are_loaded_from_memory():
    assert load((X, Y)).feature_names is None
    assert load((X.tolist(), Y.tolist())).table.tolist() == X.tolist()
    assert load((sp.coo_array(X), Y)).table.format == "csr"
    assert load(X).y is None
    frame = pd.DataFrame({"size": [1, 2], "kind": ["u", "v"], "label": ["no", "yes"]})
    source = load(frame)
    assert source.table.names == source.feature_names == ["size", "kind"]
    assert source.y.tolist() == ["no", "yes"]
    assert load((frame[["size"]], [0, 1])).feature_names == ["size"]
    assert load(frame, label="kind").y.tolist() == ["u", "v"]
    documents = load((["good film", "bad film"], [1, 0]))
    assert documents.table.kind("text") == "text"
    assert separatrix.load is load


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ((X, Y[:3]), "4 rows and 3 labels"),
        ((X, X), "one label per row"),
        ((X, Y, Y), r"must be \(X, y\)"),
        (np.ones(3), "matrix of real numbers"),
        (np.empty((0, 3)), "is empty"),
        (np.array([["a", "b"]]), "matrix of real numbers"),
        (X + 1j, "matrix of real numbers"),
    ],
)
def test_bad_arrays_are_refused(source, words):
    with pytest.raises(ValueError, match=words):
        load(source)


# Files of arrays


def test_npz_files_contain_x_and_y_or_parts(tmp_path):
    np.savez(tmp_path / "one.npz", X=X, y=np.array(["a", "b", "a", "b"]))
    source = load(tmp_path / "one.npz")
    assert (source.table.tolist(), source.y.tolist()) == (X.tolist(), ["a", "b", "a", "b"])
    np.savez(tmp_path / "parts.npz", x_train=X, y_train=Y, x_test=X[:2], y_test=Y[:2])
    source = load(tmp_path / "parts.npz")
    assert source.splits["test"].tolist() == [4, 5]
    assert source.part("test").table.tolist() == X[:2].tolist()
    assert "comes with its own" in source.notes[-1]
    images = np.arange(24).reshape(2, 3, 4)
    np.savez_compressed(tmp_path / "images.npz", images=images, labels=[[1], [0]])
    assert load(tmp_path / "images.npz").table.shape == (2, 12)
    assert load(tmp_path / "images.npz").y.tolist() == [1, 0]
    sp.save_npz(tmp_path / "sparse.npz", sp.csc_array(X))
    assert load(tmp_path / "sparse.npz").table.toarray().tolist() == X.tolist()


def test_npy_files_have_labels_only_if_a_column_is_named(tmp_path):
    np.save(tmp_path / "all.npy", np.column_stack([X, Y]))
    assert load(tmp_path / "all.npy").y is None
    source = load(tmp_path / "all.npy", label=-1)
    assert (source.table.tolist(), source.y.tolist()) == (X.tolist(), Y.tolist())
    with pytest.raises(ValueError, match=r"must be a column from -4 to 3, .* Got 4"):
        load(tmp_path / "all.npy", label=4)


def test_a_folder_of_npy_files_keeps_its_parts(tmp_path):
    for part, rows in (("train", [0, 1]), ("val", [2]), ("tst", [3])):
        np.save(tmp_path / f"{part}_x.npy", X[rows])
        np.save(tmp_path / f"{part}_y.npy", Y[rows])
    source = load(tmp_path)
    assert source.table.tolist() == X.tolist()
    assert {part: rows.tolist() for part, rows in source.splits.items()} == {
        "train": [0, 1],
        "validation": [2],
        "test": [3],
    }


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"a": X}, "must contain X and y"),
        ({"X": X, "X_train": X}, "must contain X and y"),
        ({"X": X, "y": Y[:2]}, "one label per row"),
        ({"X_train": X, "X_test": X[:, :2], "y_train": Y, "y_test": Y}, "columns"),
        ({"X": np.array([["a", None]], dtype=object), "y": [1]}, "pickle"),
    ],
)
def test_inconsistent_npz_files_are_refused(tmp_path, arrays, words):
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=words):
        load(path)


@given(st.binary(max_size=60), st.integers(0, 2000), st.sampled_from(["npz", "npy", "idx"]))
def test_damaged_array_files_are_loaded_or_named_in_the_error(tmp_path_factory, junk, at, ending):
    folder = tmp_path_factory.getbasetemp()
    path = folder / f"damaged.{ending}"
    if ending == "npz":
        np.savez_compressed(path, X=X, y=Y)
    elif ending == "npy":
        np.save(path, X)
    else:
        path.write_bytes(idx_bytes(X))
    content = path.read_bytes()
    at %= len(content)
    path.write_bytes(content[:at] + junk)
    try:
        said = repr(load(path))
    except ValueError as error:
        said = str(error)
    assert f"damaged.{ending}" in said


@pytest.mark.parametrize("shape", [(10**12,), (10**9, 3), (2**62, 4), (10**30, 2), (-1, 3)])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_array_headers_with_impossible_shapes_are_refused(tmp_path, shape, ending):
    if shape[0] < 0 and ending == "npy" and np.lib.NumpyVersion(np.__version__) < "2.3.0":
        pytest.skip("numpy before 2.3 reads as many rows as the file has")
    header = io.BytesIO()
    said = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, said)
    path = tmp_path / f"bad.{ending}"
    if ending == "npy":
        path.write_bytes(header.getvalue() + bytes(100))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", header.getvalue() + bytes(100))
    with pytest.raises(ValueError, match="not a readable npy or npz file"):
        load(path)


def test_archives_that_would_fill_the_memory_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(size_limits, "most_bytes", lambda: 1 << 20)
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((1000, 1000)), y=np.zeros(1000))
    with pytest.raises(ValueError, match="half of this machine's memory"):
        load(tmp_path / "bomb.npz")


# IDX


def test_idx_images_find_their_labels(tmp_path, digits):
    images, y = digits
    for name, array in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", y)):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(idx_bytes(array)))
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(images[:20]))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(y[:20]))
    alone = load(tmp_path / "train-images-idx3-ubyte.gz")
    assert alone.table.dtype == np.uint8
    assert alone.table.tolist() == images.reshape(60, 64).tolist()
    assert alone.y.tolist() == y.tolist()
    assert alone.feature_names[9] == "row 2, column 2"
    folder = load(tmp_path)
    assert folder.splits["test"].tolist() == list(range(60, 80))
    assert len(folder.splits["validation"]) == 6
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(ValueError, match="a file with labels for each"):
        load(tmp_path)


def test_idx_numbers_of_all_types_are_read(tmp_path):
    for code, kind in ((8, ">u1"), (9, ">i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")):
        array = np.array([[1, 2, 3], [4, 5, 100]], dtype=kind)
        path = tmp_path / f"numbers-{code}"
        path.write_bytes(struct.pack(">BBBBII", 0, 0, code, 2, 2, 3) + array.tobytes())
        assert read_idx(path).tolist() == array.tolist()
        assert read_idx(path).dtype.isnative


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not an IDX file"),
        (b"\0\0\x08", "not an IDX file"),
        (b"\0\0\x07\x01\0\0\0\0", "not an IDX file"),
        (b"\0\0\x08\x02\0\0\0\x01", "is damaged"),
        (b"\0\0\x0e\x03" + b"\xff" * 12, "is damaged"),
        (b"\0\0\x08\x01\0\0\0\x02\x01", "is damaged"),
        (b"\0\0\x08\x01\0\0\0\x01\x01", "holds labels"),
    ],
)
def test_damaged_idx_files_are_refused(tmp_path, content, words):
    path = tmp_path / "x.idx"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        load(path)


# Formats


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a9a", b"-1 3:1 11:1\n+1 5:1\n", "svmlight"),
        ("a5a.t", b"# rows\n\n-1 3:1 11:1\n+1\n", "svmlight"),
        ("rows.txt", b"1 qid:3 3:1\n", "svmlight"),
        ("rows.SVM.bz2", b"", "svmlight"),
        ("adult.data", b"39, clerk, low\n50, smith, high\n", "table"),
        ("messages", b"ham\tsee you, then\nspam\twin\n", "table"),
        ("reviews.pos", b"a fine film, warm\nnot bad\n", "text"),
        ("lines.txt", b"a,b\nc,d\n", "text"),
        ("sheet.CSV", b"1 2:3\n", "table"),
        ("numbers", b"\x93NUMPY\x01\0", "npy"),
        ("archive", b"PK\x03\x04", "npz"),
        ("t10k-images-idx3-ubyte", b"\0\0\x08\x03\0\0", "idx"),
    ],
)
def test_formats_are_found_by_ending_or_content(tmp_path, name, content, format):
    (tmp_path / name).write_bytes(content)
    assert format_of(tmp_path / name) == format


@pytest.mark.parametrize("names", [("a.csv", "b.csv"), ("x/a.svm.gz", "y/b.txt"), ("a.json", "b")])
def test_a_folder_of_tables_is_not_read_as_documents(tmp_path, names):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=f"a folder with {names[0]}, which is not a text document"):
        load(tmp_path)
    assert load(tmp_path, format="text").table.names == ["text"]


def test_the_format_of_a_long_file_is_detected_from_its_beginning(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"1 1:1 2:1\n" * 20_000)
    assert load(path).table.shape == (20_000, 2)


def test_options_are_passed_to_the_reader_and_unknown_ones_are_refused(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:1\n-1 2:1\n")
    assert load(path, features=5).table.shape == (2, 5)
    assert load(path, zero_based=True).table.shape == (2, 3)
    with pytest.raises(ValueError, match=r"no option 'header'.*Formats with this option: table"):
        load(path, header=True)
    with pytest.raises(ValueError, match="'format' parameter must be one of svmlight"):
        load(path, format="libsvm")
    with pytest.raises(ValueError, match="no option 'features'"):
        load((X, Y), features=3)
    with pytest.raises(ValueError, match="no option 'features'"):
        load("iris", features=3)
    table = tmp_path / "table.csv"
    table.write_text("1,a\n2,b\n3,a\n")
    assert isinstance(load(table, header=False, label=1).table, Columns)
    assert load(path, format="text").table.names == ["text"]
    assert set(READERS) >= {"svmlight", "table", "parquet", "text", "images", "npz", "npy", "idx"}


def test_an_unknown_name_gets_a_suggestion_and_names_precede_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"no file, folder or data set 'irs'.*Did you mean 'iris'"
    ):
        load("irs")
    (tmp_path / "iris").write_text("1 1:1\n2 1:2\n")
    assert len(load("iris")) == 150
    assert len(load("./iris")) == 2


def test_iris_is_the_data_of_scikit_learn_with_class_names(monkeypatch):
    data = load_iris()
    source = load("iris")
    assert np.array_equal(source.table, data.data)
    assert source.y.tolist() == data.target_names[data.target].tolist()
