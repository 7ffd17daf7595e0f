"""CSV, TSV, Parquet and data frames are read as columns of the right kinds, or refused."""

import bz2
import csv
import datetime
import gzip
import io
import math
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from separatrix.features.preparation import Preparation
from separatrix.readers import load
from separatrix.readers.cells.missing_words import AMBIGUOUS_WORDS, is_missing_word
from separatrix.readers.columns import Columns, looks_like_text
from separatrix.readers.delimited.dialect import is_value
from separatrix.readers.tables import read_frame, read_parquet, read_table


@pytest.fixture
def read(tmp_path):
    """Write text or bytes to a file and read it as a table."""

    def read(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read


def rows_of(table):
    return [list(row) for row in zip(*(table[name] for name in table))]


# Detection


@pytest.mark.parametrize("delimiter", [",", "\t", ";", ", "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_detected(read, delimiter, end):
    lines = ["size", "colour", "label"], ["1.5", "red", "a"], ["-2e3", "blue", "b"]
    table, y, names, _ = read(end.join(delimiter.join(line) for line in lines) + end)
    assert names == ["size", "colour"]
    assert rows_of(table) == [[1.5, "red"], [-2000.0, "blue"]]
    assert y.tolist() == ["a", "b"]


def test_numbers_are_read_back_to_the_bit(read):
    numbers = np.random.default_rng(0).standard_normal(50) * 10.0 ** np.arange(-25, 25)
    content = "x,y\n" + "".join(f"{x!r},{i % 2}\n" for i, x in enumerate(numbers.tolist()))
    table, y, _, _ = read(content)
    assert (table["x"] == numbers).all()
    assert y.dtype == np.int64


@pytest.mark.parametrize(
    ("content", "has_header"),
    [
        ("age,job\n39,clerk\n", True),
        ("39,clerk\n50,smith\n", False),
        ("label\ttext\nham\tsee you\n", True),
        ("v1,v2\nham,p\nham,q\nspam,r\nham,s\n", True),
        ("ham,p\nham,q\nspam,r\nham,s\n", False),
        ("?,clerk\n3,smith\n", False),
        (",a,b\n0,1,x\n1,2,y\n", True),
        ("a,b\nc,d\n", False),
    ],
)
def test_a_header_is_detected_and_a_note_gives_the_reason(read, content, has_header):
    table, _, names, notes = read(content, label=False)
    first = content.split("\n")[0].replace("\t", ",").split(",")
    assert (names == [name or "column 1" for name in first]) == has_header
    assert len(table) == content.count("\n") - has_header
    sign = "The first line is the header" if has_header else "There is no header"
    assert any(note.startswith(sign) for note in notes)


def test_the_header_option_overrides_the_detection(read):
    content = "a,b\n1,2\n"
    assert read(content, header=False, label=False).table["column 1"].tolist() == ["a", "1"]
    assert read("1,2\n3,4\n", header=True, label=False).feature_names == ["1", "2"]


@pytest.mark.parametrize(
    ("content", "options", "label", "features"),
    [
        ("a,Class,b\n1,u,2\n", {}, ["u"], ["a", "b"]),
        ("a,b,c\n1,2,u\n", {}, ["u"], ["a", "b"]),
        ("a,b,c\nu,2,3\n", {"label": "a"}, ["u"], ["b", "c"]),
        ("a,b,c\n1,u,3\n", {"label": 1}, ["u"], ["a", "c"]),
        ("a,b,c\n1,u,3\n", {"label": -2}, ["u"], ["a", "c"]),
        ("a,b\n1,2.5\n", {}, [2.5], ["a"]),
        ("a,b\n1,2\n", {"label": False}, None, ["a", "b"]),
        ("a\n1\n", {}, None, ["a"]),
        ("k,text\nx,one two three four five\n", {}, ["x"], ["text"]),
    ],
)
def test_the_label_is_the_given_or_default_column_and_a_note_names_it(
    read, content, options, label, features
):
    _, y, names, notes = read(content, **options)
    assert names == features
    assert (None if y is None else y.tolist()) == label
    assert any("label" in note for note in notes) or options == {"label": False}


def test_missing_values_are_counted_by_column(read):
    content = "a,b,y\n1,?,0\n,x,1\nNA,NULL,0\n"
    table, _, _, notes = read(content)
    assert np.isnan(table["a"]).tolist() == [False, True, True]
    assert table["b"].tolist() == [None, "x", None]
    assert "4 values are missing: 'a' 2, 'b' 2." in notes


def test_words_for_missing_values_are_kept_in_documents(read):
    texts = [
        "one two three four five",
        "six seven eight nine",
        "null",
        "ten eleven twelve thirteen",
    ]
    table, y, _, _ = read("".join(f"{i % 2}\t{text}\n" for i, text in enumerate(texts)))
    assert table["column 2"].tolist() == texts
    assert y.tolist() == [0, 1, 0, 1]


def test_decimal_commas_are_numbers_where_a_comma_is_not_the_delimiter(read):
    assert read("a;b;y\n1,5;2;u\n2,5;3;v\n").table["a"].tolist() == [1.5, 2.5]
    assert read("1,5;2,5\n2,5;3,5\n").y.tolist() == [2.5, 3.5]
    assert read('a,y\n"1,500",u\n"2,500",v\n').table["a"].tolist() == [1500, 2500]
    assert read('a,y\n"1,5",u\n"2,500",v\n').table["a"].tolist() == [1.5, 2.5]


def test_python_notation_for_numbers_is_not_a_number(read):
    assert read("a,y\n1_000,u\n2,v\n", header=True).table["a"].tolist() == ["1_000", "2"]


def test_quoted_fields_may_contain_delimiters_newlines_and_quotes(read):
    table, _, _, _ = read('a,text,y\n1,"two, ""three""\nfour",u\n2,five,v\n', label="y")
    assert table["text"].tolist() == ['two, "three"\nfour', "five"]


def test_unbalanced_quotation_marks_are_ordinary_characters(read):
    table, _, _, notes = read('ham\t"hi" he said\nspam\twin "now\nham\tok\n', label=0)
    assert table["column 2"].tolist() == ['"hi" he said', 'win "now', "ok"]
    assert any("quotation marks" in note for note in notes)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_encodings_and_compressions_give_the_same_table(read, encoding, pack):
    table, _, _, notes = read(pack("prénom,y\nZoë,1\nJosé,0\n".encode(encoding)))
    assert table["prénom"].tolist() == ["Zoë", "José"]
    assert any("latin-1" in note for note in notes) == (encoding == "latin-1")


def test_blank_lines_are_skipped_and_counted_in_a_note(read):
    table, _, _, notes = read("a,y\n1,2\n\n  \n3,4\n\n")
    assert table["a"].tolist() == [1.0, 3.0]
    assert "Skipped 2 blank lines." in notes


def test_labels_that_all_end_in_a_full_stop_lose_it(read):
    assert read("a,y\n1,>50K.\n2,<=50K.\n").y.tolist() == [">50K", "<=50K"]
    assert read("a,y\n1,>50K.\n2,<=50K\n").y.tolist() == [">50K.", "<=50K"]


# Reading for a trained model


TRAINED = {"column 2": "categories", "column 3": "numbers"}


@pytest.mark.parametrize("content", ["u,1,2\nv,2,3\n", "1,2\n2,3\n"])
def test_labels_are_optional_in_a_file_to_predict(read, content):
    table, y, names, _ = read(content, columns=TRAINED)
    assert names == list(TRAINED)
    assert table["column 2"].tolist() == ["1", "2"]
    assert (y is not None) == (content[0] == "u")


def test_a_named_label_may_be_missing_from_a_file_to_predict(read):
    columns = {"a": "numbers", "b": "categories"}
    assert read("b,a\nx,1\n", columns=columns, label="c").y is None
    assert read("b,c,a\nx,u,1\n", columns=columns, label="c").y.tolist() == ["u"]


def test_columns_keep_the_kind_of_the_training_data(read):
    assert read("code,n\n01,5\n", columns={"code": "categories", "n": "numbers"}).table[
        "code"
    ].tolist() == ["01"]
    with pytest.raises(
        ValueError, match=r"line 3: column 'n' must hold numbers, .* Got 'many' instead"
    ):
        read("code,n\n01,5\n02,many\n", columns={"code": "categories", "n": "numbers"})


def test_a_single_line_is_not_a_header_for_a_trained_model(read):
    table, y, _, _ = read("see you later\n", columns={"column 2": "text"})
    assert table["column 2"].tolist() == ["see you later"]
    assert y is None


# Errors


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b,y\n", "looks like a header, and no rows"),
        ("a,b\n1,2\n1,2,3\n", "line 3: expected 2 fields .* Got 3"),
        ('a,b\n"x\ny",2\n3\n', "line 4: expected 2 fields .* Got 1"),
        ("a,a\n1,2\n", "2 columns have the name 'a'"),
        (b"a,b\n1,\x002\n", "line 2: found a NUL byte"),
        ("a,y\n1,\n", r"line 2: the label \(column 'y'\) is missing"),
        ("a,y\n1," + "long " * 60 + "\n2,b\n", "a value of 299 characters"),
        ("a,y\n1,1e300\n", "must be strings or numbers below"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], "is compressed and damaged"),
        (b"\xff\xfea", "is not valid UTF-16"),
        (
            'a,b\n1,"open\n2\n',
            "line 2: unexpected end of data. Is a closing quotation mark",
        ),
    ],
)
def test_errors_of_hostile_files_name_file_and_place(read, content, words):
    with pytest.raises(ValueError, match=words) as caught:
        read(content)
    assert "table.csv" in str(caught.value)


@pytest.mark.parametrize("label", ["z", 2, -3, True])
def test_an_unknown_label_is_refused(read, label):
    with pytest.raises(ValueError, match="label of"):
        read("a,b\n1,2\n", label=label)


def test_a_header_only_with_header_given_is_refused(read):
    with pytest.raises(ValueError, match="has a header but no rows"):
        read("1,2\n", header=True)


def test_huge_fields_are_read_and_the_limit_of_csv_is_restored(read):
    limit = csv.field_size_limit()
    table, _, _, _ = read('t,y\n"' + "word " * 100_000 + '",1\nshort,0\n')
    assert len(table["t"][0]) == 499_999
    assert csv.field_size_limit() == limit


@given(st.binary(max_size=200))
@example(b'"')
@example(b"\r,\n")
@example(b"\xef\xbb\xbf")
def test_any_bytes_give_a_table_or_an_error_that_names_the_file(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.csv"
        path.write_bytes(content)
        try:
            table = read_table(path, label=False).table
        except ValueError as error:
            told = str(path) in str(error)
        else:
            told = table.shape[0] > 0
    assert told


WORDS = st.text(st.characters(categories=["L", "Zs"]), max_size=8).map(str.strip)
WORDS = WORDS.map(lambda word: "x" if word.lower() in AMBIGUOUS_WORDS else word)
CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), WORDS, st.sampled_from(["?", "NA", "a\nb"])
)


@given(
    st.integers(1, 4).flatmap(
        lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=1, max_size=6)
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_a_written_table_is_read_back_unchanged(rows, delimiter):
    d = len(rows[0])
    names = [f"name {j}" for j in range(d)]
    lines = io.StringIO(newline="")
    writer = csv.writer(lines, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([names, *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(lines.getvalue().encode())
        table = read_table(path, label=False, header=True, delimiter=delimiter).table
    assert table.names == names
    for name, cells in zip(names, zip(*rows)):
        cells = [None if is_missing_word(str(cell)) else cell for cell in cells]
        if table.kind(name) == "numbers":
            wanted = [math.nan if c is None else float(c) for c in cells]
            assert np.array_equal(table[name], wanted, equal_nan=True)
        else:
            assert table[name].tolist() == [None if c is None else str(c) for c in cells]
            assert not all(is_value(str(c)) for c in cells if c is not None)


# Real files


@pytest.mark.slow
@pytest.mark.data("adult/adult-train.csv", "adult/adult-test.csv")
def test_adult_is_read_without_options(data_dir):
    train = read_table(data_dir / "adult/adult-train.csv")
    test = read_table(data_dir / "adult/adult-test.csv")
    assert train.table.shape == (32_561, 14)
    assert test.table.shape == (16_281, 14)
    assert list(train.table.kinds.values()).count("numbers") == 6
    assert train.table.kinds == test.table.kinds
    classes, counts = np.unique(train.y, return_counts=True)
    assert dict(zip(classes.tolist(), counts.tolist())) == {"<=50K": 24_720, ">50K": 7_841}
    assert np.unique(test.y).tolist() == ["<=50K", ">50K"]
    assert train.table["column 2"].tolist().count(None) == 1_836


@pytest.mark.data("text/sms.tsv")
def test_sms_messages_are_a_column_of_text(data_dir):
    table, y, _, _ = read_table(data_dir / "text/sms.tsv")
    assert table.kinds == {"column 2": "text"}
    assert len(y) == 5_574
    assert (y == "spam").sum() == 747


# Parquet and frames


FRAME = {
    "n": [1, 2, None],
    "flag": [True, False, True],
    "word": ["u", None, "v"],
    "label": ["a", "b", "a"],
}


def test_parquet_is_read_as_the_original_frame(tmp_path):
    frame = pd.DataFrame(FRAME)
    frame["code"] = pd.Categorical(["x", "y", None])
    frame.to_parquet(tmp_path / "a.parquet")
    table, y, names, notes = read_parquet(tmp_path / "a.parquet")
    assert names == ["n", "flag", "word", "code"]
    assert np.array_equal(table["n"], [1, 2, np.nan], equal_nan=True)
    assert table["flag"].tolist() == [1, 0, 1]
    assert table["word"].tolist() == ["u", None, "v"]
    assert table["code"].tolist() == ["x", "y", None]
    assert y.tolist() == ["a", "b", "a"]
    assert "The label is column 'label', chosen by its name." in notes


def test_parquet_with_lists_or_noise_is_refused_and_lists_can_be_dropped(tmp_path):
    frame = pd.DataFrame({"many": [[1], [2, 3]], "x": [1, 2], "y": [1, 2]})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        ValueError, match=r"a.parquet: Column 'many' must hold numbers, .* Got list"
    ):
        read_parquet(tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet", drop="many").table.names == ["x"]
    (tmp_path / "b.parquet").write_bytes(b"PAR1 this is not it PAR1")
    with pytest.raises(ValueError, match=r"b.parquet is not a readable Parquet file"):
        read_parquet(tmp_path / "b.parquet")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_of_any_library_become_the_same_columns(make):
    table = Columns.of_frame(make(FRAME))
    assert table.kinds == {
        "n": "numbers",
        "flag": "numbers",
        "word": "categories",
        "label": "categories",
    }
    assert table["word"].tolist() == ["u", None, "v"]
    assert read_frame(make(FRAME)).y.tolist() == ["a", "b", "a"]


def test_columns_of_other_types_and_lengths_are_refused():
    with pytest.raises(ValueError, match=r"Column 'a' must hold numbers, .* Got list"):
        Columns({"a": [[1], [2, 3]]})
    with pytest.raises(ValueError, match="same length"):
        Columns({"a": [1], "b": [1, 2]})
    with pytest.raises(ValueError, match="no column 'z'"):
        Columns({"a": [1]})["z"]


def test_names_are_not_text_and_sentences_are():
    assert not looks_like_text(np.array(["Ada Lovelace", "Alan Turing"], dtype=object))
    assert not looks_like_text(np.array(["a b c d e"] * 9, dtype=object))
    assert looks_like_text(np.array(["so it is a film", "that was not so good"], dtype=object))


@pytest.mark.parametrize("label", [None, 2, -1, 0])
def test_columns_without_a_header_get_the_names_of_the_model_by_position(tmp_path, label):
    rows = [["39", "clerk"], ["50", "smith"], ["38", "clerk"]]
    for row, y in zip(rows, "xyx"):
        row.insert(0 if label == 0 else 2, y)
    path = tmp_path / "new.csv"
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    columns = {"age": "numbers", "job": "categories"}
    parts = read_table(path, columns=columns, label=label)
    assert parts.table.kinds == columns
    assert parts.table["age"].tolist() == [39, 50, 38]
    assert parts.y.tolist() == ["x", "y", "x"]


def test_documents_without_a_header_get_the_column_name_of_the_model(tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("ham\tare we still on for lunch\nspam\twin a free phone now\n")
    parts = read_table(path, columns={"text": "text"})
    assert parts.table["text"].tolist() == ["are we still on for lunch", "win a free phone now"]
    assert parts.y.tolist() == ["ham", "spam"]


# The same table in every format


def in_all_formats(tmp_path, frame):
    """Return a frame as CSV, as Parquet, and in memory in three libraries."""
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    arrow = pa.Table.from_pandas(frame)
    return [tmp_path / "a.csv", tmp_path / "a.parquet", frame, pl.from_pandas(frame), arrow]


def test_dates_are_the_same_numbers_in_every_format(tmp_path):
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2024-01-31", "2024-02-01", None, "2024-01-31"]),
            "at": pd.to_datetime(
                ["2024-01-31 12:30", "2024-02-01 00:00", "2024-02-01 00:00", None]
            ),
            "born": pd.Series([datetime.date(1815, 12, 10), None] * 2, dtype=object),
            "label": ["u", "v", "u", "v"],
        }
    )
    for source in in_all_formats(tmp_path, frame):
        table = load(source).table
        assert set(table.kinds.values()) == {"numbers"}
        day = 19753.0
        assert np.array_equal(table["day"], [day, day + 1, np.nan, day], equal_nan=True)
        assert table["at"].tolist()[:2] == [day * 86400 + 45000, (day + 1) * 86400]
        assert np.array_equal(table["born"], [-56270.0, np.nan] * 2, equal_nan=True)


def test_booleans_are_the_same_labels_in_every_format(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [True, False, True, True]})
    for source in in_all_formats(tmp_path, frame):
        assert load(source).y.tolist() == ["True", "False", "True", "True"]


def test_booleans_match_a_model_trained_on_another_format(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "flag": [True, False]})
    for source in in_all_formats(tmp_path, frame):
        words = load(source, label=False, columns={"x": "numbers", "flag": "categories"})
        assert words.table["flag"].tolist() == ["True", "False"]
        numbers = load(source, label=False, columns={"x": "numbers", "flag": "numbers"})
        assert numbers.table["flag"].tolist() == [1, 0]


def test_columns_can_be_dropped_from_every_format(tmp_path):
    frame = pd.DataFrame({"id": [1, 2], "x": [1.0, 2.0], "y": ["u", "v"]})
    for source in in_all_formats(tmp_path, frame):
        loaded = load(source, drop="id")
        assert loaded.table.names == ["x"]
        assert "Dropped the column 'id'." in loaded.notes
        with pytest.raises(ValueError, match="There is no column 'no' to drop from"):
            load(source, drop=["no"])
        assert load(source, drop="no", columns={"x": "numbers"}).y.tolist() == ["u", "v"]


def test_columns_of_the_same_name_are_refused_in_every_frame():
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"])
    for frame in (twice, pa.table([[1], [2], [3]], names=["a", "a", "y"])):
        with pytest.raises(ValueError, match="2 columns have the name 'a'"):
            load(frame)
        with pytest.raises(ValueError, match="2 columns have the name 'a'"):
            Columns.of_frame(frame)


def test_copies_of_the_label_are_dropped_and_other_candidates_are_reported(read):
    rows = "".join(f"{'uv'[k % 2]},{'uv'[k % 2]},{k},{k}\n" for k in range(8))
    _, y, names, notes = read("target,label,y,x\n" + rows)
    assert y.tolist() == ["u", "v"] * 4
    assert names == ["y", "x"]
    assert "The label is column 'label', chosen by its name." in notes
    assert "Dropped 'target': same values as the label 'label'." in notes
    assert "Kept as features although named like a label: 'y'." in notes


def test_a_table_of_labels_only_is_refused(read):
    with pytest.raises(ValueError, match="only one column, 'y', which is the label"):
        read("y\n" + "u\nv\n" * 5, label="y")


@pytest.mark.slow
def test_very_many_columns_are_read_and_prepared(tmp_path):
    # Searching all names for each column would take minutes.
    d = 12_000
    path = tmp_path / "wide.csv"
    rows = [",".join([str((k + j) % 7) for j in range(d)] + ["uv"[k % 2]]) for k in range(4)]
    path.write_text(",".join([f"x{j}" for j in range(d)] + ["label"]) + "\n" + "\n".join(rows))
    table = load(path).table
    preparation = Preparation.fit(table)
    assert preparation.transform(table).shape == (4, d)
    again = load(path, columns=preparation.columns)
    assert again.table.names == table.names
    assert Columns.of_frame(pd.DataFrame({f"x{j}": [1.0] for j in range(d)})).shape == (1, d)
