"""Standard input as the source of a command."""

import glob
import gzip
import os
import tempfile

import pytest

from support.command import PEOPLE, call, facts


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder in which the commands run, and the only folder for temporary files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_model_is_the_same_from_standard_input_and_from_a_file(folder):
    (folder / "people.csv").write_text(PEOPLE)
    of_file, of_pipe = facts("fit", "people.csv"), facts("fit", "-", input=PEOPLE)
    assert of_pipe["source"].pop("name") == "standard input"
    of_file["source"].pop("name")
    assert of_pipe["source"] == of_file["source"]
    assert of_pipe["notes"] == of_file["notes"]
    assert of_pipe["metrics"] == of_file["metrics"]


def test_every_command_with_a_source_reads_standard_input(folder):
    call("fit", "-", "--out", "m.sx", "--quiet", input=PEOPLE)
    assert len(facts("predict", "m.sx", "-", input=PEOPLE)["predictions"]) == 12
    assert facts("evaluate", "m.sx", "-", input=PEOPLE)["source"]["rows"] == 1
    assert facts("explain", "m.sx", "-", "--row", "2", input=PEOPLE)["row"]["job"] == "smith"
    assert facts("search", "-", "--C", "1", "--folds", "2", input=PEOPLE)["best"] == {"C": 1}
    found = facts("compare", "-", "--model", "logistic", input=PEOPLE)
    assert found["source"]["name"] == "standard input"
    given = ("--learning-rate", "0.1", "--epochs", "2", "--store", "a.db", "--no-report", "-q")
    call("study", "-", *given, input=PEOPLE)
    assert "standard" in call("studies", "list", "--store", "a.db").stdout


def test_the_format_of_standard_input_is_detected_or_given():
    rows = "".join(f"{k % 2} 1:{k} 2:{k % 3}\n" for k in range(20))
    assert facts("fit", "-", input=rows)["source"]["features"] == 2
    assert facts("fit", "-", "--format", "svmlight", input=rows)["source"]["features"] == 2
    assert facts("fit", "-", input=gzip.compress(rows.encode()))["source"]["rows"] == 20


def test_a_single_column_is_read_as_the_column_of_the_model():
    call("fit", "-", "--out", "m.sx", "-q", input="".join(f"{k},{k // 10}\n" for k in range(20)))
    assert facts("predict", "m.sx", "-", input="1\n19\n")["predictions"] == [0, 1]


def test_errors_name_standard_input_and_no_temporary_file():
    found = call("fit", "-", input="a,b\n1,2\n1,2,3\n4,5\n", code=1)
    assert "standard input" in found.stderr
    assert "separatrix-" not in found.stderr
    assert "Standard input is empty" in call("fit", "-", input="", code=1).stderr


def test_the_copy_of_standard_input_is_deleted(folder):
    call("fit", "-", "-q", input=PEOPLE)
    call("fit", "-", "-q", input="1,2,3", code=1)
    assert not glob.glob(os.path.join(folder, "separatrix-*"))
