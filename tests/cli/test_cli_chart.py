"""Every kind of chart is written to every format, and wrong arguments are refused in words."""

import re
import shlex
import subprocess
import sys
from functools import cache

import pytest
from PIL import Image

from separatrix import charts
from separatrix.cli.charts.kinds import KINDS
from separatrix.cli.writing import ANIMATIONS, PICTURES
from support.command import MAIL, call, facts

ALL = {each.__name__.replace("_", "-"): each for kinds in KINDS.values() for each in kinds}
# Functions that draw no chart of their own.
TOOLS = {"config", "save", "set_theme", "show_as_svg", "to_svg"}
# Arguments that need little work, for the kinds whose first example needs more.
QUICK = {
    "boundary-frames": "iris --epochs 3",
    "templates": "digits.sx",
    "contributions": "iris --row 3 --top 2",
    "confusion": "iris",
    "learning-curves": "iris --repeats 2",
}
ANIMATED = {"boundary-frames"}


@cache
def examples(kind):
    """The arguments of the commands in the help of a kind."""
    found = re.findall(rf"\[b\]separatrix chart {kind} (.*)\[/b\]", ALL[kind].__doc__)
    return [shlex.split(example) for example in found]


def quick(kind):
    """The arguments of a quick example, without the file."""
    words = shlex.split(QUICK[kind]) if kind in QUICK else examples(kind)[0]
    return [w for k, w in enumerate(words) if "--out" not in (w, words[k - 1])]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with models, a file of texts, and studies, for all examples."""
    folder = tmp_path_factory.mktemp("charts")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("SEPARATRIX_STORE", raising=False)
        (folder / "mail.tsv").write_text(MAIL)
        (folder / "new.tsv").write_text(MAIL)
        (folder / "new.csv").write_text(re.sub(r"(.*)\t(.*)", r'\1,"\2"', MAIL))
        call("fit", "iris", "--out", "iris.sx")
        call("fit", "mail.tsv", "--out", "mail.sx")
        call("fit", "digits", "--C", "0.001", "--tol", "0.1", "--out", "digits.sx")
        call("study", "iris", "--learning-rate", "0.1,60", "--epochs", "5,9", "--no-report")
        call(
            "study",
            "wine",
            "--batch-size",
            "50,all",
            "--epochs",
            "3",
            "--name",
            "sizes",
            "--no-report",
        )
        yield folder


@pytest.fixture
def here(work, monkeypatch):
    monkeypatch.chdir(work)
    monkeypatch.delenv("SEPARATRIX_STORE", raising=False)
    return work


def test_every_function_that_draws_has_a_kind():
    drawing = {name.replace("_", "-") for name in charts.__all__ if name not in TOOLS}
    assert drawing == set(ALL) - {"step"}  # a step is drawn by charts.graph


@pytest.mark.parametrize("kind", ALL)
def test_every_kind_writes_html_and_describes_its_picture(kind, here):
    words = ("--theme", "dark", "--title", "Own <title>")
    found = facts("chart", kind, *quick(kind), *words, "--out", "a.html")
    assert found["out"] == "a.html"
    assert len(found["description"]) > 20
    page = (here / "a.html").read_text(encoding="utf-8")
    assert "<title>Own &lt;title&gt;</title>" in page
    assert charts.config("dark")["background"] in page


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_every_kind_writes_png(kind, here):
    said = call("chart", kind, *quick(kind), "--out", "a.png").stdout
    assert said.endswith("Wrote a.png.\n")
    with Image.open(here / "a.png") as picture:
        assert min(picture.size) > 200
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_the_examples_in_the_help_of_every_kind_work(kind, here):
    assert examples(kind)
    (here / "example.html").unlink(missing_ok=True)
    for words in examples(kind):
        at = words.index("--out") + 1
        assert words[at].endswith(ANIMATIONS)
        call("chart", kind, *words[:at], "example.html", *words[at + 1 :])  # quicker than a PNG
        (here / "example.html").unlink()


@pytest.mark.parametrize("kind", ALL)
def test_only_animated_kinds_write_gif(kind, here):
    if kind in ANIMATED:
        call("chart", kind, *quick(kind), "--out", "a.gif")
        with Image.open(here / "a.gif") as picture:
            assert picture.n_frames == 3
    else:
        found = call("chart", kind, *quick(kind), "--out", "a.gif", code=2)
        assert ", ".join(PICTURES) in " ".join(found.stderr.split())
        assert ANIMATIONS[-1] not in found.stderr.split("Got")[0]


def test_the_help_lists_every_kind_with_one_sentence():
    shown = " ".join(call("chart", "--help").stdout.replace("│", " ").split())
    for kind, function in ALL.items():
        sentence = " ".join(function.__doc__.partition("\n\n")[0].split())
        assert sentence.endswith(".")
        assert f"{kind} {sentence}" in shown
    assert "chart Draw a chart" in " ".join(call("--help").stdout.split())


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["spy", "iris.sx"], 2, "This chart needs a source: the name of a data set"),
        (["roc", "iris.sx"], 2, "This chart needs rows for the model iris.sx."),
        (["roc", "iris", "wine"], 2, "This chart needs a model file (.sx) and a source"),
        (["rates", "iris.sx"], 2, "This chart needs the name of a stored study"),
        (["rates", "nosuch"], 1, "has no study 'nosuch'. Its studies: iris, sizes."),
        (["batches", "iris"], 1, "needs a study that varies --batch-size"),
        (["boundary", "iris", "--axes", "0"], 2, "--axes takes two features"),
        (["boundary", "iris", "--axes", "0,9"], 1, "must be from 0 to 3. Got 9."),
        (["weight-path", "iris", "--axes", "0,petals"], 1, "There is no feature 'petals'."),
        (["rates", "iris", "--axes", "l2"], 2, "--axes takes two names, such as"),
        (["perceptron-path", "iris"], 2, "setosa, versicolor, virginica. Choose one of them"),
        (["perceptron-path", "iris", "--class", "rose"], 2, "--class must be one of the classes"),
        (["templates", "iris.sx"], 1, "The features must be the pixels of images."),
        (["contributions", "iris", "--row", "151"], 2, "--row must be from 1 to 150"),
        (["losses", "--width", "9"], 2, "greater than or equal to 60"),
        (["confusion", "iris", "--width", "300"], 2, "No such option: --width"),
        (["losses", "iris"], 2, "unexpected extra argument"),
        (["pie", "iris"], 2, "No such command 'pie'"),
    ],
)
def test_wrong_arguments_are_refused_in_words(words, code, sentence, here):
    (here / "none.png").unlink(missing_ok=True)
    found = call("chart", *words, "--out", "none.png", code=code)
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", found.output).split())
    assert sentence in said
    assert not (here / "none.png").exists()


def test_a_model_without_probabilities_has_no_calibration_curve(here):
    call("fit", "iris", "--model", "svm", "--out", "svm.sx")
    found = call("chart", "calibration", "svm.sx", "iris", "--out", "a.png", code=1)
    assert "This LinearSVC has no probabilities." in found.stderr


def test_a_picture_does_not_overwrite_its_source(here):
    found = call("chart", "spy", "mail.tsv", "--out", "mail.tsv", code=2)
    assert "--out must end in one of" in found.stderr
    (here / "own.svg").symlink_to("mail.tsv")
    call("chart", "losses", "--out", "own.svg", code=2)
    assert (here / "mail.tsv").read_text() == MAIL


def test_a_saved_model_is_drawn_on_its_test_rows_only(here):
    told = facts("chart", "confusion", "iris.sx", "iris", "--out", "a.svg")["description"]
    assert told.startswith("Confusion matrix of 25 rows")
    whole = facts("chart", "confusion", "iris.sx", "iris", "--all", "--out", "a.svg")
    assert whole["description"].startswith("Confusion matrix of 150 rows")


def test_a_source_is_drawn_with_the_model_that_fit_would_train(here):
    of_model = facts("chart", "roc", "iris.sx", "iris", "--out", "a.svg")
    assert facts("chart", "roc", "iris", "--out", "b.svg")["description"] == of_model["description"]


def test_a_narrow_chart_is_narrow(here):
    for width, out in ((500, "wide.svg"), (150, "narrow.svg")):
        call("chart", "roc", "iris.sx", "iris", "--width", width, "--out", out)
    wide, narrow = (
        int(re.search(r'<svg[^>]* width="(\d+)', (here / name).read_text())[1])
        for name in ("wide.svg", "narrow.svg")
    )
    assert wide - narrow == 350


@pytest.mark.slow
def test_help_does_not_import_the_drawing_libraries_or_make_the_kinds():
    code = (
        "import sys\nfrom separatrix.cli.app import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "assert not {'altair', 'vl_convert', 'separatrix.cli.charts.kinds'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
