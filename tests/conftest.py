"""Fixtures for the data folder and the browser, and the settings of the property tests.

A test that reads files of SEPARATRIX_DATA names them:

    @pytest.mark.data("libsvm/a9a", "libsvm/a9a.t")
    def test_something(data_dir): ...

It is skipped when the variable is not set, and is an error when the variable is set but one
of the files is missing: a data test never disappears silently. The last line of a run says
how many ran and how many were skipped.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import separatrix._core as _core
from separatrix.matrix import get_threads, set_threads
from support.browser import chromium
from support.command import MAIL, PEOPLE

VARIABLE = "SEPARATRIX_DATA"
UNSET = f"{VARIABLE} is not set"
DATA_TEST = "data test"

settings.register_profile(
    "local", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_runtest_setup(item):
    markers = list(item.iter_markers("data"))
    if not markers:
        return
    folder = os.environ.get(VARIABLE)
    if not folder:
        item.user_properties.append((DATA_TEST, "skipped"))
        pytest.skip(UNSET)
    for file in (name for marker in markers for name in marker.args):
        if not (Path(folder) / file).exists():
            pytest.fail(f"{VARIABLE} is {folder}, which has no '{file}'.", pytrace=False)
    # A report carries this from the worker that runs the test to the process that counts.
    item.user_properties.append((DATA_TEST, "ran"))


def pytest_terminal_summary(terminalreporter):
    outcomes = {
        report.nodeid: value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == DATA_TEST
    }
    counts = Counter(outcomes.values())
    why = f" ({UNSET})" if counts["skipped"] else ""
    terminalreporter.write_line(
        f"data tests: {counts['ran']} ran, {counts['skipped']} skipped{why}"
    )


@pytest.fixture
def data_dir(request):
    """The folder SEPARATRIX_DATA, for tests marked with the files they read."""
    if request.node.get_closest_marker("data") is None:
        pytest.fail("A test that uses data_dir needs @pytest.mark.data with its files.")
    return Path(os.environ[VARIABLE]).resolve()


@pytest.fixture
def threads() -> Iterator[None]:
    """Let a test set the number of threads, and restore it afterwards."""
    before = get_threads()
    yield
    set_threads(before)


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test with the kernels of every instruction set of this processor."""
    before = _core.instruction_set()
    _core.use_instruction_set(request.param)
    yield request.param
    _core.use_instruction_set(before)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two small files, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "mail.tsv").write_text(MAIL)
    return tmp_path


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of pages."""
    with chromium() as found:
        yield found
