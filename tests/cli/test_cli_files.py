"""Predictions for folders and single files, and other names of formats."""

import numpy as np
import pytest

from support.command import PEOPLE, call, facts


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder in which the commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def images(folder):
    """A folder of images per class, a folder of new ones, and a model."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for name, grey in (("dark", 60), ("light", 190)):
        (folder / "pets" / name).mkdir(parents=True)
        for k in range(20):
            pixels = rng.normal(grey, 10, (4, 4)).astype(np.uint8)
            image.fromarray(pixels).save(folder / "pets" / name / f"{k:02d}.png")
    (folder / "new").mkdir()
    for name, grey in (("moon", 200), ("night", 50)):
        image.fromarray(np.full((4, 4), grey, np.uint8)).save(folder / "new" / f"{name}.png")
    call("fit", "pets", "--out", "m.sx", "-q")


@pytest.fixture
def letters(folder):
    """A folder of documents per class, a folder of new ones, and a model."""
    for name, words in (("ham", "lunch at noon"), ("spam", "win a phone")):
        (folder / "mail" / name).mkdir(parents=True)
        for k in range(20):
            text = f"Dear reader,\n{words}, number {k}\nGoodbye\n"
            (folder / "mail" / name / f"{k:02d}.txt").write_text(text)
    (folder / "post").mkdir()
    (folder / "post" / "a.txt").write_text("Hello,\nwin, win\na phone\n")
    (folder / "post" / "b.eml").write_text("Hello,\nlunch, maybe\nat noon\n")
    call("fit", "mail", "--out", "m.sx", "-q")


def test_predictions_for_a_folder_of_images_name_the_files(images):
    printed = call("predict", "m.sx", "new").stdout
    assert printed == "file,prediction\nmoon.png,light\nnight.png,dark\n"
    values = facts("predict", "m.sx", "pets")["ids"]["values"]
    assert values[0] == "dark/00.png"
    assert values[-1] == "light/19.png"


def test_a_single_image_is_predicted(images, folder):
    assert call("predict", "m.sx", "new/moon.png").stdout == "file,prediction\nmoon.png,light\n"
    night = (folder / "new" / "night.png").read_bytes()
    assert facts("predict", "m.sx", "-", input=night)["predictions"] == ["dark"]
    assert "has no labels" in call("fit", "new/moon.png", code=1).stderr


def test_predictions_for_a_folder_of_documents_name_the_files(letters):
    printed = call("predict", "m.sx", "post").stdout
    assert printed == "file,prediction\na.txt,spam\nb.eml,ham\n"
    assert facts("predict", "m.sx", "mail")["ids"]["values"][20] == "spam/00.txt"


@pytest.mark.parametrize(("name", "label"), [("a.txt", "spam"), ("b.eml", "ham")])
def test_a_single_document_is_predicted(letters, name, label):
    assert call("predict", "m.sx", f"post/{name}").stdout == f"file,prediction\n{name},{label}\n"


def test_a_model_of_lines_predicts_every_line_of_a_file(folder):
    (folder / "a").mkdir()
    for name, words in (("ham", "lunch at noon"), ("spam", "win a phone")):
        (folder / "a" / f"{name}.txt").write_text(f"{words}\n" * 20)
    call("fit", "a", "--out", "m.sx", "-q")
    (folder / "new.txt").write_text("win a phone\nlunch\n")
    assert facts("predict", "m.sx", "new.txt")["predictions"] == ["spam", "ham"]


@pytest.mark.parametrize("name", ["csv", "tsv", "table"])
def test_csv_and_tsv_are_other_names_of_tables(folder, name):
    (folder / "people").write_text(PEOPLE)
    found = facts("fit", "people", "--format", name, "--weight", "age")
    assert found["source"]["features"] == 4
    assert "csv" in call("fit", "people", "--format", "excel", code=2).stderr


@pytest.mark.parametrize("name", ["people.csv", "people"])
def test_vertical_bars_are_detected_as_delimiters(folder, name):
    (folder / name).write_text(PEOPLE.replace(",", "|"))
    assert facts("fit", name)["source"]["features"] == 5
