"""Cells of new rows that are not written as in training are reported, and can be overruled."""

import pytest

from support.command import call, facts


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder in which the commands run, with a model of a column of each kind."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 50},{k % 10}5;{k % 97}%;{'abc'[k % 3]};{'np'[k % 2]}" for k in range(100)]
    (tmp_path / "t.csv").write_text("x;share;kind;y\n" + "\n".join(rows) + "\n")
    call("fit", "t.csv", "--out", "m.sx", "-q")
    return tmp_path


def write(*rows):
    with open("new.csv", "w") as file:
        file.write("\n".join(["x;share;kind", *rows]) + "\n")


def notes(*words):
    return facts("predict", "m.sx", "new.csv", *words)["notes"]


def test_a_number_in_another_form_than_in_training_is_reported():
    write("1,5;5%;a", "1.234,5;6%;b")
    said = "'1.234,5' is read as 1234.5; in training, numbers had a decimal comma."
    assert f"Column 'x': {said}" in notes()
    write("1.234;5%;a")
    assert any("'1.234' is read as 1.234; in training, numbers had" in note for note in notes())


def test_a_number_without_the_unit_of_the_training_is_reported():
    write("1,5;5%;a", "1,5;0.5;b")
    said = "'0.5' is read as 0.5; a number without '%' is taken to be in '%'."
    assert f"Column 'share': {said}" in notes()
    write("1,5;5%;a")
    assert not any("without '%'" in note for note in notes())


def test_words_for_missing_values_are_named_with_their_line():
    write("1,5;#N/A;a", "1,5;5%;?")
    assert "Column 'share': 1 cell is read as missing ('#N/A', line 2)." in notes()
    assert "Column 'kind': 1 cell is read as missing ('?', line 3)." in notes()


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_an_unknown_word_is_an_error_whose_remedies_work(command):
    with open("new.csv", "w") as file:
        file.write("x;share;kind;y\n1,5;5%;a;n\nxyz;5%;a;p\n")
    found = call(command, "m.sx", "new.csv", code=1).stderr
    said = "line 3: column 'x' must hold numbers, as in training. Got 'xyz' instead."
    assert said in " ".join(found.split())
    assert "give --type x=number to treat such cells as missing, or --missing-values" in found
    notes = facts(command, "m.sx", "new.csv", "--type", "x=number")["notes"]
    assert "Column 'x': 1 cell is not a number ('xyz', line 3); treated as missing." in notes
    notes = facts(command, "m.sx", "new.csv", "--missing-values", "xyz")["notes"]
    assert "Column 'x': 1 cell is read as missing ('xyz', line 3)." in notes


def test_a_decimal_sign_can_be_given_for_new_rows():
    write("1.234;5%;a", "3,5;5%;a")
    assert any("is read as 1234; in training" in note for note in notes())
    found = notes("--type", "x=number:decimal-point")
    assert "Column 'x': 1 cell is not a number ('3,5', line 3); treated as missing." in found


@pytest.mark.parametrize(("column", "was"), [("x", "number"), ("kind", "category")])
def test_a_column_of_a_model_keeps_its_type(column, was):
    write("1,5;5%;a")
    found = call("predict", "m.sx", "new.csv", "--type", f"{column}=text", code=2).stderr
    assert f"the type that it had in training, {was}. Got --type {column}=text instead." in found
