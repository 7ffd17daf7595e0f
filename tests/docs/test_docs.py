"""Every example a reader can copy is run: README.md, the pages of docs/, the docstrings."""

import doctest
import importlib
import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from separatrix.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
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
    r"(?:<!--\s*(?P<note>skip|data):(?P<files>[^>]*)-->\s*)?"
    r"^```(?P<language>python|pycon)[^\n]*\n(?P<code>.*?)^```\s*$",
    re.MULTILINE | re.DOTALL,
)


# Commands in a terminal of 80 columns, and what they print; 'cat' shows a file that is used later.
COMMAND = re.compile(
    r"(?:<!--\s*data:(?P<files>[^>]*)-->\s*)?"
    r"^```console\n\$ (?P<words>(?:separatrix|cat) [^\n]*)\n(?P<output>.*?)^```\s*$",
    re.MULTILINE | re.DOTALL,
)


def code_blocks(text):
    """Yield (note, language, first line number, code) for the blocks of a page to be run."""
    for block in BLOCK.finditer(text):
        if block["note"] != "skip":
            line = text.count("\n", 0, block.start("code")) + 1
            yield block["note"], block["language"], line, block["code"]


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
    """Run the blocks of one page in order, in one namespace.

    Blocks that read data have a namespace of their own, which the other blocks do not see: a reader
    without the data runs those alone.
    """
    namespace, with_data = {"__name__": "__main__"}, {}
    for note, language, line, code in code_blocks(text):
        if note is None:
            names = namespace
        elif data:
            names = {**namespace, **with_data}
        else:
            continue
        if language == "pycon" or code.lstrip().startswith(">>>"):
            run_session(code, names, name, line)
        else:
            # Empty lines in front make tracebacks name the line of the page.
            exec(compile("\n" * (line - 1) + code, name, "exec"), names)
        if note is not None:
            for key, value in names.items():
                if key not in namespace or namespace[key] is not value:
                    with_data[key] = value


def pages_to_run(pages, files_of):
    """Each page once: with its data where there is data, without it elsewhere."""
    for page in pages:
        name = str(page.relative_to(ROOT))
        files = files_of(page.read_text(encoding="utf-8"))
        if files:
            mark = pytest.mark.data(*files)
            yield pytest.param(page, True, id=f"{name}-data", marks=mark)
        if not files or not os.environ.get("SEPARATRIX_DATA"):
            yield pytest.param(page, False, id=name)


@pytest.fixture
def data_folder(monkeypatch):
    """The folder of the data by its whole path, from which a page may be run anywhere."""
    if folder := os.environ.get("SEPARATRIX_DATA"):
        monkeypatch.setenv("SEPARATRIX_DATA", str(Path(folder).resolve()))


@pytest.mark.slow
@pytest.mark.parametrize(("page", "data"), list(pages_to_run(PAGES, data_files)))
def test_code_on_the_page_runs(page, data, data_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), str(page), data=data)


def run_commands(text, *, data=False):
    """Run the commands of a page in order, in this folder; each must print what is written."""
    for block in COMMAND.finditer(text):
        if block["files"] is not None and not data:
            continue
        program, *words = shlex.split(block["words"])
        if program == "cat":
            Path(words[0]).write_text(block["output"])
            continue
        found = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
        if not doctest.OutputChecker().check_output(block["output"], found.output, OPTIONS):
            pytest.fail(f"$ {block['words']}\nprints\n{found.output}", pytrace=False)


def command_files(text):
    """The files of the data folder that the commands of a page read."""
    return [file for block in COMMAND.finditer(text) for file in (block["files"] or "").split()]


COMMAND_PAGES = [page for page in PAGES if COMMAND.search(page.read_text(encoding="utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "data"), list(pages_to_run(COMMAND_PAGES, command_files)))
def test_commands_on_the_page_print_what_is_written(page, data, data_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_commands(page.read_text(encoding="utf-8"), data=data)


def test_a_command_that_prints_something_else_fails():
    page = "```console\n$ separatrix --version\nseparatrix 99\n```\n"
    with pytest.raises(pytest.fail.Exception, match="--version"):
        run_commands(page)


@pytest.mark.parametrize(
    "module",
    # Drawing takes the longest.
    [
        pytest.param(module, marks=[pytest.mark.slow] if ".charts" in module else [])
        for module in MODULES
    ],
)
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


def test_a_note_belongs_to_the_block_below_it_alone():
    page = "<!-- data: a -->\n```python\n1 / 0\n```\n\n<!-- data: b -->\n```console\n$ cat c\n```\n"
    assert data_files(page) == ["a"]
    assert command_files(page) == ["b"]


def test_a_block_without_data_does_not_see_what_blocks_with_data_define():
    first = "```python\nx = 1\n```\n"
    data = "<!-- data: a -->\n```python\nx += 1\n```\n"
    run_page(first + data + data + "<!-- data: a -->\n```pycon\n>>> x\n3\n```\n", "p.md", data=True)
    run_page(first + data + "```pycon\n>>> x\n1\n```\n", "p.md", data=True)
    with pytest.raises(NameError):
        run_page("<!-- data: a -->\n```python\ny = 1\n```\n```python\ny\n```\n", "p.md", data=True)


def test_wrong_output_on_a_page_fails():
    with pytest.raises(pytest.fail.Exception, match=r"page\.md"):
        run_page("```pycon\n>>> 1 + 1\n3\n```\n", "page.md")


def test_errors_name_the_line_of_the_page():
    with pytest.raises(ZeroDivisionError) as error:
        run_page("# Title\n\n```python\nx = 1\n1 / 0\n```\n", "page.md")
    assert (str(error.traceback[-1].path), error.traceback[-1].lineno + 1) == ("page.md", 5)
