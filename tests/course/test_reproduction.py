"""The page on the homework's tables agrees with its studies."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.course_tables import BINARY, BINARY_FILES, IRIS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reproduction.md"


WORDS = [sys.executable, ROOT / "docs" / "reproduce.py", "--check", "--page"]


@pytest.fixture(scope="module")
def script():
    """Import the script as a module."""
    spec = importlib.util.spec_from_file_location("reproduce", ROOT / "docs" / "reproduce.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.data(*BINARY_FILES)
def test_the_page_agrees_with_the_studies_of_two_classes(script, data_dir):
    found = script.Recomputed("cs725/binary", script.BINARY, scale=1.0)
    text = PAGE.read_text(encoding="utf-8")
    assert script.whole({"binary": script.filled(script.binary_part(found))}, text) == text


@pytest.mark.slow
def test_the_page_agrees_with_the_study_of_iris_and_a_wrong_digit_is_found(tmp_path):
    """Runs in a separate process without the course's files, whose part is left unchanged."""
    text, copy = PAGE.read_text(encoding="utf-8"), tmp_path / "page.md"
    assert "0.2368" not in text
    copy.write_text(text.replace("0.2369", "0.2368"), encoding="utf-8")
    bare = {k: v for k, v in os.environ.items() if k != "SEPARATRIX_DATA"}
    bare["SEPARATRIX_CACHE"] = str(tmp_path)
    done = subprocess.run([*WORDS, copy], env=bare, capture_output=True, text=True)
    assert done.returncode == 1
    assert "cs725/binary" in done.stderr
    assert "out of date" in done.stderr
    # The wrong digit is the only difference: all other lines are what is recomputed.
    differences = [line for line in done.stdout.splitlines()[2:] if line[0] in "+-"]
    wrong = [line[1:] for line in differences if line[0] == "-"]
    right = [line[1:] for line in differences if line[0] == "+"]
    assert len(wrong) == sum("0.2369" in line for line in text.splitlines()) > 0
    assert [line.replace("0.2368", "0.2369") for line in wrong] == right


def test_the_page_has_every_row_that_the_course_prints():
    text = PAGE.read_text(encoding="utf-8")
    for (rate, epochs, momentum), row in (BINARY | IRIS).items():
        loss, share, val_loss, val_share = row
        key = rf"\| \d \| {rate:.0e} \| {epochs} \| {momentum:g} \|"
        found = rf"\| {loss:.4f} \| {share:.2f} \| {val_loss:.4f} \| {val_share:.2f} \|"
        assert re.search(f"{key}.*{found}", text), row
