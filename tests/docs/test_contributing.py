"""Every recipe of CONTRIBUTING.md works: followed literally, in a copy of the sources.

In a recipe, a code block whose fence names a file is a new file, a diff is applied, and sessions of
Python and of the shell are run and compared with what they show.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import separatrix._core as _core

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^ *```(\w+) *(\S*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
RECIPE = re.compile(r"^## (Add a .*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
RECIPES = {title.strip(): body for title, body in RECIPE.findall(TEXT)}
# The copy is imported, and not what is installed in place.
ALONE = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
sys.path.insert(0, {source!r})
"""
DOCTEST = """
import doctest
text = open({session!r}, encoding="utf-8").read()
test = doctest.DocTestParser().get_doctest(text, {{}}, "recipe", None, 0)
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
raise SystemExit(bool(doctest.DocTestRunner(optionflags=flags).run(test).failed))
"""
RUN = """
from separatrix.cli import main
sys.argv = {argv!r}
main()
"""


def blocks(text):
    """Language, file and content of the code blocks of a recipe, without its indentation."""
    for block in BLOCK.finditer(text):
        language, file, content = block.groups()
        indent = len(block[0]) - len(block[0].lstrip(" "))
        lines = [line[indent:] for line in content.splitlines(keepends=True)]
        yield language, file, "".join(lines)


def copy_of_sources(folder):
    """src/separatrix with its compiled module."""
    source = folder / "src"
    shutil.copytree(
        ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyi")
    )
    os.symlink(_core.__file__, source / "separatrix" / Path(_core.__file__).name)
    return source


def apply(diff, folder):
    """Change a file: the lines of every hunk, which occur once in the file, are replaced."""
    names, *hunks = re.split(r"^@@.*\n", diff, flags=re.MULTILINE)
    path = folder / re.search(r"^\+\+\+ b/(.*)$", names, re.MULTILINE)[1]
    text = path.read_text(encoding="utf-8")
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[:1] in " -")
        new = "".join(line[1:] for line in lines if line[:1] in " +")
        assert text.count(old) == 1, f"{path.name} has these lines {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def run(folder, script):
    environment = {**os.environ, "COLUMNS": "80", "SEPARATRIX_DATA": str(folder / "data")}
    return subprocess.run(
        [sys.executable, "-c", ALONE.format(source=str(folder / "src")) + script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def follow(recipe, folder):
    """Do what a recipe says; how many things it showed were checked."""
    copy_of_sources(folder)
    checked = 0
    for language, file, content in blocks(recipe):
        if file:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(content, encoding="utf-8")
        elif language == "diff":
            apply(content, folder)
        elif language == "pycon":
            (folder / "session.txt").write_text(content, encoding="utf-8")
            done = run(folder, DOCTEST.format(session="session.txt"))
            assert done.returncode == 0, done.stdout + done.stderr
            checked += 1
        elif language == "console":
            for command, shown in COMMAND.findall(content):
                done = run(folder, RUN.format(argv=command.split()))
                assert done.returncode == 0, done.stdout + done.stderr
                flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
                assert doctest.OutputChecker().check_output(shown, done.stdout, flags), done.stdout
                checked += 1
    return checked


def test_there_is_a_recipe_for_every_part_that_people_add():
    wanted = ["loss", "solver", "reader", "chart", "command", "data set"]
    assert list(RECIPES) == [f"Add a {part}" for part in wanted]


@pytest.mark.slow
@pytest.mark.parametrize("title", RECIPES)
def test_the_recipe_works_when_it_is_followed_literally(title, tmp_path):
    assert follow(RECIPES[title], tmp_path) >= 1
