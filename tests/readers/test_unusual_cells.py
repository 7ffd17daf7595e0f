"""Cells that can be read in several ways: every reading is printed, and can be overruled."""

import numpy as np
import pandas as pd
import pytest

from separatrix import load_model, save
from separatrix.readers import load
from separatrix.readers.tables import read_frame, read_table
from separatrix.workflow.fitting import fit_source
from separatrix.workflow.model_inputs import load_for_model


@pytest.fixture
def column(tmp_path):
    """Write one column of cells, a feature and a label to a file, and read it."""

    def column(cells, **options):
        path = tmp_path / "table.csv"
        rows = [f"{cell};{k % 7};{'uv'[k % 2]}" for k, cell in enumerate(cells)]
        path.write_text("\n".join(["x;other;label", *rows]) + "\n")
        return read_table(path, **options)

    return column


def notes_on(found, words):
    """Return the notes that contain these words."""
    return [note for note in found.notes if words in note]


# Decimal points and decimal commas in one column


def test_a_point_and_a_comma_are_both_decimal_signs_if_no_cell_is_ambiguous(column):
    cells = [f"{1500 + k}{'.,'[k % 2]}25" for k in range(60)]
    found = column(cells)
    assert found.table["x"].tolist() == [1500.25 + k for k in range(60)]
    assert notes_on(
        found,
        "some numbers have a decimal point ('1500.25', line 2) and others a decimal comma "
        "('1501,25', line 3); both are read as decimal signs",
    )
    for how, missing in (("number:decimal-point", 1), ("number:decimal-comma", 0)):
        values = column(cells, types={"x": how}).table["x"]
        assert np.isnan(values[missing::2]).all()
        assert not np.isnan(values[1 - missing :: 2]).any()


def test_an_ambiguous_number_among_mixed_decimal_signs_is_not_multiplied(column):
    cells = [f"{1500 + k}{'.,'[k % 2]}25" for k in range(60)]
    cells[7] = "1,500"
    found = column(cells)
    assert np.isnan(found.table["x"][7])
    assert notes_on(found, "1 cell is not a number ('1,500', line 9); treated as missing")


def test_mixed_forms_that_cannot_be_read_are_named_with_their_lines(column):
    cells = [f"1.{k:03},5" if k % 2 else f"1,{k:03}.5" for k in range(100, 160)]
    found = column(cells)
    assert found.table.names == ["other"]
    note = notes_on(found, "Column 'x'")[0]
    assert "a point ('1,100.5', line 2) and others a comma ('1.101,5', line 3)" in note
    assert "left out (60 of its 60 values are different)" in note
    assert "types={'x': 'number:decimal-point'}" in note
    assert not notes_on(found, "identifier")
    values = column(cells, types={"x": "number:decimal-comma"}).table["x"]
    assert values[1] == 1101.5
    assert np.isnan(values[0])


def test_the_user_overrules_what_a_comma_means(column):
    cells = ["1,500", "2,250", "12"] * 5
    assert column(cells).table["x"][0] == 1500
    assert column(cells, types={"x": "number:decimal-comma"}).table["x"][0] == 1.5
    cells = ["1.500", "2.250", "1200"] * 5
    assert column(cells).table["x"][0] == 1.5
    assert column(cells, types={"x": "number:decimal-comma"}).table["x"][0] == 1500


# Negative numbers


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["(110)", "20", "3.5"], [-110, 20, 3.5]),
        (["($1,200.50)", "$5", "$ (7)"], [-1200.5, 5, -7]),
        (["(5 %)", "3 %", "(2) %"], [-5, 3, -2]),
        (["\u22125", "3", "-4"], [-5, 3, -4]),
        (["\u22121 200,5", "3", "4"], [-1200.5, 3, 4]),
    ],
)
def test_accounting_negatives_and_minus_signs_are_negative_numbers(column, cells, values):
    found = column(cells * 3)
    assert found.table["x"].tolist() == values * 3
    assert notes_on(found, f"{cells[0]!r} is read as {values[0]}")


def test_parentheses_around_words_are_words(column):
    assert column(["(none)", "(a)", "3", "(4)"] * 9).table.kind("x") == "categories"


# Units


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (["136 cm", "140.5 cm", "90 cm"], [136, 140.5, 90], "cm"),
        (["12kg", "7kg", "1,5kg"], [12, 7, 1.5], "kg"),
        (["45 m2", "50 m2", "1 000 m2"], [45, 50, 1000], "m2"),
        (["3 °C", "-4 °C", "(5 °C)"], [3, -4, -5], "°C"),
        (["30 km/h", "50 km/h", "7 km/h"], [30, 50, 7], "km/h"),
        (["USD 1,200", "USD 40", "-USD 7"], [1200, 40, -7], "USD"),
        (["40 EUR", "1.200,50 EUR", "7 EUR"], [40, 1200.5, 7], "EUR"),
    ],
)
def test_numbers_with_one_unit_are_numbers_and_the_unit_is_printed(column, cells, values, unit):
    found = column(cells * 3)
    assert found.table["x"].tolist() == values * 3
    assert notes_on(found, f"in {unit!r}")


def test_numbers_with_different_units_are_not_read_as_numbers(column):
    cells = [f"{150 + k % 40} cm" if k % 5 else f"1.{k % 9} m" for k in range(60)]
    found = column(cells)
    assert found.table.names == ["other"]
    note = notes_on(found, "different units ('cm' 48, 'm' 12)")[0]
    assert "left out (41 of its 60 values are different)" in note
    values = column(cells, types={"x": "number"}).table["x"]
    assert np.isnan(values).tolist() == [k % 5 == 0 for k in range(60)]
    assert column(["136 cm", "1.4 m"] * 20).table.kind("x") == "categories"
    few = column([f"{100 + k} cm" for k in range(199)] + ["1.5 m"])
    assert np.flatnonzero(np.isnan(few.table["x"])).tolist() == [199]
    assert notes_on(few, "1 cell is not a number in 'cm' ('1.5 m', line 201)")
    percent = column(["0.5", "50 %"] * 20)
    assert percent.table.kind("x") == "categories"
    assert notes_on(percent, "different units (none 20, '%' 20)")
    values = column(["0.5", "50 %"] * 20, types={"x": "number"}).table["x"]
    assert not np.isnan(values).any()


def test_the_unit_may_be_left_out_if_the_user_says_that_the_column_is_a_number(column):
    cells = ["136 cm", "140", "150 cm"] * 9
    assert column(cells).table.kind("x") == "categories"
    assert column(cells, types={"x": "number"}).table["x"].tolist() == [136, 140, 150] * 9


def test_codes_with_letters_are_not_numbers_with_units(column):
    assert column(["A5", "A7", "A12"] * 9).table.kind("x") == "categories"
    assert column(["key 5", "key 7", "key 12"] * 9).table.kind("x") == "categories"
    assert column(["5x3", "6x3", "7x3"] * 9).table.kind("x") == "categories"
    found = column([f"{k:02}{'abcdef'[k % 6]}{k}" for k in range(40)])
    assert notes_on(found, "as in an identifier")


# Times of day and dates


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["07:35", "00:00", "23:59"], [27300, 0, 86340]),
        (["07:35:10", "7:35", "12:00:00.5"], [27310, 27300, 43200.5]),
        (["7:35 pm", "12:05 AM", "7 a.m."], [70500, 300, 25200]),
    ],
)
def test_times_of_day_are_seconds_since_midnight(column, cells, values):
    found = column(cells * 4)
    assert found.table["x"].tolist() == values * 4
    assert notes_on(found, "Column 'x': times of day (")
    assert notes_on(found, "read as seconds since midnight")
    assert column(cells * 4, types={"x": "category"}).table["x"][0] == cells[0]


def test_a_time_that_cannot_be_is_a_missing_value(column):
    found = column([f"{k % 24:02}:{k % 60:02}" for k in range(100)] + ["24:75"])
    assert notes_on(found, "1 cell is not a time of day ('24:75', line 102); treated as missing")


def test_the_user_gives_the_order_of_ambiguous_dates(column):
    cells = ["03/04/2024", "05/06/2024"] * 5
    day = column(cells, types={"x": "date:day-first"})
    month = column(cells, types={"x": "date:month-first"})
    assert day.table["x"][0] == (pd.Timestamp("2024-04-03") - pd.Timestamp(0)).days
    assert month.table["x"][0] == (pd.Timestamp("2024-03-04") - pd.Timestamp(0)).days
    assert notes_on(day, "dates (day-month-year), read as days since 1970-01-01 (the order that")


def test_a_note_says_why_an_order_of_dates_was_chosen(column):
    found = column(["03/04/2024", "29/06/2024"] * 5)
    assert notes_on(found, "dates (day-month-year), read as days since 1970-01-01 ('29/06/2024' s")
    found = column(["03.04.2024", "05.06.2024"] * 5)
    assert notes_on(found, "(with full stops the day comes first)")


def test_the_order_of_the_dates_in_a_time_column_is_printed_and_can_be_given(tmp_path):
    path = tmp_path / "table.csv"
    rows = [f"{k};{k % 12 + 1:02}/0{k % 5 + 1}/2024;{'uv'[k % 2]}" for k in range(60)]
    path.write_text("\n".join(["x;when;label", *rows]))
    with pytest.raises(ValueError, match=r"Give types={'when': 'date:day-first'} or"):
        load(path, time="when")
    found = load(path, time="when", types={"when": "date:day-first"})
    assert notes_on(found, "Column 'when': dates (day-month-year)")


# Codes with leading zeros


@pytest.mark.parametrize("first", [0, 300])
def test_digits_of_one_length_with_leading_zeros_are_codes(column, first):
    codes = ["90210", "10001", "60601"]
    cells = [codes[k % 3] for k in range(first)] + ["01234", *codes] * 30
    found = column(cells)
    assert set(found.table["x"]) == {"01234", *codes}
    note = notes_on(found, f"a leading zero ('01234', line {first + 2})")[0]
    assert "they are codes and not numbers" in note
    assert "types={'x': 'number'}" in note
    assert column(cells, types={"x": "number"}).table["x"][first] == 1234


def test_different_codes_are_left_out_and_the_reason_is_printed(column):
    found = column([f"{k:05}" for k in range(40)])
    assert found.table.names == ["other"]
    assert notes_on(found, "the column is left out (40 of its 40 values are different)")
    assert read_frame(pd.DataFrame({"x": ["01", "10"] * 9, "y": list("ab") * 9})).table["x"][0] == (
        "01"
    )


@pytest.mark.parametrize("cells", [["0", "10", "200"], ["0.5", "0.7", "1.5"], ["10", "20", "30"]])
def test_numbers_without_leading_zeros_of_codes_are_numbers(column, cells):
    assert column(cells * 9).table.kind("x") == "numbers"


# Models


def test_a_saved_model_reads_unusual_cells_as_in_training(tmp_path):
    path = tmp_path / "table.csv"
    rows = [
        f"{100 + k} cm;{k % 24:02}:30;({k});{k}{'.,'[k % 2]}5;{'01234' if k % 3 else '90210'};"
        f"{k % 12 + 1:02}/02/2024;{'uv'[k % 2]}"
        for k in range(60)
    ]
    path.write_text("\n".join(["size;at;loss;pay;zip;day;label", *rows]))
    source = load(path, types={"day": "date:month-first"})
    save(fit_source(source).bundle, tmp_path / "model.sx")
    bundle = load_model(tmp_path / "model.sx")
    again = load_for_model(bundle, path)
    assert again.table.kinds == source.table.kinds
    for name in source.table:
        assert again.table[name].tolist() == source.table[name].tolist()
    new = tmp_path / "new.csv"
    new.write_text("size;at;loss;pay;zip;day\n136;7:35;(5);1,5;01234;03/04/2024\n")
    table = load_for_model(bundle, new).table
    found = [table[name][0] for name in ("size", "at", "loss", "pay", "zip")]
    assert found == [136, 27300, -5, 1.5, "01234"]
    assert table["day"][0] == (pd.Timestamp("2024-03-04") - pd.Timestamp(0)).days
    new.write_text("size;at;loss;pay;zip;day\n1.36 m;7:35;(5);1,5;01234;03/04/2024\n")
    with pytest.raises(ValueError, match="column 'size' must hold numbers in 'cm', as in training"):
        load_for_model(bundle, new)


# Whole files


def test_a_missing_label_in_a_row_of_totals_is_named_with_its_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('x,note,label\n1,"two\nlines",u\n2,b,v\nTotal,,\n')
    with pytest.raises(ValueError, match=r"table.csv, line 5: the label \(column 'label'\) is mis"):
        read_table(path)


def test_a_title_above_the_header_is_named(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("Report 2024\n\nx,label\n" + "1,u\n2,v\n" * 9)
    with pytest.raises(ValueError, match=r"line 3: expected 1 field separated.*title, delete them"):
        read_table(path)


def test_classes_that_differ_only_in_capital_letters_are_reported(column, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,label\n" + "1,low\n2,High\n3,high\n" * 5)
    assert notes_on(read_table(path), "labels 'High' and 'high' differ only in capital letters")


def test_a_messy_german_file_is_read_as_numbers_and_dates(tmp_path):
    path = tmp_path / "table.csv"
    rows = [
        f"{k % 900 + 1}.{k % 900 + 100:03},50 €;{k % 100},5 %;{k % 28 + 1:02}.03.2021;"
        f"{k % 24:02}:15;{'ja' if k % 3 else 'nein'}\r\n"
        for k in range(2000)
    ]
    rows[1500] = rows[1500].replace(" €;", " €?;")
    rows.insert(700, "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + "".join(["Preis;Anteil;Tag;Zeit;Ziel\r\n", *rows]).encode())
    found = read_table(path)
    assert set(found.table.kinds.values()) == {"numbers"}
    assert found.table["Preis"][0] == 1100.5
    assert found.table["Zeit"][1] == 4500
    assert notes_on(found, "1 cell is not a number in '€' ('601.700,50 €?', line 1503)")
    assert found.y[0] == "nein"
