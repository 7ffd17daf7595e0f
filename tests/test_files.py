"""Output files are written completely or not at all, and never through a symbolic link."""

import os
import subprocess
from pathlib import Path

import pytest

from separatrix import GradientDescentClassifier, LogisticRegression, Study, charts
from separatrix.readers.data_sets.download import File, _obtained
from separatrix.web import write_report
from support.command import call
from support.small_disk import small_disk
from support.terminal import PROGRAM

# Every option that names a file to write, with the command that it belongs to.
OUTPUTS = [
    ["fit", "people.csv", "--out", "new.sx"],
    ["search", "people.csv", "--folds", "2", "--out", "new.sx"],
    ["evaluate", "m.sx", "people.csv", "--recall", "0.9", "--out", "new.sx"],
    ["predict", "m.sx", "people.csv", "--out", "new.csv"],
    ["explain", "m.sx", "people.csv", "--out", "new.svg"],
    ["explain", "m.sx", "people.csv", "--out", "new.html"],
    ["explain", "m.sx", "people.csv", "--step", "--out", "new.png"],
    ["graph", "w^2", "w=2", "--out", "new.html"],
    ["studies", "export", "--out", "new.csv"],
    ["studies", "export", "--out", "new.json"],
    ["studies", "report", "--out", "new.html"],
]


@pytest.fixture
def made(folder):
    """A folder with a model and a study."""
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    grid = {"learning_rate": [0.1, 0.5]}
    Study("a", GradientDescentClassifier(epochs=3), grid, store="separatrix.db").run("iris")
    return folder


@pytest.fixture
def full_disk(tmp_path):
    """A folder on a 64 KiB disk with one free page."""
    with small_disk(tmp_path / "full", "64k") as place:
        (place / "filler").write_bytes(bytes(60 << 10))
        yield place


def elsewhere(words, place):
    """Return the same command with its output in another folder."""
    return [*words[:-1], str(place / words[-1])]


@pytest.mark.slow
def test_a_full_disk_gives_an_error_and_leaves_no_partial_file(made, full_disk):
    rows = (made / "people.csv").read_text().splitlines()
    (made / "people.csv").write_text("\n".join([rows[0], *rows[1:] * 60]) + "\n")
    for words in OUTPUTS:
        out = full_disk / words[-1]
        if words[:2] == ["studies", "export"] or words[0] in ("fit", "search", "evaluate"):
            (full_disk / "filler").write_bytes(bytes(64 << 10))  # their files are small
        found = call(*elsewhere(words, full_disk), code=1)
        said = " ".join(found.stderr.split())
        assert f"{out.name} was not written: No space left on device. Nothing was written" in said
        assert os.listdir(full_disk) == ["filler"], words


def test_a_missing_folder_is_named(tmp_path):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    (tmp_path / "file").touch()
    for folder in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(OSError, match="was not written") as raised:
            model.save(folder / "model.sx")
        assert "Free some space" not in str(raised.value)
    with pytest.raises(OSError, match=r"Create the folder .*none, or choose another one\."):
        model.save(tmp_path / "none" / "model.sx")


def test_an_existing_file_is_unchanged_if_the_disk_is_full(made, full_disk):
    out = full_disk / "answers.csv"
    (full_disk / "filler").unlink()
    out.write_text("mine")
    (full_disk / "filler").write_bytes(bytes(60 << 10))
    call("predict", "m.sx", "people.csv", "--out", out, code=1)
    assert out.read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("words", OUTPUTS, ids=lambda words: f"{words[0]} {words[-1]}")
def test_no_output_goes_through_a_symbolic_link(made, words):
    target, link = made / "precious", made / words[-1]
    target.write_text("mine")
    link.symlink_to(target)
    found = call(*words, code=2)
    said = " ".join(found.stderr.split())
    assert f"{words[-1]} is a symbolic link to" in said
    assert "Name the file itself, or remove the link." in said
    assert target.read_text() == "mine"
    assert link.is_symlink()
    target.unlink()  # writing through a broken link would create a file
    call(*words, code=2)
    assert not target.exists()


def test_a_symbolic_link_to_a_folder_is_followed(made):
    (made / "real").mkdir()
    (made / "alias").symlink_to(made / "real")
    call("predict", "m.sx", "people.csv", "--out", "alias/answers.csv")
    assert (made / "real" / "answers.csv").read_text().startswith("prediction\n")


@pytest.mark.slow
def test_functions_refuse_links_as_commands_do(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link.html"
    target.write_text("mine")
    link.symlink_to(target)
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    study = Study(
        "a", GradientDescentClassifier(epochs=2), {"momentum": [0.0]}, store=tmp_path / "a.db"
    )
    facts = study.run("iris").facts()
    for write in (
        lambda: charts.save(charts.losses(), link),
        lambda: model.save(link),
        lambda: write_report(facts, link),
    ):
        with pytest.raises(FileExistsError, match="is a symbolic link to"):
            write()
    assert target.read_text() == "mine"


@pytest.mark.slow
def test_a_device_is_written_to_and_not_replaced(made):
    before = Path("/dev/null").stat()
    call("predict", "m.sx", "people.csv", "--out", "/dev/null", "--quiet")
    call("graph", "w", "w=1", "--out", "/dev/full", code=2)  # not the name of a picture
    assert Path("/dev/null").stat().st_ino == before.st_ino
    found = call("predict", "m.sx", "people.csv", "--out", "/dev/full", code=1)
    assert "/dev/full was not written: No space left on device." in found.stderr
    words = [PROGRAM, "predict", "m.sx", "people.csv", "--out", "/dev/stdout", "-q"]
    piped = subprocess.run(words, cwd=made, capture_output=True, text=True)
    assert piped.stdout.startswith("prediction\n"), piped.stderr


@pytest.mark.slow
def test_a_full_standard_output_is_an_error(made):
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [PROGRAM, "predict", "m.sx", "people.csv", "-q"],
            cwd=made,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert found.returncode == 1
    assert "No space left on device" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_failed_download_leaves_no_partial_file(tmp_path, monkeypatch, full_disk):
    source = tmp_path / "source.csv"
    source.write_bytes(bytes(40 << 10))
    monkeypatch.setenv("SEPARATRIX_CACHE", str(full_disk / "cache"))
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    with pytest.raises(OSError, match="No space left on device"):
        _obtained(File("a.csv", "0" * 64, source.as_uri()), None, [])
    assert not list((full_disk / "cache").glob("*"))
