"""Documents and images are read from files and folders with their labels, or refused."""

import numpy as np
import pytest
from PIL import Image

from separatrix.readers.documents import read_class_files, read_class_folders, read_documents
from separatrix.readers.images import read_images


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


# Documents


def test_a_file_of_lines_has_no_labels(tmp_path):
    write(tmp_path, {"a.txt": "one, two\nthree\n"})
    table, y, names, _ = read_documents(tmp_path / "a.txt")
    assert table["text"].tolist() == ["one, two", "three"]
    assert table.kinds == {"text": "text"}
    assert y is None
    assert names == ["text"]


def test_lines_of_label_tab_text_are_read_as_a_table(tmp_path):
    write(tmp_path, {"a.txt": "ham\tsee you then, at eight\nspam\twin a phone right now\n"})
    table, y, _, _ = read_documents(tmp_path / "a.txt")
    assert y.tolist() == ["ham", "spam"]
    assert table["column 2"].tolist() == ["see you then, at eight", "win a phone right now"]


@pytest.mark.parametrize(
    ("names", "classes"), [(("r.pos", "r.neg"), ["pos", "neg"]), (("a.txt", "b.txt"), ["a", "b"])]
)
def test_class_names_are_the_parts_of_file_names_that_differ(tmp_path, names, classes):
    write(tmp_path, {names[0]: "x\n\ny\r\n", names[1]: "caf\xe9 \x85 au lait".encode("latin-1")})
    table, y, _, notes = read_class_files([tmp_path / name for name in names])
    assert table["text"].tolist() == ["x", "y", "café \x85 au lait"]
    assert y.tolist() == [classes[0], classes[0], classes[1]]
    assert f"{names[0]}: skipped 1 blank line." in notes
    assert any("latin-1" in note for note in notes)


def test_lines_to_predict_get_the_column_name_of_the_model(tmp_path):
    write(tmp_path, {"a.txt": "one\ntwo\n"})
    table, _, names, _ = read_documents(tmp_path / "a.txt", columns={"column 2": "text"})
    assert names == ["column 2"]
    assert table["column 2"].tolist() == ["one", "two"]


def test_folders_of_files_are_classes(tmp_path):
    write(tmp_path, {"ham/1": "see\nyou", "ham/2": "later", "spam/1": "win", "ham/.hidden": "?"})
    for read in read_class_folders, read_documents:
        table, y, _, _ = read(tmp_path)
        assert table["text"].tolist() == ["see\nyou", "later", "win"]
        assert y.tolist() == ["ham", "ham", "spam"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "is an empty folder"),
        ({"a/1": "x"}, "two or more folders"),
        ({"a/1": "x", "b/1": "y", "c": "z"}, "Got the file 'c' instead"),
        ({"a.txt": "x"}, "two or more files"),
        ({"a.txt": "x", "b.txt": ""}, r"b\.txt is empty"),
        ({"a.txt": "x", "b.txt": b"\0"}, "NUL"),
    ],
)
def test_folders_that_are_not_classes_of_documents_are_refused(tmp_path, files, words):
    with pytest.raises(ValueError, match=words):
        read_documents(write(tmp_path, files))


@pytest.mark.data("text/rt-polarity.pos", "text/rt-polarity.neg")
def test_reviews_are_one_latin_1_file_per_class(data_dir):
    files = [data_dir / f"text/rt-polarity.{name}" for name in ("pos", "neg")]
    table, y, _, notes = read_class_files(files)
    assert np.unique(y, return_counts=True)[1].tolist() == [5331, 5331]
    assert any("café" in text or "é" in text for text in table["text"])
    assert sum("latin-1" in note for note in notes) == 2


# Images


@pytest.fixture
def pictures(tmp_path):
    """Make a folder of random images from a dict of names to (mode, size)."""

    def make(images):
        rng = np.random.default_rng(0)
        for name, (mode, (w, h)) in images.items():
            shape = (h, w, 3) if mode == "RGB" else (h, w)
            (tmp_path / name).parent.mkdir(exist_ok=True)
            Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)).save(tmp_path / name)
        return tmp_path

    return make


def test_images_are_rows_of_pixels_in_reading_order(pictures):
    folder = pictures(
        {"a/1.png": ("L", (3, 2)), "b/1.png": ("L", (3, 2)), "b/2.PNG": ("L", (3, 2))}
    )
    X, y, names, _ = read_images(folder)
    assert X.dtype == np.uint8
    assert X.shape == (3, 6)
    assert y.tolist() == ["a", "b", "b"]
    assert (X[0] == np.asarray(Image.open(folder / "a/1.png")).ravel()).all()
    assert names[4] == "row 2, column 2"


def test_colour_is_kept_if_an_image_has_it_unless_given(pictures):
    folder = pictures({"a/1.png": ("L", (2, 2)), "b/1.png": ("RGB", (2, 2))})
    X, _, names, _ = read_images(folder)
    assert X.shape == (2, 12)
    assert names[:4] == [f"row 1, column 1, {c}" for c in ("red", "green", "blue")] + [
        "row 1, column 2, red"
    ]
    assert (X[0].reshape(4, 3) == X[0].reshape(4, 3)[:, :1]).all()
    assert read_images(folder, colour=False).table.shape == (2, 4)
    assert read_images(pictures({}) / "a", colour=True).table.shape == (1, 12)


def test_images_without_folders_have_no_labels(pictures):
    X, y, _, notes = read_images(pictures({"a/1.jpg": ("L", (8, 8))}) / "a")
    assert X.shape == (1, 64)
    assert y is None
    assert notes == ["Read greyscale images of 8 x 8 pixels, without labels."]


def test_unequal_sizes_are_refused_or_resized_on_request(pictures):
    folder = pictures({"a/1.png": ("L", (3, 2)), "b/1.png": ("L", (2, 2))})
    with pytest.raises(ValueError, match=r"has 3 x 2 pixels, but .* has 2 x 2. Give size=\(3, 2\)"):
        read_images(folder)
    X, _, _, notes = read_images(folder, size=(5, 4))
    assert X.shape == (2, 20)
    assert "5 x 4 pixels (resized)" in notes[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"not an image", r"b\.png is not a readable PNG or JPEG file"), (None, r"b\.png is damaged")],
)
def test_files_that_are_not_images_are_named_in_the_error(pictures, content, words):
    folder = pictures({"a/1.png": ("L", (9, 9)), "c/b.png": ("L", (9, 9))})
    whole = (folder / "c/b.png").read_bytes()
    (folder / "c/b.png").write_bytes(content or whole[: len(whole) - 40])
    with pytest.raises(ValueError, match=words):
        read_images(folder)


def test_other_files_and_other_pixels_are_refused(pictures):
    folder = pictures({"a/1.png": ("L", (2, 2)), "b/1.png": ("L", (2, 2))})
    deep = np.zeros((2, 2), dtype=np.uint16)
    Image.fromarray(deep).save(folder / "b/2.png")
    with pytest.raises(ValueError, match="8 bits per channel"):
        read_images(folder)
    (folder / "b/2.png").unlink()
    (folder / "b/notes.txt").write_text("x")
    with pytest.raises(ValueError, match=r"notes\.txt is not an image"):
        read_images(folder)
    with pytest.raises(ValueError, match="'size' must be"):
        read_images(folder / "a", size=(0, 3))
