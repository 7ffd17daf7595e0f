"""A few stray cells do not turn a column of numbers into categories."""

import numpy as np
import pytest

from separatrix.readers import load
from separatrix.readers.cells.cell_format import FORMATS
from separatrix.readers.tables import read_table


@pytest.fixture
def column(tmp_path):
    """Write one column of cells and a label to a file, and read it."""

    def column(cells, **options):
        path = tmp_path / "a.csv"
        rows = [f"{cell},{k},{'uv'[k % 2]}" for k, cell in enumerate(cells)]
        path.write_text("\n".join(["x,other,label", *rows]) + "\n")
        return read_table(path, **options)

    return column


@pytest.mark.parametrize("n", [10, 61, 99, 101])
@pytest.mark.parametrize("stray", ["two", "1O", "3+", "O1"])
def test_one_stray_cell_among_codes_is_a_missing_value(column, n, stray):
    cells = [str(k % 4) for k in range(n)]
    cells[5] = stray
    found = column(cells)
    assert found.table.kind("x") == "numbers"
    said = f"Column 'x': 1 cell is not a number ('{stray}', line 7); treated as missing."
    assert said in found.notes
    assert column(cells, types={"x": "category"}).table.kind("x") == "categories"


def test_a_repeated_word_among_codes_is_a_code_itself(column):
    found = column(["0", "1", "2", "3+"] * 10)
    assert found.table.kind("x") == "categories"
    assert any("give types={'x': 'number'}" in note for note in found.notes)


def test_one_cell_in_another_unit_is_a_missing_value(column):
    cells = [f"{k % 25} cm" for k in range(61)]
    cells[50] = "3 ft"
    found = column(cells)
    assert found.table.kind("x") == "numbers"
    assert any("1 cell is not a number in 'cm' ('3 ft', line 52)" in note for note in found.notes)


def test_many_cells_that_are_treated_as_missing_come_with_a_remedy(column):
    found = column([*map(str, range(40)), *["low", "high"] * 20])
    said = "treated as missing. To read the column as categories, give types={'x': 'category'}."
    assert any("40 cells are not numbers" in note and said in note for note in found.notes)
    wanted = column([*map(str, range(40)), *["low", "high"] * 20], types={"x": "number"})
    assert not any("'category'" in note for note in wanted.notes)


@pytest.mark.parametrize("types", [None, {"x": "number"}])
def test_new_rows_are_read_as_the_training_rows_if_a_cell_has_no_unit(tmp_path, types):
    lines = [f"{40 + k} kg,{'uv'[k % 2]}" for k in range(60)]
    lines[28] = "23,u"
    path = tmp_path / "units.csv"
    path.write_text("\n".join(["x,y", *lines]))
    trained = load(path, types=types)
    saved = FORMATS.unpack(FORMATS.pack(trained.table.formats), "formats")
    found = read_table(path, columns={"x": "numbers"}, formats=saved)
    assert np.array_equal(found.table["x"], trained.table["x"], equal_nan=True)
    note = "1 cell is not a number in 'kg' ('23', line 30); treated as missing"
    assert any(note in each for each in found.notes) == (types is None)
    given = read_table(path, columns={"x": "numbers"}, formats=saved, types={"x": "number"})
    assert given.table["x"][28] == 23
