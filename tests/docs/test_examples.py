"""The first study of the README prints what the README shows, and benchmarks start."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_the_first_study_prints_what_the_readme_shows_in_80_columns(tmp_path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "$(BIN)/separatrix study iris\n" in makefile
    done = subprocess.run(
        [sys.executable, "-m", "separatrix", "study", "iris"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    printed = done.stdout.splitlines()
    assert max(len(line) for line in printed) <= 80
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    lines = [line for line in shown.splitlines() if line.strip(" .")]
    assert len(lines) >= 5
    output = "\n".join(line.rstrip() for line in printed)
    assert not [line for line in lines if line.removesuffix(" ...") not in output]
    assert (tmp_path / printed[-1].removeprefix("Wrote ").removesuffix(".")).is_file()


def test_benchmarks_can_be_imported() -> None:
    """Those that need an optional package are imported where it is installed."""
    names = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))
    needs = {"dask_cluster": "distributed", "gpu": "torch"}
    names = [name for name in names if name not in needs or find_spec(needs[name])]
    code = f"import importlib; [importlib.import_module(name) for name in {names}]"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT / "benchmarks", check=True)


def test_the_benchmark_of_stochastic_steps_runs() -> None:
    options = ["--rows", "40", "--columns", "50", "--repeats", "1"]
    path = ROOT / "benchmarks" / "stochastic_sparse.py"
    done = subprocess.run(
        [sys.executable, path, *options], capture_output=True, text=True, check=True
    )
    assert "lazy_adam" in done.stdout
