"""Notes and errors about files that are not what a command expects."""

import re

import numpy as np
import pytest

from support.command import call, facts

ROWS = ["1,2,p", "3,4,n"] * 10


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, *lines):
    with open(name, "w") as file:
        file.write("\n".join(lines) + "\n")
    return name


def error(*words):
    return " ".join(call(*words, code=1).stderr.split())


def test_the_columns_that_became_categories_are_named():
    rows = [f"{k},{'ab'[k % 2]},{'uvw'[k % 3]},{'np'[k % 2]}" for k in range(30)]
    found = facts("fit", write("a.csv", "x,job,zone,y", *rows))
    assert any("2 categorical (one-hot: 'job', 'zone')" in note for note in found["notes"])


def test_categories_that_differ_in_case_only_are_named():
    rows = [f"{k},{['True', 'TRUE', 'no'][k % 3]},{'np'[k % 2]}" for k in range(30)]
    found = facts("fit", write("a.csv", "x,flag,y", *rows))
    said = "Column 'flag': categories differ only in upper and lower case: 'TRUE', 'True'."
    assert said in found["notes"]


def test_equal_names_of_columns_come_with_a_remedy():
    found = error("fit", write("a.csv", "a,a,y", *ROWS), "--drop", "a")
    assert "2 columns have the name 'a'. Rename them, also to leave one out with --drop" in found


def test_the_first_line_of_a_file_for_excel_is_an_error_with_a_remedy():
    rows = [row.replace(",", ";") for row in ROWS]
    found = error("fit", write("a.csv", "sep=;", "a;b;y", *rows))
    assert "a.csv, line 1: this line, 'sep=;', tells Excel the delimiter" in found
    assert "give --delimiter ';'." in found


def test_a_single_column_is_explained_by_its_delimiter():
    found = error("fit", write("a.csv", "a,b,y", *ROWS), "--delimiter", "tab")
    assert "There is only one column: if its fields are separated by another character" in found
    assert "name it with --delimiter." in found


def write_images(folder):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for kind, light in (("cat", 0), ("dog", 100)):
        (folder / "pets" / kind).mkdir(parents=True)
        for k in range(12):
            pixels = (rng.integers(0, 100, (8, 6)) + light).astype(np.uint8)
            image.fromarray(pixels).save(folder / "pets" / kind / f"{k}.png")
    image.fromarray(np.full((12, 9, 3), 200, np.uint8)).save(folder / "big.png")


def test_a_model_of_images_predicts_one_image_and_refuses_other_files(folder):
    write_images(folder)
    call("fit", "pets", "--out", "m.sx", "-q")
    assert call("predict", "m.sx", "pets/cat/3.png").stdout == "file,prediction\n3.png,cat\n"
    said = "trained on 6 x 8 pixels, but big.png has 9 x 12. Give --size 6x8 to resize them."
    assert said in error("predict", "m.sx", "big.png")
    assert "big.png,dog" in call("predict", "m.sx", "big.png", "--size", "6x8").stdout
    for name in (write("readme.txt", "hello there"), write("a.csv", "a,b,y", *ROWS)):
        found = error("predict", "m.sx", name)
        assert f"trained on images of 6 x 8 pixels, and {name} is not an image." in found
        assert "row 1, column 1" not in found


def test_hints_name_options_in_the_terminal_and_in_json(tmp_path):
    path = tmp_path / "rare.csv"
    rows = [f"{k},{k % 7},{'abc'[2 if k < 3 else k % 2]}" for k in range(400)]
    path.write_text("\n".join(["Patient ID,x,y", *rows]))
    found = facts("fit", path)
    assert found["verdict"]["diagnoses"][0]["remedy"].startswith(
        "Give its samples more weight (--weight), collect more"
    )
    assert any("leave it out with --type 'Patient ID=drop'." in note for note in found["notes"])
    printed = call("fit", path).output
    assert "(--weight)" in printed
    assert "sample_weight" not in printed


def test_filled_values_of_all_parts_add_up_to_the_missing_ones(folder):
    rows = [f"{'' if k % 9 == 0 else k % 40},{k % 7},{'ab'[k % 3 == 0]}" for k in range(200)]
    notes = facts("fit", write("age.csv", "Age,x,y", *rows))["notes"]
    assert "23 values are missing: 'Age' 23." in notes
    filled = [re.findall(r"(\d+) missing|(\d+) in", note) for note in notes if "filled" in note]
    assert len(filled) == 1
    assert len(filled[0]) > 1
    assert sum(int(a or b) for a, b in filled[0]) == 23


@pytest.mark.parametrize("header", ["a,b,y", ",a,b"])
def test_a_header_without_the_columns_of_the_model_is_named_in_the_error(header):
    wide = [f"{k % 9},{k % 7},{k % 5},{k % 4},{'ab'[k % 3 == 0]}" for k in range(60)]
    call("fit", write("wide.csv", "p,q,r,s,y", *wide), "--out", "m.sx")
    found = error("predict", "m.sx", write("new.csv", header, *ROWS))
    named = ", ".join(map(repr, header.split(",")))
    assert f"new.csv, line 1: none of {named} is a column of the model" in found
    assert "column 1" not in found
