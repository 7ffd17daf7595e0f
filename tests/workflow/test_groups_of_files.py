"""With files of validation and test rows, no group of rows is in two parts."""

import pytest

from separatrix import load


def write(path, patients, header="patient,x,y"):
    rows = [f"{patient},{k * k % 7},{'np'[k % 2]}" for k, patient in enumerate(patients)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "tr.csv", [f"p{k % 12}" for k in range(60)])
    return tmp_path


def read(folder, **files):
    return load(folder / "tr.csv", group="patient", **files)


def test_groups_that_are_in_two_files_are_refused_and_counted(folder):
    shared = write(folder / "va.csv", ["p3", "p3", "p7", "q1"])
    with pytest.raises(ValueError, match="in several parts") as caught:
        read(folder, validation=shared)
    assert (
        f"va.csv: 2 of its 3 groups (column 'patient') are also in {folder / 'tr.csv'} ('p3', "
        "'p7'), so rows of the same group would be in several parts." in str(caught.value)
    )
    other = write(folder / "te.csv", ["q1", "q2"])
    own = write(folder / "own.csv", ["q1", "q9"])
    with pytest.raises(ValueError, match=r"te.csv: 1 of its 2 groups \(.*\) is also in .*own.csv"):
        read(folder, validation=own, test=other)


def test_a_note_says_that_files_were_compared(folder):
    files = {name: write(folder / f"{name}.csv", [name, name]) for name in ("validation", "test")}
    checked = "No group of column 'patient' is in more than one file."
    assert checked in read(folder, **files).notes
    found = read(folder, validation=files["validation"])
    assert checked in found.notes
    assert any("every group of column 'patient' is in one part" in note for note in found.notes)


def test_a_note_says_where_groups_are_unknown(folder):
    unknown = write(folder / "te.csv", ["p1", "p2"], header="name,x,y")
    assert (
        "Groups were not checked in te.csv, where column 'patient' is missing or has missing "
        "values." in read(folder, test=unknown).notes
    )
