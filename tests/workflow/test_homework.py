"""A study of the course's homework is recognised by its rows, not by the name of a folder."""

import numpy as np
import pytest

from separatrix import load
from separatrix.study.planning.default_grid import HOMEWORK, homework_of
from support.command import call, facts
from support.course_tables import IRIS_FILES

CAPTION = "The features were not standardised, as in the homework."


def write_folder(path, parts):
    path.mkdir(parents=True)
    for name, (X, y) in parts.items():
        np.save(path / f"{name}_x.npy", X)
        np.save(path / f"{name}_y.npy", y)


def write_arrays(path):
    rng = np.random.default_rng(0)
    parts = {}
    for name, n in (("train", 40), ("val", 12), ("tst", 12)):
        X = rng.normal(size=(n, 3)) * [1.0, 50.0, 1000.0]
        parts[name] = X, (X[:, 0] > 0).astype(int)
    write_folder(path, parts)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_other_rows_in_a_folder_named_iris_are_standardised(folder):
    write_arrays(folder / "other" / "iris")
    found = facts("study", "other/iris", "--epochs", "5", "--no-report")
    assert "Standardised the features (mean 0, standard deviation 1)." in found["data"]["notes"]
    assert any(note.startswith("Chose learning rates") for note in found["notes"])
    assert found["grid"]["learning_rate"] != HOMEWORK["learning_rate"]


@pytest.mark.data(*IRIS_FILES)
@pytest.mark.parametrize("name", ["renamed/flowers", "hw/iris"])
def test_the_files_of_the_homework_are_known_in_any_folder(folder, data_dir, name):
    arrays = {
        part: [np.load(data_dir / "cs725" / "iris" / f"{part}_{kind}.npy") for kind in "xy"]
        for part in ("train", "val", "tst")
    }
    write_folder(folder / name, arrays)
    found = facts("study", name, "--epochs", "5", "--no-report", "--name", "json")
    assert found["grid"] == HOMEWORK | {"epochs": [5]}
    text = call("study", name, "--epochs", "5", "--no-report", "--name", "text").stdout
    assert CAPTION in text
    words = " ".join(text.split())
    assert "The rows are those of the course's homework (data set 'cs725/iris')" in words
    assert "To standardise them, give --standardise." in words
    assert (
        "Chose the values of the course's homework, because the rows are those of the data set "
        "'cs725/iris': learning rate 0.1, 0.01, 0.0001, 1e-06; momentum 0, 0.9." in words
    )


def test_the_homework_is_standardised_on_request_and_its_caption_says_so(folder):
    text = call("study", "iris", "--epochs", "5", "--standardise", "--no-report").stdout
    assert "Numeric features were standardised" in text
    assert "as in the homework" not in text


@pytest.mark.parametrize("name", ["iris", "cs725/iris", "cs725/binary"])
@pytest.mark.data(*IRIS_FILES)
def test_the_fingerprints_of_the_homework_are_those_of_its_data_sets(data_dir, name):
    assert homework_of(load(name).fingerprint) == name
