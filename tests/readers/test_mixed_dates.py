"""Dates of which some have the day first and others the month are reported."""

import numpy as np
import pytest

from separatrix.readers.tables import read_table

DAY_FIRST = [f"{k}/03/2016" for k in range(13, 29)]


@pytest.fixture
def column(tmp_path):
    """Write a column of dates and a label to a file, and read it."""

    def column(cells, **options):
        path = tmp_path / "a.csv"
        rows = [f"{cell},{k % 3},{'uv'[k % 2]}" for k, cell in enumerate(cells)]
        path.write_text("\n".join(["when,other,label", *rows]) + "\n")
        return read_table(path, **options)

    return column


@pytest.mark.parametrize("types", [None, {"when": "date"}])
def test_a_date_in_the_other_order_is_called_so(column, types):
    found = column([*DAY_FIRST, "02/14/2016", "03/04/2016"], types=types)
    assert np.isnan(found.table["when"][16])
    words = " ".join(found.notes)
    assert (
        "Column 'when': dates (day-month-year), read as days since 1970-01-01 (most, such as "
        "'13/03/2016', are; '02/14/2016' is month-day-year; '03/04/2016', which could be either, "
        "is read in this order)." in words
    )
    assert (
        "Column 'when': 1 cell is not a date in the order day-month-year ('02/14/2016', line 18); "
        "treated as missing." in words
    )


def test_dates_in_one_order_are_described_as_before(column):
    found = column([*DAY_FIRST, "03/04/2016"])
    assert any("('13/03/2016' shows the order)" in note for note in found.notes)
