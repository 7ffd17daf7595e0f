"""Sentences about the values of columns, and dates in forms that people write."""

import numpy as np
import pytest

from separatrix.readers.cells.column_notes import describe_columns
from separatrix.readers.columns import Columns
from separatrix.readers.tables import read_table


@pytest.fixture
def read(tmp_path):
    def read(columns, **options):
        path = tmp_path / "table.csv"
        n = len(next(iter(columns.values())))
        named = columns | {"label": ["u", "v"] * (n // 2)}
        rows = [";".join(named), *(";".join(map(str, row)) for row in zip(*named.values()))]
        path.write_text("\n".join(rows) + "\n")
        return read_table(path, **options)

    return read


# Notes


def test_columns_with_one_value_are_named(read):
    notes = read({"a": ["5", ""] * 10, "b": ["x"] * 20, "c": ["1", "2"] * 10}).notes
    assert "Only one value: 'a', 'b'." in notes


def test_categories_with_many_different_values_are_named(read):
    towns = [f"town {k % 30}" for k in range(90)]
    found = read({"town": towns, "kind": ["s", "t", "u"] * 30})
    assert "Read as categories, with many different values: 'town' 30." in found.notes
    assert not any("many different" in n for n in read({"a": towns}, types={"a": "category"}).notes)


def test_numbers_that_may_identify_rows_are_named(read):
    ids = range(5, 45)
    accounts = [10**8 + (k * 7_919) % 10**6 for k in ids]
    found = read({"id": ids, "account": accounts, "year": [2000 + k % 9 for k in ids]})
    assert [note for note in found.notes if "identifies" in note] == [
        f"Column {name!r} {why}, and is read as numbers. If it identifies the rows, leave it out "
        f"with types={{{name!r}: 'drop'}}."
        for name, why in (
            ("id", "counts the rows"),
            ("account", "holds different whole numbers of 9 digits"),
        )
    ]
    assert not any("identifies" in note for note in read({"id": ids}, types={"id": "number"}).notes)


def test_values_that_are_not_finite_do_not_identify_rows():
    column = np.array([np.inf, np.nan, -np.inf, *range(30)])
    assert describe_columns(Columns({"x": column}), []) == []


def test_all_labels_that_differ_only_in_capital_letters_are_named(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,label\n" + "".join(f"{k},{w}\n" for k, w in enumerate("xXyYz")))
    assert (
        "The labels 'X' and 'x', 'Y' and 'y' differ only in capital letters; they are different "
        "classes."
    ) in read_table(path).notes


def test_the_error_for_missing_labels_says_how_many_there_are(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,label\n1,x\n2,\n3,y\n4,\n5,\n")
    with pytest.raises(ValueError, match=r"line 3: the label .* is missing, here and in 2 other"):
        read_table(path)


def test_full_stops_that_may_be_between_thousands_are_reported(read):
    found = read({"x": ["1.234", "12.345", "999"] * 20})
    note = next(note for note in found.notes if note.startswith("Column 'x'"))
    assert "'1.234' is read as 1.234" in note
    given = read({"x": ["1.234", "12.345", "999"] * 20}, types={"x": "number:decimal-comma"})
    assert given.table["x"][:3].tolist() == [1234, 12345, 999]
    plain = read({"x": ["1.234", "12.345", "1999"] * 20})
    assert not any(note.startswith("Column 'x'") for note in plain.notes)


def test_ordinal_numbers_are_not_numbers_with_units(read):
    found = read({"rank": ["1st", "2nd", "3rd"] * 20})
    assert found.table.kind("rank") == "categories"
    assert not any("unit" in note for note in found.notes)


# Dates


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["5 Jan 2020", "17 March 2021", "1 Sept 2020"], "day-month-year"),
        (["05-JAN-2020", "17-MAR-2021", "01-SEP-2020"], "day-month-year"),
        (["05-Jan-20", "17-Mar-21", "01-Sep-20"], "day-month-year"),
        (["5. January 2020", "17. March 2021", "1. September 2020"], "day-month-year"),
        (["January 5, 2020", "Mar 17, 2021", "Sep. 1, 2020"], "month-day-year"),
        (["1/5/20", "3/17/21", "9/1/20"], "month-day-year"),
        (["05.01.20", "17.03.21", "01.09.20"], "day-month-year"),
        (["2020-01-05", "17/3/2021", "1/9/2020"], "day-month-year"),
    ],
)
def test_dates_with_names_of_months_or_short_years_are_read(read, cells, order):
    found = read({"day": cells * 20})
    wanted = np.array(["2020-01-05", "2021-03-17", "2020-09-01"], "M8[D]").astype(float)
    assert found.table["day"][:3].tolist() == wanted.tolist()
    note = next(note for note in found.notes if note.startswith("Column 'day'"))
    assert order in note
    assert ("1969 to 2068" in note) == (cells[0][-3:] in ("/20", "-20", ".20"))


def test_a_month_of_a_year_is_its_first_day(read):
    days = read({"month": ["1970-01", "1970-02", "1971-01"] * 20}).table["month"]
    assert days[:3].tolist() == [0, 31, 365]


def test_words_with_numbers_are_not_dates(read):
    cells = [["5 Juno 2020", "town 12 2021", "1.2.10"][k % 3] for k in range(60)]
    assert read({"x": cells}).table.kind("x") == "categories"


def test_many_ambiguous_dates_are_left_out_until_the_user_gives_the_order(read):
    cells = [f"{k % 12 + 1}/{k % 11 + 1}/2021" for k in range(66)]
    found = read({"day": cells, "other": range(66)})
    assert found.table.names == ["other"]
    assert any("types={'day': 'date:day-first'}" in note for note in found.notes)
    given = read({"day": cells, "other": range(66)}, types={"day": "date:day-first"})
    assert given.table.kind("day") == "numbers"


def test_full_stops_before_three_digits_everywhere_are_reported(read):
    found = read({"x": [f"{k}.{k}00" for k in range(1, 10)] * 3})
    note = next(note for note in found.notes if note.startswith("Column 'x'"))
    assert note.startswith("Column 'x': '1.100' is read as 1.1; with the type number:decimal-comma")


@pytest.mark.parametrize("other", ["x", "#N/A"])
def test_leading_zeros_that_are_lost_are_reported(other, read):
    cells = ["12", "007", "130", *range(40), other]
    found = read({"code": cells})
    (note,) = (note for note in found.notes if "leading" in note)
    assert note == (
        "Column 'code': some numbers have leading zeros ('007', line 3), which are lost. If they "
        "are codes, give types={'code': 'category'}."
    )
    assert found.table["code"][:2].tolist() == [12, 7]
    given = read({"code": cells}, types={"code": "number"})
    assert not any("leading" in note for note in given.notes)


@pytest.mark.parametrize("quoted", [False, True])
def test_leading_zeros_are_found_wherever_they_first_occur(quoted, tmp_path):
    """Only the first rows decide how a column is read at first; the others are scanned."""
    rng = np.random.default_rng(0)
    n = 30_000
    lines = [f"{k % 7},{rng.integers(5, 5000)},{rng.random()}" for k in range(n)]
    lines[25_000] = f'"{25_000 % 7}","007",0.5' if quoted else f"{25_000 % 7},007,0.5"
    lines[26_000] = '"a, 05",9,0.5' if quoted else "06,9,0.5"
    path = tmp_path / "late.csv"
    path.write_text("label,code,x\n" + "\n".join(lines))
    (note,) = (note for note in read_table(path).notes if "Column 'code'" in note)
    assert note.startswith("Column 'code': some numbers have leading zeros ('007', line 25002)")


def test_the_example_of_codes_is_a_code(read):
    cells = ["01234-5678", *["01234", "90210", "10001"] * 20]
    found = read({"zip": cells, "x": [str(k) for k in range(61)]})
    (note,) = (note for note in found.notes if "leading zero" in note)
    assert "('01234', line 3)" in note


def test_times_in_seconds_are_not_suspected_to_be_identifiers(read):
    found = read({"when": [f"2024-01-{k:02d} 10:00" for k in range(1, 29)]})
    assert found.table["when"][0] == 1704103200
    assert not any("different whole numbers" in note for note in found.notes)


def test_a_telephone_number_is_not_negative(read):
    found = read({"phone": ["(555)1234510", "(555)1234511"] * 15, "x": ["(5)", "7"] * 15})
    assert found.table.kind("phone") == "categories"
    assert found.table["x"][:2].tolist() == [-5, 7]


def test_columns_that_only_look_like_numbers_are_refused_if_there_are_no_others(read):
    sizes = [f"{100 + k} cm" if k % 3 else f"1.{k} m" for k in range(60)]
    with pytest.raises(ValueError, match=r"has no features\. Column 'size': the numbers have diff"):
        read({"size": sizes})
    kept = read({"size": sizes}, types={"size": "category"})
    assert kept.table.kind("size") == "categories"
    assert read({"name": [f"n{k}" for k in range(60)]}).table.kind("name") == "categories"
    many = {f"size {k}": sizes for k in range(5)}
    with pytest.raises(ValueError, match=r"2 more columns cannot be read either\."):
        read(many)


def test_a_column_may_be_named_inf(read):
    found = read({"x": ["1", "2", "3"], "inf": ["1", "2", "4"]})
    assert found.table.names == ["x", "inf"]


# Spaces around cells


def test_cells_that_differ_only_in_the_spaces_around_them_are_counted(tmp_path):
    rows = [f"{'rst'[k % 3]},{k % 7},{'uv'[k % 2]}" for k in range(60)]
    rows[3], rows[6], rows[5] = "r ,3,v", " r,6,u", "t,5, v"
    path = tmp_path / "spaces.csv"
    path.write_text("\n".join(["x,other,label", *rows]))
    notes = read_table(path).notes
    removed = "Column 'x': removed the spaces around 2 cells, which makes them equal to others"
    assert f"{removed} ('r ', line 5)." in notes
    labels = "Removed the spaces around 1 label, which makes it equal to others (' v', line 7)."
    assert labels in notes
    path.write_text("\n".join(["x, other, label", *(row.replace(",", ", ") for row in rows[7:])]))
    assert not any("spaces" in note for note in read_table(path).notes)
