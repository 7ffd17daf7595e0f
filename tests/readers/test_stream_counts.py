"""Files that are read in parts: what is counted, and what labels mean, is of the whole file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.readers.streams import text_chunks
from separatrix.workflow.converting import conversion

RNG = np.random.default_rng(0)
N = 600
ALL = (1.0, 0.0, 0.0)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every source in several chunks."""
    monkeypatch.setattr(conversion, "chunk_bytes", lambda memory: 3000)


def notes_of(path: Path, **options: Any) -> tuple[list[str], list[str]]:
    """Return the notes of a loaded source, and those of its conversion."""
    loaded = sx.load(path, **options).notes
    rows = sx.convert(path, path.parent / "blocks", split=ALL, **options)
    return loaded, rows.manifest.about["notes"]


def messy_frame() -> pd.DataFrame:
    """A table in which every 7th, 11th or 50th cell is special, also beyond its first part."""
    k = np.arange(N)
    score = np.round(RNG.normal(size=N), 3).astype(str)
    score[k % 11 == 3], score[k % 50 == 7] = "n/a", "error"
    code = RNG.integers(10, 999, N).astype(str)
    code[3] = "007"
    return pd.DataFrame(
        {
            "age": np.where(k % 7 == 2, np.nan, RNG.integers(18, 90, N)),
            "job": np.select([k % 20 == 1, k % 9 == 4], ["none", "NA"], "clerk"),
            "town": [f"town {j % 30}" for j in k],
            "score": score,
            "code": code,
            "nearly": np.where(k == N - 1, 2.0, 1.0),
            "same": 5.0,
            "label": np.where(k % 3, "yes", "no"),
        }
    )


def test_counts_are_of_the_whole_file(tmp_path: Path) -> None:
    messy_frame().to_csv(tmp_path / "a.csv", index=False)
    loaded, converted = notes_of(tmp_path / "a.csv")
    counts = [
        n for n in loaded if any(w in n for w in ("cells", "missing", "Only", "leading", "many"))
    ]
    assert len(counts) == 8
    assert [note for note in counts if note not in converted] == []
    assert len([note for note in converted if "Only one value" in note or "missing:" in note]) == 2
    assert converted[0].startswith("The first ")


def test_rows_of_parquet_files_are_counted_through(tmp_path: Path) -> None:
    messy_frame().to_parquet(tmp_path / "a.parquet", row_group_size=100)
    loaded, converted = notes_of(tmp_path / "a.parquet")
    remarks = [note for note in loaded if note.startswith("Column 'score'")]
    assert len(remarks) == 2
    assert all(note in converted for note in remarks)


LABELS = {
    "numbers, then a word": ["0", "1"] * 299 + ["x", "1"],
    "words, then numbers": ["a", "b"] * 150 + ["07", "8"] * 150,
    "full stops, but not everywhere": ["a.", "b."] * 299 + ["a", "b"],
    "full stops": ["a.", "b."] * 300,
    "fractions": ["0.5", "1.5"] * 299 + ["2", "1"],
    "numbers": ["0", "1"] * 299 + ["1.0", "1"],
    "capital letters": ["yes", "no"] * 299 + ["Yes", "no"],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_mean_the_same_as_in_a_loaded_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pd.DataFrame({"a": RNG.normal(size=N), "label": LABELS[name]}).to_csv(path, index=False)
    loaded, converted = notes_of(path)
    y = sx.load(path).y
    assert y is not None
    np.testing.assert_array_equal(sx.open(tmp_path / "blocks").y, y)
    ours = [note for note in converted if "abels " in note and "not in the first" not in note]
    assert ours == [note for note in loaded if "abels " in note]


def test_labels_that_occur_late_are_named_with_their_line(tmp_path: Path) -> None:
    labels = ["yes", "no"] * 300
    labels[500] = labels[550] = "yess"
    path = tmp_path / "a.csv"
    pd.DataFrame({"a": RNG.normal(size=N), "label": labels}).to_csv(path, index=False)
    _, converted = notes_of(path)
    (late,) = [note for note in converted if "not in the first" in note]
    assert late.endswith("rows: 'yess' (2 rows, first on line 502).")


def test_repeated_headers_of_later_parts_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{'uvw'[k % 3]},{'yes' if k % 2 else 'no'}" for k in range(2 * N)]
    path.write_text("\n".join(["kind,label", *rows[:1000], "kind,label", *rows[1000:]]) + "\n")
    loaded, converted = notes_of(path)
    note = "Skipped 1 repetition of the header (line 1002)."
    assert note in loaded
    assert note in converted


def test_quotation_marks_that_are_not_balanced_in_a_later_part_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    rows = [f'{k % 7},"u",{"yes" if k % 2 else "no"}' for k in range(N)]
    path.write_text("\n".join(["a,kind,label", *rows[:400], "1,u,no", '1,"u,no', *rows[400:]]))
    with pytest.raises(
        ValueError, match=r"after line .* quotation marks are balanced in some rows"
    ):
        sx.convert(path, tmp_path / "blocks")
    monkeypatch.setattr(text_chunks, "_LONGEST_ROW", 9000)
    monkeypatch.setattr(text_chunks, "_CHUNKS_OF_ROW", 1)
    path.write_text(
        "\n".join(
            [
                "a,label",
                *(f"{k},{'yes' if k % 2 else 'no'}" for k in range(400)),
                '"',
                *["1,no"] * 9000,
            ]
        )
    )
    with pytest.raises(
        ValueError, match=r"no row ends in .* bytes after line 4.*quotation mark missing"
    ):
        sx.convert(path, tmp_path / "more")
