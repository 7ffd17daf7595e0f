"""The registered data sets match their descriptions, and their files are found or downloaded."""

import gzip
import hashlib
import http.server
import io
import threading
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_iris

from separatrix.readers import describe, fetch, load, names
from separatrix.readers.data_sets.catalogue import DATA_SETS
from separatrix.readers.data_sets.download import File, cache_folder, obtain, obtain_all
from separatrix.readers.data_sets.iris_split import iris_split

FILES = sorted(file.path for data in DATA_SETS.values() for file in data.files)
CONTENT = b"1 1:1\n-1 2:1\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Use a temporary cache and no data folder."""
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def server(tmp_path):
    """Serve a folder over HTTP; return the folder and its address."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()
        thread.join()


def test_all_data_sets_are_registered():
    assert names() == [
        *["iris", "wine", "breast-cancer", "digits", "a5a", "a9a", "mnist", "sms-spam"],
        *["rt-polarity", "adult", "cs725/iris", "cs725/binary"],
    ]


@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer", "digits"])
def test_data_sets_of_scikit_learn_are_as_described(name, home):
    check(name)


@pytest.mark.slow
@pytest.mark.data(*FILES)
@pytest.mark.parametrize("name", [name for name, data in DATA_SETS.items() if data.files])
def test_data_sets_of_the_data_folder_are_as_described(name, data_dir):
    check(name)


def check(name):
    source, about = load(name), describe(name)
    assert source.name == about["name"] == name
    assert source.table.shape == (about["rows"], about["features"])
    assert len(set(source.y.tolist())) == about["classes"]
    assert about["here"]
    rows = np.concatenate(list(source.splits.values()))
    assert sorted(rows) == list(range(len(source)))
    again = load(name, seed=1, split=(0.8, 0.1, 0.1))
    assert again.fingerprint == source.fingerprint
    assert len(again.splits["train"]) == pytest.approx(0.8 * len(source), abs=2)


@pytest.mark.data("cs725/iris/train_x.npy", "cs725/iris/tst_y.npy")
def test_iris_has_the_split_of_the_course(data_dir):
    iris, course = load("iris"), load("cs725/iris")
    words = load_iris().target_names
    for part in ("train", "validation", "test"):
        assert np.array_equal(iris.part(part).table, course.part(part).table)
        assert iris.part(part).y.tolist() == words[course.part(part).y].tolist()
    assert sorted(row for rows in iris_split().values() for row in rows) == list(range(150))


@pytest.mark.data("libsvm/a5a", "libsvm/a5a.t", "libsvm/a9a", "libsvm/a9a.t")
def test_own_test_files_are_the_test_rows(data_dir):
    source = load("a5a")
    assert source.splits["test"].tolist() == list(range(6414, 32561))
    assert len(source.splits["validation"]) == 641
    assert any("10 % of the training rows" in note for note in source.notes)
    assert len(load("a9a").splits["test"]) == 16281


@pytest.mark.slow
@pytest.mark.data("adult/adult-train.csv", "adult/adult-test.csv")
def test_adult_has_column_names_missing_values_and_two_classes(data_dir):
    source = load("adult")
    assert source.table.kind("age") == "numbers"
    assert source.table.kind("occupation") == "categories"
    assert sorted(set(source.y)) == ["<=50K", ">50K"]
    assert any("'occupation' 2,809" in note for note in source.notes)


@pytest.mark.data("text/sms.tsv")
def test_sms_messages_are_one_text_column(data_dir):
    source = load("sms-spam")
    assert source.table.kinds == {"text": "text"}
    assert (source.y == "spam").sum() == 747


def test_files_are_downloaded_checked_and_cached(home, server):
    folder, address = server
    (folder / "rows").write_bytes(CONTENT)
    file = File("libsvm/rows", SHA256, address + "rows")
    seen = []
    path = obtain(file, lambda *step: seen.append(step))
    assert path == cache_folder() / "libsvm/rows"
    assert path.read_bytes() == CONTENT
    assert seen[-1] == ("libsvm/rows", len(CONTENT), len(CONTENT))
    (folder / "rows").unlink()
    assert obtain(file) == path
    assert [p.name for p in path.parent.iterdir()] == ["rows"]


def test_the_data_folder_is_searched_before_the_cache(home, monkeypatch):
    file = File("rows", SHA256)
    for folder in (home / "cache", home / "data"):
        folder.mkdir()
        (folder / "rows").write_bytes(CONTENT)
    assert obtain(file) == home / "cache" / "rows"
    monkeypatch.setenv("SEPARATRIX_DATA", str(home / "data"))
    assert obtain(file) == home / "data" / "rows"


def test_files_are_extracted_from_archives_and_stripped_of_headers(home, server):
    folder, address = server
    (folder / "rows.gz").write_bytes(gzip.compress(CONTENT))
    path = obtain(File("rows.gz", SHA256, address + "rows.gz"))
    assert gzip.decompress(path.read_bytes()) == CONTENT
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("inside", CONTENT.replace(b"\n", b"\r\n"))
    (folder / "a.zip").write_bytes(archive.getvalue())
    file = File("a.txt", SHA256, address + "a.zip", member="inside")
    assert obtain(file).read_bytes() == CONTENT
    (folder / "headed").write_bytes(b"|1x3 Cross validator\n" + CONTENT)
    file = File("headed", SHA256, address + "headed", skip_lines=1)
    assert obtain(file).read_bytes() == CONTENT


def test_a_download_with_another_checksum_is_refused_and_not_cached(home, server):
    folder, address = server
    (folder / "rows").write_bytes(CONTENT + b"1 1:1\n")
    file = File("rows", SHA256, address + "rows")
    with pytest.raises(ValueError, match=rf"a different file\. Put the file at .*{SHA256}"):
        obtain(file)
    assert not (cache_folder() / "rows").exists()
    with pytest.raises(ValueError, match="not an archive that contains inside"):
        obtain(File("x", SHA256, address + "rows", member="inside"))
    (cache_folder() / "rows").write_bytes(b"cut short")
    with pytest.raises(
        ValueError, match=rf"should be {SHA256}\. Remove the file, or load it by its path"
    ):
        obtain(file)


def test_without_a_network_the_error_names_path_and_checksum_of_all_files(home, server):
    folder, address = server
    nowhere = File("libsvm/rows", SHA256, "http://127.0.0.1:1/rows")
    place = cache_folder() / "libsvm/rows"
    with pytest.raises(FileNotFoundError, match="cannot be reached") as error:
        obtain(nowhere)
    assert f"Put the file at {place} (SHA-256 of its content: {SHA256})." in str(error.value)
    (folder / "rows").write_bytes(CONTENT)
    three = [File("here", SHA256, address + "rows"), nowhere, File("x", SHA256, address + "x")]
    with pytest.raises(FileNotFoundError, match="cannot be reached") as error:
        obtain_all(three)
    assert str(cache_folder() / "x") in str(error.value)
    assert str(cache_folder() / "here") not in str(error.value)  # it was downloaded
    with pytest.raises(FileNotFoundError, match="cannot be reached: File not found"):
        obtain(File("rows", SHA256, address + "missing"))
    with pytest.raises(FileNotFoundError, match=r"no public address\. Put each file at") as error:
        fetch("cs725/binary")
    for file in DATA_SETS["cs725/binary"].files:
        place = cache_folder() / file.path
        assert f"{place} (SHA-256 of its content: {file.sha256})" in str(error.value)
    assert not describe("cs725/binary")["here"]
    with pytest.raises(ValueError, match=r"no data set 'mnits'\. Did you mean 'mnist'"):
        describe("mnits")


def test_describe_reports_a_damaged_file(home, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_DATA", str(home))
    (home / "text").mkdir()
    (home / "text/sms.tsv").write_text("ham\tx\n")
    about = describe("sms-spam")
    assert not about["here"]
    assert "should be 7d039a24" in about["files"][0]["problem"]


@pytest.mark.parametrize("data", DATA_SETS.values(), ids=lambda data: data.name)
def test_every_file_has_a_checksum_and_a_path(data):
    for file in data.files:
        assert len(bytes.fromhex(file.sha256)) == 32
        assert not file.path.startswith("/")
        assert file.address == "" or file.address.startswith("https://")
