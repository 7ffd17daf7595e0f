"""Hostile names and texts from files, printed by every command in terminals and encodings."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from separatrix.cli.app import app
from separatrix.cli.terminal import readable
from separatrix.text import printable
from separatrix.workflow.model_inputs import open_model
from support.terminal import MANY, PROGRAM, run, run_many, split_many

pytestmark = pytest.mark.slow

# Sets the window title, clears the screen, rings the bell, moves up, and reverses the text.
OBEYED = "\x1b]0;PWNED\x07\x1b[2J\x07\x9b1A\x1bP\u202e\u2066\x7f\u200b[bold]x[/bold][link=http://a]"
NAMES = [f"{OBEYED}{k}" for k in range(3)]
CLASSES = [f"yes{OBEYED}", f"no{OBEYED}", f"\x1b[31mmay\rbe\n{OBEYED}"]
FILE = "ro\x1b[31mws[bold].csv"
# Codes that Rich writes: styles, cursor movements, and lines that are drawn again.
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r\n|\r|\n")
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")
COMMANDS = [
    ["fit", FILE],
    ["fit", FILE, "--json"],
    ["search", FILE, "--folds", "2"],
    ["compare", FILE],
    ["show", "m.sx"],
    ["show", "m.sx", "--json"],
    ["predict", "m.sx", FILE],
    ["predict", "m.sx", FILE, "--proba", "--out", "answers.csv"],
    ["evaluate", "m.sx", FILE],
    ["explain", "m.sx", FILE],
    ["explain", "m.sx", FILE, "--step"],
    ["graph", "1/(1+exp(-w*x))", "w=2", "x=-1"],
    ["study", FILE, "--epochs", "3", "--name", "again"],
    ["studies", "list"],
    ["studies", "show"],
    ["studies", "table"],
    ["studies", "export", "--format", "csv"],
    ["studies", "export", "--format", "json"],
    ["studies", "report"],
    ["studies", "delete", "again"],
    ["convert", FILE, "blocks"],
    ["data", "list"],
    ["data", "show", "iris"],
    ["data", "show", "blocks", "--check"],
    ["data", "fetch", "iris"],
]
PREDICT = ["predict", "m.sx", FILE, "--quiet"]
ERRORS = [
    ["fit", f"none{FILE}"],
    ["fit", FILE, "--label", "nothing"],
    ["predict", "m.sx", "other.csv"],
    ["show", FILE],
    ["fit", "bad.svm"],
    ["fit", "bad.svm", "--debug"],
]


def verbs():
    """Return the names of all commands."""
    single = {command.callback.__name__.rstrip("_") for command in app.registered_commands}
    groups = {
        f"{group.name} {(command.name or command.callback.__name__).rstrip('_')}"
        for group in app.registered_groups
        for command in group.typer_instance.registered_commands
    }
    return single | groups


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table and its model, in which all names are hostile."""
    place = tmp_path_factory.mktemp("hostile")
    quoted = [f'"{name}"' for name in [*NAMES, "la\x1b[31mbel"]]
    rows = [
        f'{k % 7 + 9 * (k % 3)},{k % 5},"text{OBEYED}{k % 2}","{CLASSES[k % 3]}"' for k in range(60)
    ]
    (place / FILE).write_text("\n".join([",".join(quoted), *rows]) + "\n", encoding="utf-8")
    (place / "other.csv").write_text(f'"{OBEYED}z"\n1\n2\n', encoding="utf-8")
    (place / "bad.svm").write_text(f"1 1:2\n0 7:{OBEYED}\n", encoding="utf-8")
    made = subprocess.run(
        [PROGRAM, "fit", FILE, "--out", "m.sx"], cwd=place, capture_output=True, text=True
    )
    assert made.returncode in (0, 3), made.stderr
    return place


def test_every_command_is_tested():
    tried = {
        " ".join(words[:2]) if words[0] in ("studies", "data") else words[0] for words in COMMANDS
    }
    assert tried == verbs() - {"lab"}  # which tests/lab tries: it runs until it is stopped


def test_the_model_has_hostile_names(folder):
    assert any("\x1b]0;PWNED" in str(name) for name in open_model(str(folder / "m.sx")).classes_)


def test_control_characters_in_names_do_not_reach_the_terminal(folder):
    shutil.rmtree(folder / "blocks", ignore_errors=True)  # convert makes it
    for words, shown, code in run_many([*COMMANDS, *ERRORS], folder):
        assert code in ((0, 3) if words in COMMANDS else (1, 2)), (words, shown)
        left = OWN.sub("", shown)
        found = UNSEEN.search(left)
        assert not found, (words, left[max(found.start() - 60, 0) : found.end() + 60])
        if "--debug" not in words:
            assert "Traceback" not in shown, words


@pytest.fixture(scope="module")
def wide(folder):
    """Return the output of commands in a terminal wide enough for the names, by first word."""
    commands = [["explain", "m.sx", FILE], ["evaluate", "m.sx", FILE], PREDICT]
    return {words[0]: shown for words, shown, _ in run_many(commands, folder, columns=200)}


@pytest.fixture(scope="module")
def piped(folder):
    """Return the output of commands to a pipe, by first word."""
    commands = [["show", "m.sx", "--json"], PREDICT]
    shutil.rmtree(folder / "blocks", ignore_errors=True)
    program = [sys.executable, "-c", MANY, json.dumps(commands)]
    found = subprocess.run(program, cwd=folder, capture_output=True, check=True)
    return {words[0]: text for words, text, _ in split_many(found.stdout.decode(), commands)}


def test_names_are_printed_in_full_and_markup_is_literal(wide):
    plain = OWN.sub("", wide["explain"])
    assert r"ro\x1b[31mws[bold]" in plain
    assert r"\x1b]0;PWNED\x07" in plain
    assert "[bold]x[/bold]" in plain


def test_a_newline_in_a_name_does_not_break_a_table(wide):
    plain = OWN.sub(lambda code: "\n" if "\n" in code[0] else "", wide["evaluate"])
    lines = [line for line in plain.splitlines() if line.startswith(r"\x1b[31mmay")]
    assert lines
    assert all(re.search(r"\d", line) for line in lines)  # the numbers are in the same line


def test_json_escapes_control_characters_without_changing_names(piped):
    assert not UNSEEN.search(piped["show"].rstrip("\n"))
    assert sorted(json.loads(piped["show"])["classes"]) == sorted(CLASSES)


def test_predictions_in_a_pipe_are_exact_and_in_a_terminal_printable(wide, piped):
    assert CLASSES[0] in piped["predict"]
    assert CLASSES[0] not in wide["predict"]
    assert printable(CLASSES[0]) in wide["predict"]


# ASCII lacks more characters than the other encodings, so a few commands suffice for the others.
@pytest.mark.parametrize(("encoding", "few"), [("ascii", False), ("cp1252", True)])
def test_no_command_fails_in_an_encoding_that_lacks_characters(folder, encoding, few):
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONUTF8", "COLUMNS")}
    env |= {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    commands = [*COMMANDS, ["--help"], ["fit", "--help"], *ERRORS]
    if few:
        commands = [words for words in commands if words[0] in ("compare", "show", "graph")]
    shutil.rmtree(folder / "blocks", ignore_errors=True)
    program = [sys.executable, "-c", MANY, json.dumps(commands)]
    found = subprocess.run(program, cwd=folder, capture_output=True, env=env)
    assert found.returncode == 0, found.stderr[-2000:]
    assert b"UnicodeEncodeError" not in found.stderr
    for words, shown, code in split_many(found.stdout.decode(encoding), commands):
        assert code in ((1, 2) if words in ERRORS else (0, 3)), (words, shown)
        if words[0] == "compare":
            assert re.search(r"(?m)^\* ", shown)  # replaces the dot before the best model


def test_a_terminal_without_unicode_shows_progress_too(folder):
    shown, code = run(["compare", FILE], folder, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert code == 0
    assert shown.isascii()
    assert "Traceback" not in shown


def test_characters_that_an_encoding_has_are_not_replaced():
    assert readable("·café ●", "cp1252") == "·café *"
    assert readable("·café ●", "ascii") == r"-caf\xe9 *"
