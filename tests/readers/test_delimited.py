"""CSV files are split as the csv module of Python splits them, whatever the size of the pieces."""

import csv
import io
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from separatrix.readers.cells.coded_cells import CodedCells
from separatrix.readers.delimited import fields, scanning
from separatrix.readers.delimited.fields import split_fields
from separatrix.readers.delimited.plain_csv import all_rows
from separatrix.readers.delimited.scanning import scan, without_blank_end
from separatrix.readers.tables import read_table


def bytes_of(text):
    return np.frombuffer(text.encode(), np.uint8)


def cells_of(column):
    """Return a column of strings without spaces around them, as a list."""
    return CodedCells.of(column).objects().tolist()


def split(text, **options):
    """Split a text without a header, and return the cells of its rows."""
    names = [f"column {k}" for k in range(1, 40)]
    found = split_fields(
        Path("a.csv"), bytes_of(text), header=False, delimiter=",", strings=names, **options
    )
    return [list(row) for row in zip(*map(cells_of, found.columns))]


def split_by_python(text):
    """Return the rows of the csv module, or None if it refuses the text."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True))
    except csv.Error:
        return None
    width = max(map(len, rows), default=0)
    rows = [row for row in rows if row and not (width > 1 and row in ([""], [" "]))]
    if not rows or len(set(map(len, rows))) > 1:
        return None
    return [[word.strip() or None for word in row] for row in rows]


TEXTS = st.lists(
    st.sampled_from(
        ["a", "b ", " ", '"', '""', ",", ",", "\n", "\r\n", "\r", '"x,y"', '"\n"', "é"]
    ),
    max_size=25,
).map("".join)


@given(TEXTS)
@example('"a"\n\n"b"')
@example('a,"b\n\nc"\n\n\nd,e')
@example(' "a",b')
@example('a"b,c\n')
@example('"a""b",c\n')
@example('""\n""')
@example("a,b\n \nc,d")
def test_texts_are_split_as_python_splits_them(text):
    wanted = split_by_python(text)
    try:
        found = split(text)
    except ValueError:
        found = None
    if wanted is not None:
        assert found == wanted


@given(TEXTS, st.integers(1, 5))
def test_a_scan_does_not_depend_on_the_size_of_its_pieces(text, size):
    content = bytes_of(text)
    whole = scan(content, ",")
    before, scanning._PIECE = scanning._PIECE, size
    try:
        assert scan(content, ",") == whole
    finally:
        scanning._PIECE = before


@given(TEXTS)
def test_a_regular_text_has_as_many_line_ends_as_rows_and_blank_lines(text):
    content = without_blank_end(bytes_of(text), spaces=True)
    found = scan(content, ",")
    rows = all_rows(content, ",")
    if len(content) and found.is_regular and rows is not None:
        assert found.line_ends + 1 == len(rows[0]) + rows[1]


@pytest.mark.parametrize("block", [40, 1000, 1 << 20])
def test_rows_longer_than_a_block_are_read(tmp_path, monkeypatch, block):
    monkeypatch.setattr(fields, "_BLOCK", block)
    path = tmp_path / "a.csv"
    rows = [f'{k},"{"word " * (k % 50)}\n{k}",{"uv"[k % 2]}\n' for k in range(300)]
    path.write_text("x,note,label\n" + "".join(rows))
    table, y, _, _ = read_table(path)
    assert table["x"].tolist() == list(range(300))
    assert table["note"][60] == ("word " * 10) + "\n60"
    assert y[:2].tolist() == ["u", "v"]


def test_a_column_that_is_not_as_its_beginning_is_read_again(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"{k}.5,{k},{k},{'uv'[k % 2]}\n" for k in range(1000)]
    rows[700] = "700.5,#REF!,#N/A,v\n"
    rows[900] = "many,-,9,u\n"
    path.write_text("a,b,c,label\n" + "".join(rows))
    table, _, _, notes = read_table(path)
    assert [np.isnan(table[name]).sum() for name in "abc"] == [1, 2, 1]
    assert table["b"][-1] == 999
    assert "Column 'a': 1 cell is not a number ('many', line 902); treated as missing." in notes
    assert "Column 'b': 1 cell is not a number ('#REF!', line 702); treated as missing." in notes


def test_an_uneven_row_far_from_the_beginning_is_named(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"{k},{'uv'[k % 2]}\n" for k in range(1000)]
    rows[700] = "700,u,3\n"
    path.write_text("a,label\n" + "".join(rows))
    with pytest.raises(ValueError, match=r"a.csv, line 702: expected 2 fields .* Got 3 instead"):
        read_table(path)


def test_spaces_before_quotation_marks_and_inches_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('size, name, label\n5, "a, b", u\n6, 7" nail, v\n')
    table = read_table(path).table
    assert table["name"].tolist() == ["a, b", '7" nail']
    assert table["size"].tolist() == [5, 6]


def test_a_repeated_header_is_left_out_and_lines_still_count(tmp_path):
    path = tmp_path / "a.csv"
    part = "x,kind,label\n" + "".join(f"{k},red,{'uv'[k % 2]}\n" for k in range(30))
    path.write_text(part + part.replace("\n20,", "\nmany,"))
    table, _, _, notes = read_table(path)
    assert len(table) == 60
    assert "Skipped 1 repetition of the header (line 32)." in notes
    assert any("('many', line 53)" in note for note in notes)


def test_a_delimiter_at_the_end_of_all_lines_but_the_header_is_ignored(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,kind,label\n1,red,u,\n2,blue,v,\n")
    _, y, names, notes = read_table(path)
    assert names == ["x", "kind"]
    assert y.tolist() == ["u", "v"]
    assert "Left out column 4: it is empty, because lines end in a delimiter." in notes
    path.write_text("x,kind,label\n1,red,u,\n2,blue,v,w\n")
    with pytest.raises(ValueError, match="line 2: expected 3 fields"):
        read_table(path)


# Leading zeros


@pytest.mark.parametrize("seed", range(40))
def test_columns_with_leading_zeros_are_found_in_pieces_of_every_size(seed, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(scanning, "_SMALL_PIECE", rng.choice([7, 16, 61]))
    delimiter, line_end = rng.choice(",;|\t"), rng.choice(["\n", "\r\n", "\r"])
    quotes = bool(seed % 2)
    cells = ["0", "00", "01", "0.5", "7", "x05", "-5", "10"]
    if quotes:
        cells += ["", f"x{delimiter * 20}05", "x\n05"]
    width = rng.randint(1, 5)
    rows = [rng.choices(cells, k=width) for _ in range(rng.randint(1, 20))]
    rows.insert(0, ["1"] * width)
    written = io.StringIO()
    style = csv.QUOTE_ALL if quotes else csv.QUOTE_NONE
    csv.writer(written, delimiter=delimiter, lineterminator=line_end, quoting=style).writerows(rows)
    content = np.frombuffer(written.getvalue().encode(), np.uint8)
    found = scanning.columns_with_leading_zeros(content, delimiter, quotes=quotes)
    exact = {k for row in rows for k, cell in enumerate(row) if re.match(r"0\d", cell)}
    loose = {k for row in rows for k, cell in enumerate(row) if re.search(r"(^|\W)0\d", cell)}
    assert exact <= found <= loose


@pytest.mark.parametrize(
    ("name", "delimiter", "said"),
    [
        ("a.csv", ";", ["The fields are separated by semicolons."]),
        ("a.csv", "|", ["The fields are separated by vertical bars (|)."]),
        ("a.csv", "\t", ["The fields are separated by tabs."]),
        ("a.tsv", ",", ["The fields are separated by commas."]),
        ("a.csv", ",", []),
        ("a.tsv", "\t", []),
    ],
)
def test_a_delimiter_that_the_name_of_the_file_does_not_show_is_printed(
    tmp_path, name, delimiter, said
):
    path = tmp_path / name
    path.write_text("x,y\n1,u\n2,v\n3,u\n".replace(",", delimiter))
    assert [note for note in read_table(path).notes if "separated" in note] == said
    given = read_table(path, delimiter=delimiter)
    assert not any("separated" in note for note in given.notes)
