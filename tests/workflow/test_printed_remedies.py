"""The remedies that commands print are words of the command line that can be pasted."""

import re
import shlex

import pytest

from separatrix import load
from support.command import call, facts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def doubtful(folder):
    """A file with a column of words and numbers."""
    rows = [f"{k},{k % 3 if k < 20 else 'many'},{'np'[k % 2]}" for k in range(30)]
    (folder / "a.csv").write_text("a,kids,y\n" + "\n".join(rows) + "\n")
    return "a.csv"


def printed(*words):
    return " ".join(call(*words).stdout.split())


def test_a_study_and_a_conversion_print_options_and_not_parameters(doubtful):
    study = ("study", doubtful, "--learning-rate", "0.1", "--epochs", "2", "--no-report")
    for words in (study, ("convert", doubtful, "blocks"), ("data", "show", "blocks")):
        text = printed(*words)
        assert "give --type kids=number" in text, words
        assert "types={" not in text, words


def test_the_notes_of_a_conversion_name_options_in_json_and_parameters_in_python(doubtful):
    call("convert", doubtful, "blocks")
    notes = facts("data", "show", "blocks")["notes"]
    assert any("give --type kids=number" in note for note in notes)
    assert any("give types={'kids': 'number'}" in note for note in load("blocks").notes)


def test_a_printed_remedy_for_an_unnamed_column_can_be_pasted(folder):
    rows = [f"{k},{'ab'[k % 2]},{k * k % 7},{'np'[k % 2]}" for k in range(40)]
    (folder / "a.csv").write_text(",kind,size,y\n" + "\n".join(rows) + "\n")
    found = re.search(r"leave it out with (.*?=drop'?)", printed("fit", "a.csv"))
    assert found[1] == "--type 'column 1=drop'"
    assert "column 1" not in printed("fit", "a.csv", *shlex.split(found[1]))
