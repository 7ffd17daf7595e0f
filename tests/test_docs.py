"""Every example a reader can copy is run: README.md, the pages of docs/, the docstrings."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
PAGES = sorted(
    path
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if path.exists() and "_build" not in path.parts
)
MODULES = sorted(
    ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    for path in (SOURCES / "separatrix").rglob("*.py")
    if path.name != "__main__.py"
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# A fenced block at the start of a line; the comment before it says why it is not run, or which
# files of the data folder it reads.
BLOCK = re.compile(
    r"(?:<!--\s*(?P<note>skip|data):(?P<files>.*?)-->\s*)?"
    r"^```(?P<language>python|pycon)[^\n]*\n(?P<code>.*?)^```\s*$",
    re.MULTILINE | re.DOTALL,
)


def code_blocks(text, *, data=False):
    """Yield (language, first line number, code) for the blocks of a page that are to be run."""
    for block in BLOCK.finditer(text):
        if block["note"] is None or (data and block["note"] == "data"):
            yield block["language"], text.count("\n", 0, block.start("code")) + 1, block["code"]


def data_files(text):
    """The files of the data folder that a page reads."""
    notes = [block["files"] for block in BLOCK.finditer(text) if block["note"] == "data"]
    return [file for note in notes for file in note.split()]


def run_session(code, namespace, name, line):
    """Run a >>> session in a namespace and fail where its output is not what is written."""
    session = doctest.DocTestParser().get_doctest(code, namespace, name, name, line - 1)
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(session, out=report.append, clear_globs=False)
    namespace.update(session.globs)
    if runner.failures:
        pytest.fail("".join(report), pytrace=False)


def run_page(text, name, *, data=False):
    """Run the blocks of one page in order, in one namespace."""
    namespace = {"__name__": "__main__"}
    for language, line, code in code_blocks(text, data=data):
        if language == "pycon" or code.lstrip().startswith(">>>"):
            run_session(code, namespace, name, line)
        else:
            # Empty lines in front make tracebacks name the line of the page.
            exec(compile("\n" * (line - 1) + code, name, "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), str(page))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.data(*files), id=str(page.relative_to(ROOT)))
        for page in PAGES
        if (files := data_files(page.read_text(encoding="utf-8")))
    ],
)
def test_code_that_reads_data_runs(page, data_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_DATA", str(data_dir))
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), str(page), data=True)


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_give_what_they_show(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(module), optionflags=OPTIONS)
    assert failed == 0, f"{failed} examples failed in {module}; the output above says where."


def test_blocks_of_a_page_share_names_and_skipped_blocks_are_not_run():
    page = (
        "```python\nx = 1\n```\n\n"
        "<!-- skip: needs a browser -->\n```python\nx = 2\n```\n\n"
        "```console\n$ not python\n```\n\n"
        "```pycon\n>>> x\n1\n>>> y = 5\n```\n\n"
        "```python\nassert y == 5\n```\n"
    )
    run_page(page, "page.md")


def test_blocks_that_read_data_are_run_when_it_is_there():
    page = "<!-- data: a/b c -->\n```python\n1 / 0\n```\n"
    assert data_files(page) == ["a/b", "c"]
    run_page(page, "page.md")
    with pytest.raises(ZeroDivisionError):
        run_page(page, "page.md", data=True)


def test_wrong_output_on_a_page_fails():
    with pytest.raises(pytest.fail.Exception, match=r"page\.md"):
        run_page("```pycon\n>>> 1 + 1\n3\n```\n", "page.md")


def test_errors_name_the_line_of_the_page():
    with pytest.raises(ZeroDivisionError) as error:
        run_page("# Title\n\n```python\nx = 1\n1 / 0\n```\n", "page.md")
    assert (str(error.traceback[-1].path), error.traceback[-1].lineno + 1) == ("page.md", 5)
