"""Lessons are read from Markdown, and their settings are those of the playground."""

import re
from itertools import product
from urllib.parse import parse_qsl

import pytest

from separatrix.lab.lessons import BUILT_IN, read_lessons
from separatrix.lab.play import Play
from separatrix.lab.settings import read_settings

OWN = {"loss": "loss", "rule": "rule", "rate": "learning_rate", "momentum": "momentum",
       "l1": "l1", "l2": "l2", "init": "init"}  # fmt: skip
TEXTS = ("loss", "rule", "init")
USUAL = {"count": "200", "noise": "0.2", "seed": "0", "gamma": "1", "loss": "logistic",
         "rule": "momentum", "rate": "0.1", "momentum": "0", "l1": "0", "l2": "0", "init": "zeros",
         "across": "learning_rate", "down": "momentum"}  # fmt: skip
CUBES = ["x", "y", "x²", "xy", "y²", "x³", "x²y", "xy²", "y³"]
STEP = "## One\n\nSettings: #data=moons\n\nQuestion: q?\n\nLook at: l\n\nAnswer: a\n\nmore\n"


def test_a_lesson_has_a_title_an_introduction_and_steps(tmp_path):
    (tmp_path / "b.md").write_text(f"# B\n\nintro\nduction\n\n{STEP}\n{STEP}")
    (tmp_path / "a.md").write_text(f"# A\n{STEP}")
    a, b = read_lessons(tmp_path)
    assert (a.name, a.title, a.introduction) == ("a", "A", ())
    assert b.introduction == ("intro duction",)
    assert [step.answer for step in b.steps] == ["a\nmore"] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no heading", "needs a title"),
        ("# T\n\n## One\n\nSettings: #a\n", "lacks 'Question:'"),
        (f"# T\n\n{STEP.replace('#data', 'data')}", "must begin with '#'"),
        ("# T\n\n## One\n\nwords first\n", "line 5: a paragraph of a step begins with"),
        (f"# T\n\n{STEP}\nAnswer: again", "two parts 'Answer:'"),
    ],
)
def test_a_wrong_lesson_is_refused_with_its_line(tmp_path, text, words):
    (tmp_path / "wrong.md").write_text(text)
    with pytest.raises(ValueError, match=re.escape(words)):
        read_lessons(tmp_path)


def test_a_folder_without_lessons_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no lessons"):
        read_lessons(tmp_path)
    with pytest.raises(ValueError, match="no folder"):
        read_lessons(tmp_path / "missing")


def test_the_settings_of_built_in_lessons_are_known_to_the_playground():
    script = (BUILT_IN.parent / "scripts" / "playground" / "settings.js").read_text()
    defaults = script[script.index("DEFAULTS = {") : script.index("};")]
    known = set(re.findall(r"(\w+):", defaults))
    for lesson in read_lessons():
        for step in lesson.steps:
            used = {name for name, _ in parse_qsl(step.settings[1:], keep_blank_values=True)}
            assert used <= known, (lesson.name, step.title, used - known)


def play_of(name, number, **changed):
    """Return the play that a step of a lesson sets up, cell by cell, as the playground does."""
    lesson = next(one for one in read_lessons() if one.name == name)
    given = USUAL | dict(parse_qsl(lesson.steps[number].settings[1:])) | changed
    if given["data"] == "drawn":
        points = [[float(v) for v in point.split(",")] for point in given["points"].split(";")]
        data = {"kind": "drawn", "points": points}
    else:
        count, noise = int(given["count"]), float(given["noise"])
        data = {"kind": given["data"], "count": count, "noise": noise}
    own = {
        server: given[page] if page in TEXTS else float(given[page]) for page, server in OWN.items()
    }
    cells = [{}]
    if given.get("grid") != "false":
        cells = [
            {axis: value if axis in TEXTS else float(value) for axis, value in zip(axes, pair)}
            for axes in [(given["down"], given["across"])]
            for pair in product(given["downValues"].split(","), given["acrossValues"].split(","))
        ]
    settings = {"data": data, "features": given["features"], "gamma": float(given["gamma"])}
    models = [own | cell for cell in cells]
    return Play(read_settings(settings | {"seed": int(given["seed"]), "models": models}, None))


def numbers(play, measure, epoch):
    return [float(play.measures(m, epoch)[measure][-1]) for m in range(len(play.places))]


def test_the_best_rate_and_the_diverging_one_are_those_of_the_lesson():
    play = play_of("1-learning-rate", 1)
    found = numbers(play, "objective", 20)
    assert found[1] == pytest.approx(found[2], rel=1e-4)
    assert min(found) == pytest.approx(found[1], rel=1e-4)
    kinds = [[one.kind for one in diagnoses] for _, diagnoses, _ in play.judge(20)]
    assert [name for name in kinds if "diverged" in name] == kinds[-1:]


def test_softmax_beats_one_against_the_rest_as_the_lesson_says():
    where = "2-perceptron-to-softmax", 4
    assert numbers(play_of(*where), "train_accuracy", 300) == pytest.approx([1.0, 0.8] * 2)
    assert numbers(play_of(*where, l2="0"), "train_accuracy", 500)[3] == 1.0


def test_the_penalties_of_the_lessons_do_what_the_answers_say():
    shrinking = play_of("3-penalties", 0)
    train, held = (numbers(shrinking, name, 500) for name in ("train_loss", "val_loss"))
    assert train == sorted(train)
    assert held.index(min(held)) == 2
    sparse = play_of("3-penalties", 1).weights(3, 300).W[:, 0, 0]
    assert (sparse != 0.0).tolist() == [name in ("x²", "y²") for name in CUBES]


def test_the_validation_loss_of_the_lesson_is_lowest_at_its_epoch():
    held = play_of("4-steps-and-stopping", 1).measures(0, 500)["val_loss"]
    assert held.argmin() == 18
    assert held[-1] > 1.5 * held[18]


def test_the_convex_loss_recovers_first_as_the_lesson_says():
    found = numbers(play_of("5-losses-and-outliers", 2), "train_accuracy", 5)
    assert [round(share, 2) for share in found[:2]] == [0.67, 0.97]
