"""The study that a newcomer runs first does what the README shows."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_study() -> str:
    command = [sys.executable, "examples/iris_study.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout


def test_the_study_prints_what_the_readme_shows_in_80_columns() -> None:
    printed = run_study().splitlines()
    assert max(len(line) for line in printed) <= 80
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    lines = [line for line in shown.splitlines() if line.strip(" .")]
    assert len(lines) > 10
    missing = [line for line in lines if line not in printed]
    assert not missing


def test_the_study_finds_the_rows_of_the_course() -> None:
    """The recomputed column for Iris: train loss, accuracy, validation loss, accuracy."""
    rows = {tuple(line.split()[:7]) for line in run_study().replace("*", " ").splitlines()}
    for row in (
        ("1e-01", "0", "250", "0.2369", "98%", "0.2279", "100%"),
        ("1e-02", "0", "100", "0.7154", "86%", "0.7017", "88%"),
        ("1e-02", "0", "1000", "0.3604", "97%", "0.3498", "100%"),
        ("1e-02", "0.9", "500", "0.1699", "97%", "0.1650", "100%"),
        ("1e-04", "0.9", "500", "0.8469", "78%", "0.8351", "84%"),
        ("1e-06", "0", "250", "1.0983", "31%", "1.0983", "40%"),
    ):
        assert row in rows
