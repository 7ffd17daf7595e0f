"""Cells are read as people mean them: numbers, dates, categories, missing values, identifiers."""

import math
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from separatrix.errors import ParameterError
from separatrix.features.column_formats import read_strings
from separatrix.readers import load
from separatrix.readers.cells.cell_format import CellFormat, Formats
from separatrix.readers.cells.inference import infer
from separatrix.readers.cells.missing_words import MISSING_WORDS
from separatrix.readers.cells.number_cells import PLAIN, are_codes, numbers_of
from separatrix.readers.columns import Columns
from separatrix.readers.tables import read_table
from separatrix.readers.typed_columns import read_trained


@pytest.fixture
def column(tmp_path):
    """Write one column of cells, a feature and a label to a file, and read it."""

    def column(cells, delimiter=";", **options):
        path = tmp_path / "table.csv"
        rows = [f"{cell}{delimiter}{k % 7}{delimiter}{'uv'[k % 2]}" for k, cell in enumerate(cells)]
        path.write_text("\n".join([delimiter.join(["x", "other", "label"]), *rows]) + "\n")
        return read_table(path, **options)

    return column


def numbers_with(*others, n=100):
    """Return n different numbers as cells, some of them replaced."""
    cells = [f"{k}.5" for k in range(n)]
    cells[10 : 10 + len(others)] = others
    return cells


# Missing values


@pytest.mark.parametrize(
    "word", [*MISSING_WORDS, "", "  ", "#N/A", "<NA>", "NaN", "NULL", "Unknown", "NONE", "n/a"]
)
def test_words_for_missing_values_are_missing_in_a_column_of_numbers(column, word):
    table, _, _, notes = column(numbers_with(word))
    assert table.kind("x") == "numbers"
    assert math.isnan(table["x"][10])
    assert "1 value is missing: 'x' 1." in notes
    assert not any("not a number" in note for note in notes)


def test_every_word_for_missing_values_is_reported_with_its_line(column):
    notes = column(numbers_with("-", "#N/A", "NA", "#N/A")).notes
    words = "'#N/A', 2 cells, first on line 13; '-', line 12; 'NA', line 14"
    assert f"Column 'x': 4 cells are read as missing ({words})." in notes
    notes = column(["red", "NULL", "blue", "red"] * 9).notes
    assert any("9 cells are read as missing ('NULL', 9 cells, first on line 3)" in n for n in notes)


@pytest.mark.parametrize("place", [10, 350])
def test_the_word_nan_in_a_column_of_numbers_is_reported(column, place):
    cells = [f"{k}.5" for k in range(400)]
    cells[place], cells[place + 5] = "NaN", ""
    table, _, _, notes = column(cells, delimiter=",")
    assert np.flatnonzero(np.isnan(table["x"])).tolist() == [place, place + 5]
    assert f"Column 'x': 1 cell is read as missing ('NaN', line {place + 2})." in notes


def test_a_list_of_many_words_says_how_many_more_there_are(column):
    words = [f"m{k}" for k in range(20)]
    notes = column(numbers_with(*words), missing_values=words).notes
    note = next(note for note in notes if "20 cells are read as missing" in note)
    assert note.count("line") == 12
    assert note.endswith("and 8 other words).")


def test_one_stray_cell_does_not_ruin_a_column_of_numbers(column):
    table, _, _, notes = column(numbers_with("#VALUE!"))
    assert table.kind("x") == "numbers"
    assert np.flatnonzero(np.isnan(table["x"])).tolist() == [10]
    words = "Column 'x': 1 cell is not a number ('#VALUE!', line 12); treated as missing."
    assert words in notes


def test_the_line_of_a_stray_cell_counts_lines_within_quotation_marks(tmp_path):
    rows = [f'{k}.5,"two\nlines",{"uv"[k % 2]}\n' for k in range(50)]
    rows[7] = rows[7].replace("7.5", "seven")
    path = tmp_path / "table.csv"
    path.write_text("x,note,label\n" + "".join(rows))
    assert any("('seven', line 16)" in note for note in read_table(path).notes)


def test_a_column_of_many_numbers_and_words_is_left_out_and_a_note_says_so(column):
    cells = numbers_with(*["low", "high", "A/5", "PC"] * 5)
    found = column(cells)
    assert found.table.names == ["other"]
    note = next(note for note in found.notes if note.startswith("Column 'x'"))
    assert "20 of 100 cells are not numbers ('low', line 12; 'high', line 13; 'A/5'" in note
    assert "left out (84 of its 100 values are different)" in note
    for wanted, kind in (("number", "numbers"), ("category", "categories")):
        assert f"types={{'x': '{wanted}'}}" in note
        assert column(cells, types={"x": wanted}).table.kind("x") == kind


def test_a_repeated_word_among_many_numbers_is_a_missing_value(column):
    table, _, _, notes = column(numbers_with(*["not given", "none"] * 15))
    assert np.isnan(table["x"]).sum() == 30
    assert (
        "Column 'x': 15 cells are not numbers ('not given', line 12); treated as missing. To read "
        "the column as categories, give types={'x': 'category'}." in notes
    )


def test_codes_with_a_word_among_them_are_categories(column):
    table, _, _, notes = column(["0", "1", "2", "3+"] * 10 + ["0", "1"] * 80)
    assert table.kind("x") == "categories"
    assert set(table["x"]) == {"0", "1", "2", "3+"}
    assert any("10 of 200 cells are not numbers ('3+'" in note for note in notes)


def test_a_frequent_word_for_missing_values_is_a_category_and_a_rare_one_is_not(column):
    cells = ["none", "brick", "brick", "stone"] * 100
    cells[1], cells[5] = "Unknown", "NA"
    table, _, _, notes = column(cells)
    assert set(table["x"]) == {"none", "brick", "stone", None}
    assert [table["x"][1], table["x"][5]] == [None, None]
    assert "Column 'x': 'none' (100 cells) is read as a category, not as a missing value." in notes
    assert "Column 'x': 2 cells are read as missing ('Unknown', line 3; 'NA', line 7)." in notes


def test_words_for_missing_values_can_be_labels(column):
    cells = ["+", "-"] * 20
    assert set(column(cells, label="x").y) == {"+", "-"}


def test_the_user_chooses_the_words_for_missing_values(column):
    table = column(numbers_with("-999", "none"), missing_values=["-999"]).table
    assert np.flatnonzero(np.isnan(table["x"])).tolist() == [10, 11]
    plain = column(numbers_with("-999"), missing_values=[" -999 "]).table
    assert np.flatnonzero(np.isnan(plain["x"])).tolist() == [10]
    words = column(["none", "brick"] * 50, missing_values=["brick"]).table["x"]
    assert set(words) == {"none", None}


# Numbers


@pytest.mark.parametrize(
    ("cells", "delimiter", "values"),
    [
        (["1 000", "12", "999"], ";", [1000, 12, 999]),
        (["1\u00a0000,5", "12", "2\u202f000"], ";", [1000.5, 12, 2000]),
        (["12,5", "1e3", "-0,5"], ";", [12.5, 1000, -0.5]),
        (["1,234.5", "12", "1,000,000"], ";", [1234.5, 12, 1e6]),
        (["1.234,5", "12", "1.000.000"], ";", [1234.5, 12, 1e6]),
        (["1'234.5", "12", "1'000"], ",", [1234.5, 12, 1000]),
        (['"1,234"', "12", '"2,000"'], ",", [1234, 12, 2000]),
        (['"1,25"', "12", '"2,5"'], ",", [1.25, 12, 2.5]),
        (["12 %", "7.5%", "0%"], ",", [12, 7.5, 0]),
        (["$5", "-$7.50", "$ 10"], ",", [5, -7.5, 10]),
        (["5 €", "7,50 €", "1.000 €"], ";", [5, 7.5, 1000]),
    ],
)
def test_numbers_are_read_in_the_form_of_their_column(column, cells, delimiter, values):
    table, _, _, notes = column(cells * 3, delimiter)
    assert table["x"].tolist() == values * 3
    assert any("is read as" in note for note in notes)


def test_points_are_between_thousands_if_other_columns_have_decimal_commas(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;b;label\n1.234;0,5;u\n2.000;1,5;v\n999;2,5;u\n")
    assert read_table(path).table["a"].tolist() == [1234, 2000, 999]
    path.write_text("a;b;label\n1.234;1;u\n2.000;2;v\n999;3;u\n")
    assert read_table(path).table["a"].tolist() == [1.234, 2, 999]


@pytest.mark.parametrize("types", [None, {"share": "number"}])
@pytest.mark.parametrize(
    ("shares", "values"),
    [
        (["0.232", "0.145", "-0.340"], [0.232, 0.145, -0.34]),
        (["1.232", "0.145", "12"], [1.232, 0.145, 12]),
        (["1.232", "2.145", "3.500"], [1.232, 2.145, 3.5]),
        (["1.232", "12", "1500"], [1.232, 12, 1500]),
        (["1.232", "12", "7.5"], [1.232, 12, 7.5]),
        (["1.232", "12", "999"], [1232, 12, 999]),
        (["1.234.567", "1.232", "2.145"], [1234567, 1232, 2145]),
    ],
)
def test_points_are_decimal_unless_the_column_shows_thousands(tmp_path, shares, values, types):
    path = tmp_path / "table.csv"
    rows = [f"2,5{k};{share};{'uv'[k % 2]}\n" for k, share in enumerate(shares * 4)]
    path.write_text("price;share;label\n" + "".join(rows))
    assert read_table(path, types=types).table["share"].tolist() == values * 4


def test_ambiguous_commas_do_not_decide_about_the_points_of_other_columns(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;b;label\n1.234;1,709;u\n2.000;2,015;v\n999;3,500;u\n")
    assert read_table(path).table["a"].tolist() == [1.234, 2, 999]


@pytest.mark.parametrize("delimiter", ["\t", "|", ";"])
@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,709", "734", "2,015"], [1709, 734, 2015]),
        (["$1,709", "$734", "-$2,015"], [1709, 734, -2015]),
        (["1,234,567", "1,709", "20000"], [1234567, 1709, 20000]),
        (["1,709", "2,015", "3,500"], [1.709, 2.015, 3.5]),
        (["1,709", "734", "2015"], [1.709, 734, 2015]),
        (["1,709", "734", "0,015"], [1.709, 734, 0.015]),
        (["1,709", "734", "2,5"], [1.709, 734, 2.5]),
    ],
)
def test_commas_are_between_thousands_if_the_column_shows_it(column, cells, values, delimiter):
    table, _, _, notes = column(cells * 3, delimiter)
    assert table["x"].tolist() == values * 3
    assert any(f"{cells[0]!r} is read as {values[0]}" in note for note in notes)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["20,000", "1,500"], [20000, 1500]),
        (["20000", "$1,000"], [20000, 1000]),
        (["$1,000.25", "7"], [1000.25, 7]),
    ],
)
def test_new_cells_are_read_as_in_training_if_the_currency_sign_is_missing(cells, values):
    formats = Formats(columns={"x": CellFormat(group=",", sign="$")})
    new = np.array(cells, dtype=object)
    assert read_trained("", "x", new, new, "numbers", formats).values.tolist() == values
    table = Columns({"x": new})
    assert read_strings(table, {"x": "numbers"}, formats, [])["x"].tolist() == values


def test_another_way_of_writing_numbers_is_tried_if_a_new_cell_needs_it():
    formats = Formats(columns={"x": CellFormat(group=",", sign="$")})
    new = np.array(["20,5", "7"], dtype=object)
    assert read_trained("", "x", new, new, "numbers", formats).values.tolist() == [20.5, 7]


def test_numbers_in_two_forms_are_not_mixed(column):
    assert column(["1,234.5", "1.234,5"] * 10).table.kind("x") == "categories"


FLOATS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(allow_nan=False).map("{:.25e}".format),
    st.integers(0, 2**62).map(lambda bits: repr(struct.unpack("d", struct.pack("Q", bits))[0])),
    st.floats(-2.3e-308, 2.3e-308).map("{:.17g}".format),
    st.from_regex(
        r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,9})([eE][+-]?[0-9]{1,3})?", fullmatch=True
    ),
    st.sampled_from(["inf", "-inf", "+Infinity", "INF", "nan", "-0", "+1", "1.", ".5", "1e400"]),
)


@given(st.lists(FLOATS, min_size=1, max_size=20))
def test_numbers_equal_those_of_python_to_the_bit(texts):
    assume(not are_codes(pa.array(texts)))
    wanted = np.array([float(text) for text in texts])
    for found in (
        infer(pa.array(texts), missing=()).values,
        numbers_of(pa.array(texts), PLAIN)[0],
    ):
        present = ~np.isnan(wanted)
        assert np.array_equal(np.isnan(found), ~present)
        assert found[present].tobytes() == wanted[present].tobytes()


@given(st.lists(FLOATS, min_size=2, max_size=20))
def test_numbers_of_a_file_equal_those_of_python_to_the_bit(tmp_path_factory, texts):
    assume(not are_codes(pa.array(texts)))
    path = tmp_path_factory.getbasetemp() / "numbers.csv"
    path.write_text("x,label\n" + "".join(f"{text},{k % 2}\n" for k, text in enumerate(texts)))
    found = read_table(path, header=True).table["x"]
    wanted = np.array([float(text) for text in texts])
    present = ~np.isnan(wanted)
    assert np.array_equal(np.isnan(found), ~present)
    assert found[present].tobytes() == wanted[present].tobytes()


# Dates


@pytest.mark.parametrize(
    ("cells", "values", "words"),
    [
        (["1970-01-02", "2024-02-29"], [1, 19782], "dates (year-month-day), read as days"),
        (["1970/1/2", "2024/2/29"], [1, 19782], "dates (year-month-day), read as days"),
        (["2.1.1970", "29.2.2024"], [1, 19782], "dates (day-month-year), read as days"),
        (["2.1.1970", "3.2.1970"], [1, 33], "dates (day-month-year), read as days"),
        (["02/01/1970", "29/02/2024"], [1, 19782], "dates (day-month-year), read as days"),
        (["01/02/1970", "02/29/2024"], [1, 19782], "dates (month-day-year), read as days"),
        (
            ["1970-01-01T00:01:00Z", "1970-01-01 01:00:30+01:00"],
            [60, 30],
            "dates (year-month-day), read as seconds",
        ),
        (["1970-01-01 00:01", "1970-01-02 00:00:00.5"], [60, 86400.5], "read as seconds"),
        (["31.12.1970 00:00", "31.12.1970 12:00"], [364 * 86400, 364.5 * 86400], "seconds"),
    ],
)
def test_dates_become_days_or_seconds_and_a_note_gives_the_origin(column, cells, values, words):
    table, _, _, notes = column(cells * 5)
    assert table["x"].tolist() == values * 5
    note = next(note for note in notes if note.startswith("Column 'x'"))
    assert words in note
    assert "since 1970-01-01" in note


def test_dates_of_an_ambiguous_order_are_categories(column):
    table, _, _, notes = column(["01/02/2024", "03/04/2024"] * 5)
    assert table.kind("x") == "categories"
    note = next(note for note in notes if "day-month-year or month-day-year" in note)
    assert "('01/02/2024', line 2), so the column is read as categories" in note
    assert "types={'x': 'date:day-first'} or types={'x': 'date:month-first'}" in note
    with pytest.raises(ValueError, match=r"the dates of column 'x' can be day-month-year or"):
        column(["01/02/2024", "03/04/2024"] * 5, types={"x": "date"})


def test_a_stray_cell_among_dates_is_a_missing_value(column):
    cells = [f"2024-01-{k % 28 + 1:02}" for k in range(40)]
    cells[3] = "2024-02-30"
    table, _, _, notes = column(cells)
    assert math.isnan(table["x"][3])
    assert "Column 'x': 1 cell is not a date ('2024-02-30', line 5); treated as missing." in notes


# Identifiers


def test_strings_that_identify_rows_are_left_out(column):
    cells = [f"user-{k}" for k in range(40)]
    table, _, _, notes = column(cells)
    assert table.names == ["other"]
    assert any("Left out the column 'x': 40 of its 40 values are different" in n for n in notes)
    assert "x" in column(cells, types={"x": "category"}).table.names
    assert "x" in column(cells[:10]).table.names


def test_numbers_and_documents_are_not_identifiers(column):
    assert "x" in column([str(k) for k in range(40)]).table.names
    documents = [f"the film number {k} was not so good" for k in range(40)]
    assert column(documents).table.kind("x") == "text"


def test_the_only_feature_is_never_an_identifier(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name,label\n" + "".join(f"Ada {k},{'uv'[k % 2]}\n" for k in range(40)))
    assert read_table(path).table.names == ["name"]


# Types given by the user


def test_the_user_overrules_the_type_of_a_column(column):
    cells = ["1", "2", "3", "4"] * 10
    assert column(cells, types={"x": "category"}).table["x"].tolist() == cells
    assert column(cells, types={"x": "text"}).table.kind("x") == "text"
    assert column(cells, types={"x": "drop"}).table.names == ["other"]
    assert column(["01", "02"] * 9, types={"x": "category"}).table["x"][0] == "01"
    words = numbers_with(*["low", "high", "A/5", "PC"] * 10)
    found = column(words, types={"x": "number"})
    assert np.isnan(found.table["x"]).sum() == 40
    assert any("40 cells are not numbers ('low', line 12; " in note for note in found.notes)
    dates = ["2024-01-31", "2024-02-01"] * 9
    assert column(dates, types={"x": "category"}).table["x"].tolist() == dates


def test_types_that_cannot_be_are_refused(column):
    with pytest.raises(ParameterError, match="'types' parameter must be one of number, number:dec"):
        column(["1", "2"], types={"x": "integer"})
    with pytest.raises(ValueError, match="There is no column 'z'"):
        column(["1", "2"], types={"z": "number"})
    with pytest.raises(ValueError, match="column 'x' was given the type 'number', but has no"):
        column(["u", "v"] * 9, types={"x": "number"})
    with pytest.raises(ValueError, match="column 'x' was given the type 'date', but has no dates"):
        column(["u", "v"] * 9, types={"x": "date"})


def test_frames_are_read_by_the_same_rules():
    frame = pd.DataFrame(
        {
            "pay": ["1,5", "2,5", "n/a", "4"] * 10,
            "kind": pd.Categorical(["none", "1"] * 20),
            "when": ["2024-01-31", None] * 20,
            "id": [f"user-{k}" for k in range(40)],
            "code": [-999.0, 1.0] * 20,
            "label": ["u", "v"] * 20,
        }
    )
    source = load(frame)
    assert source.table.kinds == {
        "pay": "numbers",
        "kind": "categories",
        "when": "numbers",
        "code": "numbers",
    }
    assert source.table["pay"][:2].tolist() == [1.5, 2.5]
    assert source.table["kind"][0] == "none"
    assert math.isnan(load(frame, missing_values=["-999"]).table["code"][0])
    assert load(frame, types={"id": "drop", "when": "category"}).table["when"][0] == "2024-01-31"
