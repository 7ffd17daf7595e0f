"""Damaged files, full disks and interrupted conversions: clear errors, and nothing lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.data.on_disk import BlockFileError, memory
from separatrix.data.on_disk.read_ahead import read_ahead
from separatrix.readers.streams import opening
from separatrix.readers.streams.npy_stream import NpyStream
from separatrix.workflow.converting import conversion
from support.small_disk import small_disk

N, D, ROWS = 1000, 20, 100
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
OPTIONS: dict[str, Any] = {"rows_per_block": ROWS, "settings": {"standardise": False}}


def convert(folder: Path, **others: Any) -> sx.StoredRows:
    return sx.convert((X, Y), folder, **OPTIONS | others)


def checksums(folder: Path) -> list[str]:
    return [file.sha256 for file in sx.open(folder).manifest.files]


def test_a_truncated_block_is_named_when_the_folder_is_opened(tmp_path: Path) -> None:
    convert(tmp_path / "a")
    file = tmp_path / "a" / "train-00002.X.npy"
    os.truncate(file, file.stat().st_size - 100)
    with pytest.raises(
        BlockFileError, match=r"train-00002.X.npy is truncated: it has .* must have"
    ):
        sx.open(tmp_path / "a")
    file.unlink()
    with pytest.raises(BlockFileError, match=r"train-00002.X.npy is missing"):
        sx.open(tmp_path / "a")
    assert len(sx.open(tmp_path / "a", "test")) == N // 10


def test_a_wrong_checksum_is_found_by_a_check(tmp_path: Path) -> None:
    convert(tmp_path / "a")
    file = tmp_path / "a" / "validation-00000.y.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    sx.open(tmp_path / "a")
    with pytest.raises(BlockFileError, match=r"validation-00000.y.npy is damaged: its SHA-256"):
        sx.open(tmp_path / "a", check=True)


@pytest.mark.parametrize("part", ["y", "X"])
def test_a_file_of_another_shape_or_with_impossible_labels_is_refused(
    part: str, tmp_path: Path
) -> None:
    convert(tmp_path / "a")
    file = tmp_path / "a" / f"train-00001.{part}.npy"
    if part == "y":
        np.save(file, np.full(ROWS, 7, np.int32))
        words = r"train-00001.y.npy must hold class numbers from 0 to 1. Got 7"
    else:
        np.save(file, np.zeros((D, ROWS)))
        words = r"train-00001.X.npy must hold an array of shape \(100, 20\).* Got shape \(20, 100\)"
    rows = sx.open(tmp_path / "a")
    with pytest.raises(BlockFileError, match=words):
        sx.LogisticRegression().fit(rows)


@pytest.mark.parametrize("how", ["rewritten", "truncated", "removed"])
def test_data_that_changes_under_a_running_fit_is_named(how: str, tmp_path: Path) -> None:
    convert(tmp_path / "a")
    file = tmp_path / "a" / "train-00004.X.npy"

    def change(epochs: Any) -> None:
        if epochs[0].epoch != 3:
            return
        if how == "rewritten":
            file.write_bytes(file.read_bytes())
            os.utime(file, ns=(1, 1))
        elif how == "truncated":
            os.truncate(file, 200)
        else:
            file.unlink()

    model = sx.GradientDescentClassifier(epochs=50).fit(X, Y)
    before = model.coef_
    with pytest.raises(BlockFileError, match=r"train-00004.X.npy (has changed|was removed)"):
        model.fit(sx.open(tmp_path / "a"), on_epoch=change)
    assert model.coef_ is before
    if how == "rewritten":
        model.fit(sx.open(tmp_path / "a", check=True))


def test_a_full_disk_keeps_the_finished_blocks_and_the_conversion_continues(
    tmp_path: Path,
) -> None:
    convert(tmp_path / "whole")
    with small_disk(tmp_path / "full", "160k") as disk:
        (disk / "filler").write_bytes(bytes(60 << 10))
        with pytest.raises(OSError, match=r"is not complete: No space left on device.*are kept"):
            convert(disk / "a")
        with pytest.raises(FileNotFoundError, match="is an unfinished conversion"):
            sx.open(disk / "a")
        kept = {file: file.stat().st_ino for file in (disk / "a").glob("train-*.npy")}
        assert len(kept) > 2
        assert not list((disk / "a").glob("*.tmp"))
        (disk / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
        convert(disk / "a")
        assert {file: file.stat().st_ino for file in kept} == kept
        assert checksums(disk / "a") == checksums(tmp_path / "whole")


KILLED = """
import sys, time
import separatrix as sx
from separatrix.workflow.converting import conversion
conversion.chunk_bytes = lambda memory: 8000
def slowly(stage, done, total):
    if stage == "Writing blocks":
        print(done, flush=True)
        time.sleep(0.05)
sx.convert(sys.argv[1], sys.argv[2], rows_per_block=20, on_progress=slowly, label=-1,
           settings={"standardise": False})
"""


def test_a_killed_conversion_leaves_nothing_half_valid_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "rows.npy"
    np.save(source, np.column_stack([X, Y]))
    command = [sys.executable, "-c", KILLED, str(source), str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) > N // 2:
                process.send_signal(signal.SIGKILL)
                break
    with pytest.raises(FileNotFoundError, match="unfinished conversion"):
        sx.open(tmp_path / "a")
    kept = {file: file.stat().st_ino for file in (tmp_path / "a").glob("train-*.npy")}
    assert len(kept) >= 4
    asked = []

    class Watched(NpyStream):
        def chunks(self, first_row: int = 0) -> Any:
            asked.append(first_row)
            return super().chunks(first_row)

    monkeypatch.setattr(opening, "NpyStream", Watched)
    monkeypatch.setattr(conversion, "chunk_bytes", lambda memory: 8000)
    options = OPTIONS | {"label": -1, "rows_per_block": 20}
    with pytest.raises(FileExistsError, match="of other data or with other options"):
        sx.convert(source, tmp_path / "a", **options | {"rows_per_block": 90})
    sx.convert(source, tmp_path / "a", **options)
    assert max(asked) > 200
    assert {file: file.stat().st_ino for file in kept} == kept
    sx.convert(source, tmp_path / "b", **options)
    assert checksums(tmp_path / "a") == checksums(tmp_path / "b")
    assert not (tmp_path / "a" / "unfinished").exists()


def test_a_folder_with_other_content_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(FileExistsError, match="is not empty"):
        convert(tmp_path / "mine")
    convert(tmp_path / "a")
    before = checksums(tmp_path / "a")
    with pytest.raises(FileExistsError, match="already holds converted data"):
        convert(tmp_path / "a", seed=1)
    assert checksums(tmp_path / "a") == before
    with pytest.raises(FileNotFoundError, match="is not a folder of blocks"):
        sx.open(tmp_path / "mine")
    assert os.listdir(tmp_path / "mine") == ["letter.txt"]


def test_data_that_cannot_be_converted_leaves_no_folder(tmp_path: Path) -> None:
    bad = X.copy()
    bad[700, 3] = np.inf
    with pytest.raises(ValueError, match="inf"):
        sx.convert((bad, Y), tmp_path / "a", **OPTIONS)
    assert not (tmp_path / "a").exists()


CHANGES: dict[str, tuple[Any, str]] = {
    "version": (lambda m: m.update(format=2), "format must be"),
    "not an object": (lambda m: m.clear(), "format must be"),
    "path": (
        lambda m: m["parts"]["train"][0]["files"]["X"].update(name="../../etc/passwd"),
        "name of a file in this folder",
    ),
    "size": (lambda m: m["parts"]["train"][0]["files"]["X"].update(size=-1), "whole number >= 0"),
    "part": (lambda m: m["parts"].update(other=[]), "train, validation, test"),
    "role": (lambda m: m["parts"]["train"][0]["files"].pop("y"), "must have X, y"),
    "classes": (lambda m: m.update(classes=[]), "labels of one type"),
    "names": (lambda m: m.update(feature_names=["a"]), "20 names"),
    "rows": (lambda m: m["parts"]["train"][0].update(rows=0), "at least 1"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_damaged_manifest_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    convert(tmp_path / "a")
    path = tmp_path / "a" / "manifest.json"
    manifest = json.loads(path.read_text())
    change, words = CHANGES[name]
    change(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=rf"manifest.json is not a manifest.*{words}"):
        sx.open(tmp_path / "a")


def test_blocks_that_do_not_fit_into_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert(tmp_path / "a")
    with pytest.raises(
        ValueError, match=r"4 blocks of .* up to 6\d.* kB, which do not fit into 50"
    ):
        sx.open(tmp_path / "a", memory="50kB")
    with pytest.raises(ValueError, match=r"'memory' parameter must be a number of bytes"):
        sx.open(tmp_path / "a", memory="much")
    monkeypatch.setattr(memory, "LEAST_MEMORY", 50_000)
    small = sx.convert((X, Y), tmp_path / "b", memory="50kB", settings=OPTIONS["settings"])
    assert max(block.size for block in small.source.blocks) < 5000
    model = sx.LogisticRegression().fit(sx.open(tmp_path / "b", memory="50kB"))
    assert model.certificate_.certified


def test_a_conversion_with_too_little_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'memory' .* at least 16 MB: .* Got '1KB' instead"):
        sx.convert((X, Y), tmp_path / "a", memory="1KB")
    assert not (tmp_path / "a").exists()


def test_a_folder_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path) -> None:
    convert(tmp_path / "a")
    with pytest.raises(FileExistsError, match="already holds converted data: train with"):
        convert(tmp_path / "a")
    with pytest.raises(ValueError, match="a is a folder of blocks already"):
        sx.convert(tmp_path / "a", tmp_path / "b")
    file = tmp_path / "file"
    file.write_text("text")
    for folder in (file, file / "blocks", file / "more" / "blocks"):
        with pytest.raises(FileExistsError, match=rf"{folder} cannot be .* {file} is a file"):
            convert(folder)
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes").touch()
    with pytest.raises(FileExistsError, match="is a folder that is not empty"):
        convert(full)


def test_rows_with_other_features_are_refused_with_both_numbers(tmp_path: Path) -> None:
    model = sx.LogisticRegression().fit(convert(tmp_path / "a"))
    other = sx.convert((X[:, 1:], Y), tmp_path / "b", **OPTIONS)
    words = rf"X must have the {D} features of the training rows, .* Got {D - 1} features instead"
    with pytest.raises(ValueError, match=words):
        model.predict(other)


def test_an_abandoned_pass_ends_its_thread() -> None:
    import threading

    before = threading.active_count()
    for k in read_ahead([lambda k=k: k for k in range(100)]):  # type: ignore[misc]
        if k == 3:
            break
    deadline = time.monotonic() + 10.0
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before

    def fail() -> int:
        raise BlockFileError("lost")

    with pytest.raises(BlockFileError, match="lost"):
        list(read_ahead([lambda: 1, fail, lambda: 2]))
