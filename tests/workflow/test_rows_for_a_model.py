"""New rows are read in the same way as the training rows, with and without labels."""

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LogisticRegression, load, save
from separatrix.workflow.fitting import fit_source
from separatrix.workflow.model_inputs import load_for_model, open_model, reading_of
from support.command import call, facts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which the commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_table(path, *, header="age,job,income\n", labels=("low", "high"), n=40, end=""):
    """Write twenty rows per class, which differ in their age."""
    ages = [20 + k if k % 2 == 0 else 60 + k for k in range(n)]
    jobs = ["clerk", "smith", "baker"]
    rows = [f"{age},{jobs[k % 3]},{labels[k % 2]}{end}\n" for k, age in enumerate(ages)]
    path.write_text(header + "".join(rows))
    return [labels[k % 2] for k in range(n)]


def test_a_file_with_a_pipeline_is_refused_by_the_commands(folder):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit([[0.0], [1.0]], [0, 1])
    save(model, "m.sx")
    with pytest.raises(ValueError, match=r"m\.sx contains a Pipeline.*separatrix\.load_model"):
        open_model("m.sx")


# svmlight


def write_rows(path, rows, base=0):
    path.write_text(
        "".join(
            f"{y} " + " ".join(f"{j + base}:{x}" for j, x in enumerate(row) if x) + "\n"
            for y, row in rows
        )
    )


@pytest.mark.parametrize("base", [0, 1])
def test_the_first_index_of_an_svmlight_file_is_saved_with_the_model(folder, base):
    rng = np.random.default_rng(0)
    rows = [(k % 2, [1 + k % 3, *(rng.normal(size=3) + 3 * (k % 2)).round(3)]) for k in range(40)]
    write_rows(folder / "all.svm", rows, base)
    call("fit", "all.svm", "--out", "m.sx", "--quiet")
    without_first = [(y, [0, *row[1:]]) for y, row in rows]
    write_rows(folder / "new.svm", without_first, base)
    model = open_model("m.sx")
    X = np.array([row for _, row in without_first], float)
    assert facts("predict", "m.sx", "new.svm")["predictions"] == model.predict(X).tolist()
    assert np.array_equal(load_for_model(model, "new.svm").table.toarray(), X)


def test_the_first_index_can_be_given_as_an_option(folder):
    write_rows(folder / "one.svm", [(k % 2, [k, 1]) for k in range(20)], base=1)
    assert load("one.svm").table.shape == (20, 2)
    assert facts("fit", "one.svm", "--zero-based")["source"]["columns"] == 3
    assert facts("fit", "one.svm", "--one-based")["source"]["columns"] == 2


def test_labels_of_an_svmlight_file_can_be_left_out_or_unknown(folder):
    write_rows(folder / "a.svm", [(2 * (k % 2) - 1, [k % 2, 1]) for k in range(20)], base=1)
    call("fit", "a.svm", "--out", "m.sx", "--quiet")
    write_rows(folder / "new.svm", [(0, [1, 1]), (0, [0, 1])], base=1)
    found = facts("predict", "m.sx", "new.svm")
    assert found["predictions"] == [1, -1]
    assert "metrics" not in found
    assert found["notes"][-1] == (
        "There are no labels to compare with: 0.0 is not a class of the model."
    )
    assert facts("predict", "m.sx", "new.svm", "--label", "none")["predictions"] == [1, -1]
    assert "the first field of a line" in call("fit", "a.svm", "--label", "3", code=1).stderr


# Images


def write_images(folder, sizes, mode="L", ending="png"):
    for k, size in enumerate(sizes):
        for name, level in [("dark", 20), ("light", 220)]:
            (folder / name).mkdir(parents=True, exist_ok=True)
            grey = Image.new("L", size, level + k)
            grey.convert(mode).save(folder / name / f"{k}.{ending}")


def test_images_are_resized_for_a_model_of_resized_images(folder):
    write_images(folder / "any", [(8, 6), (4, 4), (9, 9)] * 4)
    call("fit", "any", "--size", "8x6", "--out", "m.sx", "--quiet")
    found = facts("predict", "m.sx", "any")
    assert found["predictions"] == ["dark"] * 12 + ["light"] * 12
    refused = call("predict", "m.sx", "any", "--size", "12x4", code=1).stderr
    assert "was trained on images of 8 x 6 pixels" in " ".join(refused.split())


def test_images_of_another_size_are_refused(folder):
    write_images(folder / "level", [(8, 6)] * 6)
    write_images(folder / "turned", [(12, 4)] * 6)  # as many pixels
    call("fit", "level", "--out", "m.sx", "--quiet")
    refused = " ".join(call("predict", "m.sx", "turned", code=1).stderr.split())
    assert "trained on 8 x 6 pixels" in refused
    assert "has 12 x 4" in refused
    resized = facts("predict", "m.sx", "turned", "--size", "8x6")
    assert resized["metrics"]["accuracy"] == 1


@pytest.mark.parametrize(("mode", "other"), [("L", "RGB"), ("RGB", "L")])
def test_new_images_are_converted_to_the_colours_of_the_model(folder, mode, other):
    write_images(folder / "old", [(4, 3)] * 6, mode)
    write_images(folder / "new", [(4, 3)] * 6, other)
    call("fit", "old", "--out", "m.sx", "--quiet")
    assert facts("predict", "m.sx", "new")["metrics"]["accuracy"] == 1


def test_images_can_be_read_in_colour_or_in_grey(folder):
    write_images(folder / "grey", [(4, 3)] * 6)
    write_images(folder / "colour", [(4, 3)] * 6, "RGB")
    assert facts("fit", "grey", "--colour")["source"]["columns"] == 36
    assert facts("fit", "colour", "--grey")["source"]["columns"] == 12


def test_idx_images_of_another_shape_are_refused(folder):
    def write(name, h, w):
        images = np.repeat(np.array([[10], [200]] * 10, np.uint8), h * w, axis=1)
        head = bytes([0, 0, 8, 3, 0, 0, 0, 20, 0, 0, 0, h, 0, 0, 0, w])
        (folder / f"{name}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        labels = bytes([0, 0, 8, 1, 0, 0, 0, 20]) + bytes([0, 1] * 10)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(labels)

    write("old", 6, 8)
    write("new", 4, 12)
    call("fit", "old-images-idx3-ubyte", "--out", "m.sx", "--quiet")
    refused = call("predict", "m.sx", "new-images-idx3-ubyte", code=1).stderr
    assert "must be the same as in training" in refused


# Labels that are missing, unknown or in another column


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        (("", ""), "missing"),
        (("?", "?"), "missing"),
        (("low", ""), "missing"),
        (("0", "1"), "0 is not a class"),
    ],
)
def test_predict_works_without_labels(folder, labels, word):
    truth = write_table(folder / "people.csv")
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    write_table(folder / "new.csv", labels=labels)
    found = facts("predict", "m.sx", "new.csv")
    assert found["predictions"] == truth
    assert "metrics" not in found
    note = next(n for n in found["notes"] if n.startswith("There are no labels to compare with"))
    assert word in note
    refused = call("evaluate", "m.sx", "new.csv", code=1).stderr
    assert ("line" in refused and "is missing" in refused) or "is not one of" in refused


def test_a_file_without_header_has_the_columns_of_the_training_data(folder):
    truth = write_table(folder / "people.csv")
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    write_table(folder / "bare.csv", header="")
    found = facts("predict", "m.sx", "bare.csv")
    assert found["predictions"] == truth
    assert found["metrics"]["accuracy"] == 1
    assert "The label is column 'income', as in training." in found["notes"]
    rows = [line.rpartition(",")[0] for line in (folder / "bare.csv").read_text().splitlines()]
    (folder / "unlabelled.csv").write_text("\n".join(rows) + "\n")
    assert facts("predict", "m.sx", "unlabelled.csv")["predictions"] == truth


def test_a_label_in_the_middle_is_found_in_files_without_header(folder):
    rows = "".join(f"{k},{'uv'[k % 2]},{k % 2}\n" for k in range(40))
    (folder / "a.csv").write_text("n,kind,flag\n" + rows)
    call("fit", "a.csv", "--label", "kind", "--out", "m.sx", "--quiet")
    (folder / "b.csv").write_text(rows)
    found = facts("predict", "m.sx", "b.csv")
    assert found["predictions"] == ["u", "v"] * 20
    assert found["metrics"]["accuracy"] == 1


def test_an_extra_column_is_neither_the_text_nor_the_label(folder):
    for name, text in [("bad", "a worst film"), ("good", "a great film")]:
        (folder / "films" / name).mkdir(parents=True)
        for k in range(12):
            (folder / "films" / name / f"{k}.txt").write_text(f"{text} {k}")
    call("fit", "films", "--out", "m.sx", "--quiet")
    (folder / "new.tsv").write_text("f1\ta great film\nf2\tthe worst film\n")
    found = facts("predict", "m.sx", "new.tsv")
    assert found["predictions"] == ["good", "bad"]
    assert "metrics" not in found
    assert "Ignored column unknown to the model: column 1." in found["notes"]


def test_a_column_whose_name_begins_with_column_is_not_the_label(folder):
    write_table(folder / "people.csv")
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    (folder / "new.csv").write_text("age,job,column width\n25,clerk,3\n70,smith,4\n")
    found = facts("predict", "m.sx", "new.csv")
    assert found["predictions"] == ["low", "high"]
    assert "Ignored column unknown to the model: column width." in found["notes"]


def test_every_line_of_a_text_file_has_a_prediction(folder):
    for name, text in [("bad", "a worst film"), ("good", "a great film")]:
        (folder / f"films.{name}").write_text("".join(f"{text} {k}\n" for k in range(12)))
    (folder / "films").mkdir()
    for name in ("bad", "good"):
        (folder / f"films.{name}").rename(folder / "films" / f"{name}.txt")
    call("fit", "films", "--out", "m.sx", "--quiet")
    (folder / "new.txt").write_text("a great film\n\nthe worst film\n\n")
    found = facts("predict", "m.sx", "new.txt")
    assert len(found["predictions"]) == 4
    assert [found["predictions"][k] for k in (0, 2)] == ["good", "bad"]
    assert "new.txt: read 2 blank lines as empty documents." in found["notes"]


# Reading options in a model file


@pytest.mark.parametrize(
    "reading",
    [
        None,
        {"zero_based": "yes"},
        {"size": [10**9, 1]},
        {"size": [2.5, 2]},
        {"path": "/etc/passwd"},
        {"layout": {"names": "abc", "label": None}},
        {"drop": [1]},
        {"delimiter": "long"},
    ],
)
def test_invalid_reading_options_of_a_model_file_are_dropped(reading):
    bundle = fit_source(load("iris")).bundle
    bundle.metrics["training"]["reading"] = reading
    assert reading_of(bundle) == {}


# The positive class


def test_precision_and_recall_are_measured_for_the_positive_class(folder):
    call("fit", "breast-cancer", "--C", "0.001", "--out", "m.sx", "--quiet")
    words = ["evaluate", "m.sx", "breast-cancer", "--all"]
    found = facts(*words, "--positive", "benign", "--precision", "0.99")
    other = facts(*words, "--positive", "malignant", "--precision", "0.99", "--out", "careful.sx")
    assert (found["positive"], other["positive"]) == ("benign", "malignant")
    source, careful = load("breast-cancer"), open_model("careful.sx")
    for facts_of, name, sign in [(found, "benign", -1), (other, "malignant", 1)]:
        classes = {entry["class"]: entry for entry in facts_of["threshold"]["metrics"]["classes"]}
        assert classes[name]["precision"] >= 0.99
        assert classes[name]["precision"] == facts_of["threshold"]["precision"]
        assert classes[name]["recall"] == facts_of["threshold"]["recall"]
        positive = source.y == name
        scores = sign * careful.decision_function(source)
        assert facts_of["ranking"]["average_precision"] == pytest.approx(
            average_precision_score(positive, scores)
        )
        point = facts_of["operating_points"][0]
        chosen = scores > sign * point["threshold"]
        assert point["recall"] == (chosen & positive).sum() / positive.sum()
    assert "benign if score <" in call(*words, "--positive", "benign").stdout
    refused = call(*words, "--positive", "neither", code=2).stderr
    assert "--positive must be one of the classes, benign, malignant" in refused
