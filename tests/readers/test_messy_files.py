"""Messy CSV files are read as the clean table that they come from.

All files have the same 600 rows. The label depends on age, pay and job, so a model is as accurate
on a messy file as on the clean one if the columns were read as people mean them.
"""

import datetime

import numpy as np
import pandas as pd
import pytest

from separatrix import load_model, save
from separatrix.readers import load
from separatrix.workflow.fitting import fit_source
from separatrix.workflow.model_inputs import load_for_model
from separatrix.workflow.predicting import predict

N = 600


def clean_rows():
    """Return the columns of the clean table."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, N)
    pay = np.round(rng.uniform(800, 9000, N), 2)
    job = rng.choice(["clerk", "smith", "baker"], N)
    since = [
        datetime.date(2010, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 3000, N)
    ]
    score = (age - 48) / 18 + (pay - 4900) / 2400 + (job == "smith") + 0.3 * rng.standard_normal(N)
    label = np.where(score > 0.3, "high", "low")
    return {"age": age, "pay": pay, "job": job, "since": since, "label": label}


ROWS = clean_rows()


def cells():
    """Return the cells of the clean table, by column."""
    return {
        "age": [str(x) for x in ROWS["age"]],
        "pay": [f"{x:.2f}" for x in ROWS["pay"]],
        "job": list(ROWS["job"]),
        "since": [day.isoformat() for day in ROWS["since"]],
        "label": list(ROWS["label"]),
    }


def written(columns, delimiter=",", end=""):
    """Return the text of a file with these columns."""
    lines = [delimiter.join(columns), *(delimiter.join(row) for row in zip(*columns.values()))]
    return "".join(line + end + "\n" for line in lines).encode()


def german():
    """Semicolons, decimal commas, blanks between thousands, and umlauts in latin-1."""
    columns = cells()
    columns["pay"] = [f"{x:,.2f}".replace(",", " ").replace(".", ",") for x in ROWS["pay"]]
    columns["job"] = [word.replace("baker", "Bäcker") for word in columns["job"]]
    columns["since"] = [f"{day:%d.%m.%Y}" for day in ROWS["since"]]
    return written(columns, ";").decode().encode("latin-1")


def american():
    """Dates with the month first, dollars and commas between thousands."""
    columns = cells()
    columns["pay"] = [f'"${x:,.2f}"' for x in ROWS["pay"]]
    columns["since"] = [f"{day:%m/%d/%Y}" for day in ROWS["since"]]
    return written(columns)


def stray_cells():
    """Cells that are not numbers in columns of numbers."""
    columns = cells()
    for row, cell in ((5, "#VALUE!"), (50, "abc"), (77, "#REF!")):
        columns["age"][row] = cell
    columns["pay"][8] = "see note"
    return written(columns)


def identifiers():
    """A column with a different string in every row."""
    return written({"key": [f"K-{k:05}" for k in range(N)]} | cells())


def missing_words():
    """Many words for missing values, in any case."""
    columns = cells()
    words = ["NA", "n/a", "#N/A", "-", "None", "NULL", "nil", "?", "Missing", "UNKNOWN", "<NA>", ""]
    for k, word in enumerate(words):
        columns["age"][40 * k + 3] = word
        columns["job"][40 * k + 7] = f" {word} "
    return written(columns)


def quoted_newlines():
    """A column of documents with line ends, delimiters and quotation marks."""
    columns = cells()
    note = '"the staff, as of today,\nsaid ""fine"" in room {}"'
    columns = {"note": [note.format(k) for k in range(N)]} | columns
    return written(columns)


def latin_1():
    """Windows line ends and umlauts in the names of columns."""
    columns = cells()
    columns = {"tätig": columns.pop("job")} | columns
    return written(columns).decode().replace("\n", "\r\n").encode("latin-1")


def vertical_bars():
    """Vertical bars between fields, a byte order mark and times."""
    columns = cells()
    columns["since"] = [f"{day.isoformat()}T00:00:00Z" for day in ROWS["since"]]
    return b"\xef\xbb\xbf" + written(columns, "|")


def repeated_header():
    """Two files with the same header, joined, with blank lines between them."""
    lines = written(cells()).splitlines(keepends=True)
    return b"".join([*lines[:301], b"\n\n", lines[0], *lines[301:]])


def trailing_delimiter():
    """A delimiter at the end of every line."""
    return written(cells(), end=",")


def percentages():
    """Percentages, and apostrophes between thousands."""
    columns = cells()
    columns["age"] = [f"{x} %" for x in columns["age"]]
    columns["pay"] = [f"{x:,.2f}".replace(",", "'") for x in ROWS["pay"]]
    return written(columns)


PAY = f"is read as {ROWS['pay'][ROWS['pay'] >= 1000][0]:.15g}"
FILES = {
    german: [
        "was read as latin-1",
        PAY,
        "dates (day-month-year), read as days since 1970-01-01",
    ],
    american: [PAY, "dates (month-day-year)"],
    stray_cells: [
        "Column 'age': 3 cells are not numbers ('#VALUE!', line 7; 'abc', line 52; '#REF!', line "
        "79); treated as missing.",
        "Column 'pay': 1 cell is not a number ('see note', line 10); treated as missing.",
    ],
    identifiers: ["Left out the column 'key': 600 of its 600 values are different"],
    missing_words: [
        "Column 'age': 11 cells are read as missing ('NA', line 5; ",
        "24 values are missing: 'age' 12, 'job' 12.",
    ],
    quoted_newlines: ["Read as text (many words, few repeated values): 'note'"],
    latin_1: ["was read as latin-1", "dates (year-month-day)"],
    vertical_bars: ["dates (year-month-day), read as days since 1970-01-01"],
    repeated_header: ["Skipped 2 blank lines.", "Skipped 1 repetition of the header (line 304)."],
    trailing_delimiter: ["Left out column 6: it is empty, because lines end in a delimiter."],
    percentages: [f"Column 'age': '{ROWS['age'][0]} %' is read as {ROWS['age'][0]}.", PAY],
}


def accuracy(path):
    return fit_source(load(path)).facts["metrics"]["test"]["accuracy"]


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """The accuracy on the clean file."""
    path = tmp_path_factory.mktemp("clean") / "table.csv"
    path.write_bytes(written(cells()))
    return accuracy(path)


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_messy_file_is_read_as_the_clean_table(tmp_path, make, clean):
    path = tmp_path / "table.csv"
    path.write_bytes(make())
    source = load(path)
    assert len(source) == N
    assert source.y.tolist() == ROWS["label"].tolist()
    kinds = source.table.kinds
    assert [kinds["age"], kinds["pay"], kinds["since"]] == ["numbers"] * 3
    for name in ("age", "pay"):
        present = ~np.isnan(source.table[name])
        assert present.mean() > 0.97
        assert (source.table[name][present] == ROWS[name][present].astype(float)).all()
    days = [(day - datetime.date(1970, 1, 1)).days for day in ROWS["since"]]
    assert source.table["since"].tolist() == days
    for words in FILES[make]:
        assert any(words in note for note in source.notes), source.notes
    assert clean > 0.85
    assert accuracy(path) >= clean - 0.04


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_saved_model_reads_new_rows_as_the_training_rows(tmp_path, make):
    path = tmp_path / "table.csv"
    path.write_bytes(make())
    source = load(path)
    fitted = fit_source(source)
    save(fitted.bundle, tmp_path / "model.sx")
    bundle = load_model(tmp_path / "model.sx")
    assert bundle.preparation.formats == source.table.formats
    again = load_for_model(bundle, path)
    found = predict(bundle, again)
    wanted = bundle.estimator.predict(bundle.preparation.transform(source.table, []))
    assert found["predictions"] == wanted.tolist()


def test_a_few_new_rows_are_read_as_in_training(tmp_path):
    for name, make in (("a", german), ("b", stray_cells)):
        (tmp_path / f"{name}.csv").write_bytes(make())
    bundle = fit_source(load(tmp_path / "a.csv")).bundle
    new = tmp_path / "new.csv"
    new.write_text("age;pay;job;since\n30;1 234,50;smith;01.02.2015\nunknown;-;nil;02.03.2016\n")
    found = load_for_model(bundle, new)
    table = found.table
    decisions = [note for note in found.notes if note.startswith("Column")]
    assert all("read as missing" in note for note in decisions)
    assert table["pay"][0] == 1234.5
    assert table["since"].tolist() == [16467.0, 16862.0]
    assert [np.isnan(table["age"][1]), np.isnan(table["pay"][1])] == [True, True]
    assert table["job"].tolist() == ["smith", None]
    new.write_text("age;pay;job;since\n30;1,234.50;smith;01.02.2015\n")
    found = load_for_model(bundle, new)
    assert found.table["pay"].tolist() == [1234.5]
    said = "'1,234.50' is read as 1234.5; in training, numbers had a decimal comma."
    assert f"Column 'pay': {said}" in found.notes
    new.write_text("age;pay;job;since\n30;many;smith;01.02.2015\n")
    with pytest.raises(ValueError, match="line 2: column 'pay' must hold numbers, as in training"):
        load_for_model(bundle, new)
    new.write_text("age;pay;job;since\n30;5;smith;2015-02-01\n")
    assert load_for_model(bundle, new).table["since"].tolist() == [16467.0]
    new.write_text("age;pay;job;since\n30;5;smith;2/13/2015\n")
    with pytest.raises(ValueError, match=r"'since' must hold dates \(day-month-year\), as in"):
        load_for_model(bundle, new)
    new.write_text("age;pay;job;since\n30;1234.5;smith;01.02.2015\n30;many;smith;01.02.2015\n")
    with pytest.raises(ValueError, match=r"line 3: column 'pay' must hold numbers.* Got 'many'"):
        load_for_model(bundle, new)  # and not line 2, which is in another form
    bundle = fit_source(load(tmp_path / "b.csv")).bundle
    new.write_text("age,pay,job,since\nabc,5,smith,2015-02-01\n")
    found = load_for_model(bundle, new)
    assert np.isnan(found.table["age"][0])
    assert any("('abc', line 2); treated as missing" in note for note in found.notes)


def test_a_frame_of_strings_is_read_as_in_training(tmp_path):
    (tmp_path / "a.csv").write_bytes(german())
    bundle = fit_source(load(tmp_path / "a.csv")).bundle
    rows = {
        "age": ["30", "?"],
        "pay": ["1 234,50", "7"],
        "job": ["smith", "none"],
        "since": ["01.02.2015", "02.03.2016"],
    }
    numbers = pd.DataFrame(
        {"age": [30.0, None], "pay": [1234.5, 7], "job": ["smith", None], "since": [16467, 16862]}
    )
    notes = []
    X = bundle.transform(pd.DataFrame(rows), notes)
    assert (bundle.transform(numbers, []) == X).all()
    assert any("'job': filled 1 missing value" in note for note in notes)
    wanted = bundle.estimator.predict(X).tolist()
    assert predict(bundle, load_for_model(bundle, pd.DataFrame(rows)))["predictions"] == wanted


def test_a_model_file_without_formats_is_still_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(written(cells()))
    bundle = fit_source(load(tmp_path / "a.csv")).bundle
    state, arrays = bundle.preparation.to_state()
    del state["formats"]
    old = type(bundle.preparation).from_state(state, arrays)
    assert old.formats is None
    frame = pd.DataFrame({"age": [30], "pay": [5.0], "job": ["none"], "since": [16467]})
    assert old.transform(frame, []).shape == (1, 6)
