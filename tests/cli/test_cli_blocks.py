"""The commands on a folder of blocks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from separatrix import load_model
from separatrix.data.on_disk.block_writer import BlockWriter
from support.command import call, facts


@pytest.fixture
def stored(folder: Any) -> Any:
    """A folder with the data set wine in files, and in blocks."""
    found = facts("convert", "wine", "wine-blocks", "--rows-per-block", "30")
    assert found["parts"] == {"train": 144, "validation": 17, "test": 17}
    assert [part["blocks"] for part in found["parts_on_disk"]] == [5, 1, 1]
    return folder


def test_a_fit_on_blocks_is_the_fit_on_the_source(stored: Any) -> None:
    disk = facts("fit", "wine-blocks", "--out", "disk.sx", "--tol", "1e-10")
    memory = facts("fit", "wine", "--out", "memory.sx", "--tol", "1e-10")
    primal = [each["verdict"]["certificate"]["primal"] for each in (disk, memory)]
    assert primal[0] == pytest.approx(primal[1], rel=1e-9)
    coef = [load_model(name).estimator.coef_ for name in ("disk.sx", "memory.sx")]
    np.testing.assert_allclose(coef[0], coef[1], atol=1e-6)
    for part in ("train", "validation", "test"):
        assert disk["metrics"][part]["confusion"] == memory["metrics"][part]["confusion"]
    assert disk["source"]["parts"] == memory["source"]["parts"]


def test_predict_and_evaluate_read_blocks(stored: Any) -> None:
    fitted = facts("fit", "wine-blocks", "--out", "m.sx")
    assert facts("evaluate", "m.sx", "wine-blocks")["metrics"] == fitted["metrics"]["test"]
    found = facts("predict", "m.sx", "wine-blocks")
    assert found["rows"] == len(found["predictions"]) == 178
    # The same model reads the source itself.
    assert facts("predict", "m.sx", "wine")["metrics"]["accuracy"] == pytest.approx(
        found["metrics"]["accuracy"]
    )
    call("fit", "wine", "--out", "other.sx", "--as-is", "-q")
    said = call("predict", "other.sx", "wine-blocks", code=1).stderr
    assert "were prepared differently from the training rows of the model" in " ".join(said.split())


def test_a_search_and_a_study_train_on_blocks(stored: Any) -> None:
    found = facts("search", "wine-blocks", "--folds", "3", "--C", "0.1,1", "--out", "s.sx")
    assert found["batches"] == 1
    assert found["verdict"]["converged"]
    assert found["metrics"]["test"]["rows"] == 17
    call("study", "wine-blocks", "--learning-rate", "0.1,0.5", "--epochs", "9")
    assert os.path.exists("reports/wine.html")


def test_reports_of_blocks_show_what_those_of_the_source_show(stored: Any) -> None:
    for words in (["fit"], ["search", "--folds", "3", "--C", "0.1,1"]):
        for source in ("wine", "wine-blocks"):
            call(words[0], source, *words[1:], "--report", f"{source}.html", "--out", "m.sx")
        pages = [Path(f"{source}.html").read_text() for source in ("wine", "wine-blocks")]
        assert 0.9 < len(pages[1]) / len(pages[0]) < 1.1
        for word in ("proline", "alcohol", "class_2"):
            assert pages[0].count(word) == pages[1].count(word)
    call("evaluate", "m.sx", "wine-blocks", "--report", "e.html")
    assert "class_2" in Path("e.html").read_text()


def test_commands_that_need_rows_in_memory_say_what_to_give(stored: Any) -> None:
    call("fit", "wine-blocks", "--out", "m.sx")
    for words in (
        ["explain", "m.sx", "wine-blocks"],
        ["compare", "wine-blocks", "--model", "logistic"],
        ["predict", "m.sx", "wine-blocks", "--certified"],
    ):
        said = " ".join(call(*words, code=2).stderr.split())
        assert "those of a folder of blocks stay on disk. Give the source that was" in said, words


def test_data_show_describes_blocks_and_compares_checksums(stored: Any) -> None:
    said = call("data", "show", "wine-blocks", "--check").stdout
    assert "float64, dense" in said
    assert "All 17 files have their checksums" in said
    with open("wine-blocks/train-00003.X.npy", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\0")
    said = call("data", "show", "wine-blocks", "--check", code=1).stderr
    assert "train-00003.X.npy is damaged" in "".join(said.split("\n")).replace("  ", " ")
    assert call("data", "show", "wine", "--check", code=2)


def test_options_that_belong_to_the_conversion_are_refused(stored: Any) -> None:
    for words in (["--label", "x"], ["--split", "50/25/25"], ["--standardise"]):
        said = " ".join(call("fit", "wine-blocks", *words, code=2).stderr.split())
        assert "Error" in said, words
    said = " ".join(call("convert", "wine", "wine-blocks", code=1).stderr.split())
    assert "already holds converted data" in said
    for option in ("10", "much"):
        said = " ".join(call("fit", "wine-blocks", "--memory", option, code=2).stderr.split())
        assert "--memory" in said
    assert (
        "--memory must be at least 16 MB"
        in call("convert", "wine", "more", "--memory", "1KB", code=2).stderr
    )
    pytest.importorskip("torch")
    for command in ("fit", "search"):
        said = " ".join(call(command, "wine-blocks", "--device", "cpu", code=2).stderr.split())
        assert "--device cpu needs all rows in memory" in said
        assert "Train without --device" in said


def test_a_file_is_converted_with_its_options(folder: Any) -> None:
    found = facts("convert", "people.csv", "blocks", "--label", "income", "--memory", "1GB")
    assert found["classes"] == ["high", "low"]
    assert found["rows"] == 12


def test_an_interrupted_conversion_says_how_it_continues(
    folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = BlockWriter.add

    def interrupt(self: Any, part: str, *rows: Any) -> None:
        original(self, part, *rows)
        if part == "validation":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BlockWriter, "add", interrupt)
        said = call("convert", "wine", "blocks", "--rows-per-block", "50", code=130).stderr
    assert "the finished blocks in blocks are kept" in " ".join(said.split())
    said = " ".join(call("fit", "blocks", code=1).stderr.split())
    assert "blocks is an unfinished conversion" in said
    found = call("convert", "wine", "blocks", "--rows-per-block", "50")
    said = "Continuing an interrupted conversion: 2 blocks with 100 rows are kept."
    assert said in " ".join(found.stderr.split())
    assert facts("data", "show", "blocks")["rows"] == 178
