"""The options for reading and preparing a source."""

import pytest

from separatrix.cli.command_decorator import UsageError
from separatrix.cli.options import PreparationOptions, ReadingOptions
from support.command import call, facts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which the commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("split", ["nan/1/1", "inf/1/1", "1/nan/1", "1/1", "0/1/1", "1/-1/1"])
def test_invalid_splits_are_refused(split):
    with pytest.raises(UsageError, match="three proportions"):
        PreparationOptions(split=split).shares()


def test_delimiters_have_names(folder):
    assert ReadingOptions(delimiter="tab").options() == {"delimiter": "\t"}
    with pytest.raises(UsageError, match="one character"):
        ReadingOptions(delimiter="||").options()


def test_the_delimiter_is_saved_with_the_model(folder):
    rows = "".join(f"{k}|{k % 3}|{'uv'[k % 2]}\n" for k in range(30))
    (folder / "a.csv").write_text("n|m|label\n" + rows)
    call("fit", "a.csv", "--delimiter", "|", "--out", "m.sx", "--quiet")
    assert facts("predict", "m.sx", "a.csv")["metrics"]["rows"] == 30


def test_a_dropped_column_is_not_a_feature_and_can_be_missing_later(folder):
    rows = [f"{k},{k % 2},{'uv'[k % 2]}" for k in range(30)]
    (folder / "a.csv").write_text("id,x,label\n" + "\n".join(rows))
    found = facts("fit", "a.csv", "--drop", "id", "--out", "m.sx")
    assert found["source"]["features"] == 1
    (folder / "bare.csv").write_text("\n".join(rows))
    assert facts("predict", "m.sx", "bare.csv")["metrics"]["accuracy"] == 1
    (folder / "without.csv").write_text("x\n0\n1\n")
    assert facts("predict", "m.sx", "without.csv")["predictions"] == ["u", "v"]


def test_words_can_be_limited_and_hashed(folder):
    texts = [f"{['bad', 'good'][k % 2]}\tthis is a film of {k} and so on\n" for k in range(20)]
    (folder / "a.tsv").write_text("".join(texts))
    every = facts("fit", "a.tsv")["source"]["features"]
    few = facts("fit", "a.tsv", "--min-documents", "2")["source"]["features"]
    assert 0 < few < every
    assert facts("fit", "a.tsv", "--most-words", "3")["source"]["features"] == 3
    assert facts("fit", "a.tsv", "--words", "hashing", "--hashes", "64")["source"]["features"] == 64


def test_data_show_prints_how_a_file_is_read(folder):
    rows = [f"{k}.5;{k % 28 + 1}.3.2024;{'st'[k % 2]};{'uv'[k % 2]}" for k in range(30)]
    rows[4] = rows[4].replace("4.5", "#N/A")
    text = "n;day;kind;label\n" + "\n".join(rows)
    (folder / "a.csv").write_text(text)
    found = facts("data", "show", "a.csv")
    assert [tuple(column.values()) for column in found["columns"]] == [
        ("n", "number", 29, 1, "0.5"),
        ("day", "date", 28, 0, "19783"),
        ("kind", "category", 2, 0, "s"),
    ]
    assert "Column 'n': 1 cell is read as missing ('#N/A', line 6)." in found["notes"]
    assert (found["rows"], found["features"], found["classes"]) == (30, 3, ["u", "v"])
    shown = call("data", "show", "-", "--type", "kind=drop", input=text).stdout
    assert "kind" not in shown
    assert "day       date" in shown
