"""Errors about the values of a file name the file, the line, and the text of the cell."""

import pytest

from support.command import call

HEADER = "a,b,y"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, rows, end="\n"):
    with open(name, "w") as file:
        file.write("\n".join([HEADER, *rows]) + end)


def rows_with(cell, n=40, at=30):
    rows = [f"{k}.5,{k % 7},{'np'[k % 2]}" for k in range(n)]
    rows[at] = f"{cell},3,n"
    return rows


def error(*words):
    return " ".join(call("fit", *words, code=1).stderr.split())


def test_a_number_that_is_too_large_is_shown_with_its_line():
    write("a.csv", rows_with("1e400"))
    said = "a.csv, line 32: column 'a' is '1e400', which is inf. Numbers must be finite."
    assert said in error("a.csv")


def test_lines_are_counted_in_files_with_blank_lines_and_quotes():
    rows = ['"1.5",3,n', "", "", *rows_with("-inf")]
    write("a.csv", rows)
    assert "a.csv, line 35: column 'a' is '-inf'. Numbers" in error("a.csv")


def test_a_refused_missing_value_is_shown_with_its_line():
    write("a.csv", rows_with(""))
    assert "a.csv, line 32: column 'a' has no value" in error("a.csv", "--missing", "refuse")


def test_a_value_is_found_in_the_file_of_its_part():
    write("a.csv", rows_with("7"))
    write("b.csv", rows_with("1e999", n=10, at=4))
    assert "b.csv, line 6: column 'a' is '1e999', which is inf." in error(
        "a.csv", "--validation", "b.csv"
    )


def test_a_single_class_is_named_with_its_column():
    write("a.csv", [f"{k},{k % 7},yes" for k in range(20)])
    said = "a.csv: all values of the label column 'y' are 'yes'. A classifier needs rows of at"
    found = error("a.csv")
    assert said in found
    assert "name another label column with --label." in found
