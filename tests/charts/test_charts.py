"""The charts of studies show the stored numbers, and charts are saved as files."""

import io
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import load_iris

from separatrix import GradientDescentClassifier, Study, charts
from separatrix.charts.drawing.chart_data import thinned
from separatrix.charts.drawing.positions import spread
from separatrix.text import describe_configuration
from separatrix.training.recording.history import History
from support.charting import channels, drawn, of, rows_of

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """A study of learning rates, momenta and numbers of epochs, with some diverged runs."""
    grid = {"learning_rate": [0.1, 0.01, 60.0], "momentum": [0.0, 0.9], "epochs": [50, 120]}
    store = tmp_path_factory.mktemp("studies") / "study.db"
    study = Study("charts", GradientDescentClassifier(), grid, store=store)
    return study.run("iris", standardise=False).facts()


@pytest.fixture(scope="module")
def extreme(tmp_path_factory):
    """A study whose losses span many powers of ten, with some diverged runs."""
    grid = {"learning_rate": [1e-6, 0.1, 3.0, 60.0], "loss": ["squared_hinge", "logistic"]}
    store = tmp_path_factory.mktemp("studies") / "extreme.db"
    study = Study("extreme", GradientDescentClassifier(epochs=200), grid, store=store)
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    return study.run(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]).facts()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A study of 1,000 configurations."""
    grid = {
        "learning_rate": np.geomspace(1e-4, 1.0, 100).tolist(),
        "momentum": [0.0, 0.5, 0.8, 0.9, 0.95],
        "l2": [0.0, 0.1],
    }
    store = tmp_path_factory.mktemp("studies") / "many.db"
    study = Study("many", GradientDescentClassifier(epochs=100), grid, store=store)
    return study.run("iris", standardise=False).facts()


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# Training curves


@pytest.mark.slow
# Every pair of option values occurs.
@pytest.mark.parametrize(
    ("measured", "layout", "log"),
    [
        ("loss", "multiples", False),
        ("loss", "overlaid", True),
        ("accuracy", "multiples", True),
        ("accuracy", "overlaid", False),
        ("objective", "multiples", True),
        ("objective", "overlaid", False),
        ("gradient norm", "multiples", False),
        ("gradient norm", "overlaid", True),
    ],
)
def test_curves_are_drawn(facts, layout, measured, log, tmp_path):
    chart = charts.curves(facts, measured, layout=layout, log_x=log, log_y=log)
    drawn(chart, tmp_path)
    for axis in ("x", "y"):
        types = {channel["scale"]["type"] for channel in channels(chart, axis)}
        assert types == {"log" if log else "linear"}


def test_curves_show_the_histories(facts):
    chart = charts.curves(facts, "accuracy", layout="multiples")
    row = next(row for row in facts.rows if row.parameters["epochs"] == 120 and not row.diverged)
    history = facts.histories[row.number][0]
    lines = of(chart, layer="line", part="validation", run=f"{row.number} 0")
    assert lines[0]["epoch"] == list(range(1, 121))
    np.testing.assert_allclose(lines[0]["value"], history["val_accuracy"], rtol=1e-5)


def test_runs_that_differ_only_in_their_epochs_are_one_line(facts):
    lines = of(charts.curves(facts, layout="overlaid"), layer="line", part="training")
    assert len(lines) == len(facts.rows) // 2
    told = "12 configurations: those that differ only in their epochs are one run."
    chart = charts.curves(facts, layout="overlaid").to_dict()
    assert len(facts.rows) == 12
    assert told in " ".join(chart["title"]["subtitle"])
    assert f"of 6 runs by epoch. {told}" in chart["description"]


def test_the_best_epoch_is_marked(facts):
    best = next(row for row in facts.rows if row.mark == "best")
    (ring,) = of(charts.curves(facts, layout="overlaid"), layer="ring", part="validation")
    assert ring["epoch"] == [best.best_epoch]
    assert ring["value"][0] == pytest.approx(best.best["val_loss"], rel=1e-5)
    panels = charts.curves(facts, layout="multiples")
    rings = of(
        panels,
        layer="ring",
        part="validation",
        panel=f"● learning rate 0.1, momentum 0.9\nbest run, best epoch {best.best_epoch}",
    )
    assert [ring["epoch"] for ring in rings] == [[best.best_epoch]]


def test_diverged_runs_are_red_and_counted_in_the_subtitle(facts):
    chart = charts.curves(facts, layout="overlaid")
    gone = {row["words"] for row in of(chart, layer="line", colour="diverged")}
    diverged = [row for row in facts.rows if row.diverged]
    assert gone == {"learning rate 60, momentum 0", "learning rate 60, momentum 0.9"}
    assert len(diverged) == 4
    assert "2 of 6 runs diverged" in " ".join(chart.to_dict()["title"]["subtitle"])
    assert chart.to_dict()["description"].endswith("2 runs diverged.")
    headings = {row["panel"] for row in rows_of(charts.curves(facts, layout="multiples"))}
    assert sum("diverged at epoch" in heading for heading in headings) == 2


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["multiples", "overlaid"])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("measured", ["loss", "accuracy"])
def test_lines_and_marks_are_inside_the_axes(extreme, measured, log, layout):
    chart = charts.curves(extreme, measured, layout=layout, log_x=log, log_y=log)
    low, high = channels(chart, "y")[0]["scale"]["domain"]
    low, high = low * (1.0 - 1e-5), high * (1.0 + 1e-5)  # values are written with six digits
    crosses = of(chart, layer="cross")
    assert crosses
    for row in [*crosses, *of(chart, layer="ring"), *of(chart, layer="label")]:
        assert low <= row["value"][0] <= high
    inside = [row for row in of(chart, layer="line") if row["colour"] != "diverged"]
    if measured == "loss":  # runs with very large losses may leave the chart
        (best,) = (row for row in extreme.rows if row.mark == "best")
        inside = [row for row in inside if row["run"].split()[0] == str(best.number)]
    assert inside
    for row in inside:
        assert low <= min(row["value"])
        assert max(row["value"]) <= high


def test_single_epochs_far_below_all_others_do_not_compress_a_logarithmic_axis(iris):
    history = GradientDescentClassifier(learning_rate=0.1, epochs=30).fit(*iris).history_
    dip = History({**history, "train_loss": np.where(np.arange(30) == 20, 1e-12, 0.5)})
    chart = charts.curves({"dip": dip, "smooth": history}, log_y=True, layout="overlaid")
    low, high = channels(chart, "y")[0]["scale"]["domain"]
    assert 1e-6 < low <= history["train_loss"].min() <= high


def test_one_run_with_a_large_loss_does_not_compress_the_others(iris):
    X, y = iris
    model = GradientDescentClassifier(learning_rate=0.1, epochs=30).fit(X, y)
    history = model.history_
    far = History({**history, "train_loss": 50.0 * history["train_loss"]})
    near = {f"run {k}": history for k in range(11)}
    chart = charts.curves({**near, "far": far}, "loss", layout="overlaid")
    assert channels(chart, "y")[0]["scale"]["domain"][1] < 2.0 * history["train_loss"].max()


@pytest.mark.slow
def test_a_thousand_runs_fit_into_a_small_file(many, tmp_path):
    chart = charts.curves(many)
    assert len(of(chart, layer="line", part="training")) == 1000
    front = {row["words"] for row in of(chart, layer="line", part="training", colour="training")}
    best = next(row for row in many.rows if row.mark == "best")
    assert front == {describe_configuration(best.parameters)}
    assert charts.save(chart, tmp_path / "many.html").stat().st_size < 2_500_000
    panels = charts.curves(many, layout="multiples")
    assert len({row["panel"] for row in rows_of(panels)}) == 24
    assert "The best 24 of 1,000 runs." in panels.to_dict()["title"]["subtitle"][0]


@pytest.mark.slow
def test_histories_by_name_are_drawn_without_a_study(iris, tmp_path):
    X, y = iris
    models = {
        name: GradientDescentClassifier(learning_rate=rate, epochs=40).fit(X, y, None, X, y)
        for name, rate in (("slow", 1e-3), ("fast", 0.1))
    }
    chart = charts.curves({name: model.history_ for name, model in models.items()})
    drawn(chart, tmp_path)
    assert "Best: fast" in chart.to_dict()["description"]
    with pytest.raises(TypeError, match="facts of a study, a history, or a dictionary of hist"):
        charts.curves([models["slow"]])
    with pytest.raises(ValueError, match="'objective', 'gradient norm'"):
        charts.curves(models["slow"].history_, "speed")


def test_several_seeds_are_several_lines(tmp_path):
    estimator = GradientDescentClassifier(init="random", init_scale=1.0, epochs=20)
    study = Study("s", estimator, {"learning_rate": [0.1, 0.01]}, seeds=3, store=tmp_path / "s.db")
    chart = charts.curves(study.run("iris").facts())
    assert len(of(chart, layer="line", part="training")) == 6


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300),
    st.integers(2, 50),
    st.booleans(),
)
def test_thinned_lines_keep_their_ends_minima_and_maxima(values, points, log):
    values = np.array(values)
    at = thinned(values, points, log=log, keep=[len(values) // 2])
    assert at[0] == 0
    assert at[-1] == len(values) - 1
    assert len(values) // 2 in at
    assert len(at) <= points + 5
    assert values[at].min() == values.min()
    assert values[at].max() == values.max()
    assert (np.diff(at) > 0).all()


@given(st.lists(st.floats(0, 300), min_size=1, max_size=20))
def test_labels_do_not_overlap(heights):
    out = spread(heights, 12.0, 300.0)
    ordered = np.array(out)[np.argsort(heights, kind="stable")]
    assert (np.diff(ordered) >= 12.0 - 1e-9).all()
    assert max(out) <= 300.0
    assert min(out) >= 0.0


def test_no_line_crosses_a_label(iris):
    model = GradientDescentClassifier(learning_rate=0.05, l2=1.0)
    histories = {str(n): clone(model).set_params(epochs=n).fit(*iris).history_ for n in (40, 400)}
    chart = charts.curves(histories, layout="overlaid")
    (label,) = [row for row in of(chart, layer="label") if row["text"] == "40"]
    (line,) = [row for row in of(chart, layer="line") if row["run"].startswith("1 ")]
    below = [v for e, v in zip(line["epoch"], line["value"]) if 50 < e < 62]
    span = next(one["scale"]["domain"] for one in channels(chart, "y") if "scale" in one)
    apart = 270 * (label["value"][0] - np.array(below)) / (span[1] - span[0])
    assert (np.abs(apart) >= 6.0 - 1e-6).all()


@pytest.mark.slow
def test_heatmaps_show_the_measures_of_the_table(facts, tmp_path):
    chart = charts.rates(facts)
    drawn(chart, tmp_path)
    cells = {(row["x"], row["y"]): row for row in of(chart, configurations=2) if "kind" not in row}
    for row in facts.rows:
        cell = cells[f"{row.parameters['learning_rate']:g}", f"{row.parameters['momentum']:g}"]
        same = [
            r for r in facts.rows if r.parameters | {"epochs": 0} == row.parameters | {"epochs": 0}
        ]
        if row.diverged:
            assert cell["value"] is None
            assert cell["text"] == "diverged"
        else:
            best = min(r.last["val_loss"] for r in same)
            assert cell["value"] == pytest.approx(best, rel=1e-5)
        assert cell["best"] == any(r.mark == "best" for r in same)


def test_the_limit_is_drawn_after_the_last_stable_rate(facts):
    corners = [row for row in rows_of(charts.rates(facts)) if "corner" in row]
    rates = sorted({row.parameters["learning_rate"] for row in facts.rows})
    for line, momentum in enumerate((0.0, 0.9)):
        row = next(r for r in facts.rows if r.parameters["momentum"] == momentum)
        places = {
            c["at"]
            for c in corners
            if abs(c["height"] - line) == 0.5
            and c["rate"] == pytest.approx(row.safe_rate, rel=1e-5)
        }
        assert places == {sum(rate <= row.safe_rate for rate in rates) - 0.5}


def test_a_heatmap_tells_the_best_configuration_from_its_cell(facts):
    def of_cell(row, rate):
        return row.parameters["learning_rate"] == rate and row.parameters["momentum"] == 0.9

    worse = max((r for r in facts.rows if of_cell(r, 0.1)), key=lambda row: row.last["val_loss"])
    failed = next(row for row in facts.rows if of_cell(row, 0.01))
    rows = [
        replace(
            row,
            mark="best" if row is worse else "",
            diverged=1 if row is failed else row.diverged,
        )
        for row in facts.rows
    ]
    chart = charts.rates(replace(facts, rows=rows))
    words = " ".join(chart.to_dict()["title"]["subtitle"])
    assert f"best configuration, which itself has {worse.last['val_loss']:#.3g}." in words
    assert "×: some configurations of the cell diverged." in words
    assert "stable at all weights" in words
    cells = [row for row in of(chart, configurations=2) if "kind" in row]
    assert [(c["x"], c["y"]) for c in cells if c["partly"]] == [("0.01", "0.9")]


@pytest.mark.slow
def test_heatmaps_of_many_configurations_and_other_parameters_are_drawn(
    many, facts, iris, tmp_path
):
    grid = {"learning_rate": [0.1, 0.01]}
    study = Study("u", GradientDescentClassifier(epochs=5), grid, store=tmp_path / "u.db")
    unvalidated = study.run(*iris).facts()
    drawn(charts.rates(unvalidated), tmp_path)
    drawn(charts.rates(many, "val_accuracy"), tmp_path)
    drawn(charts.rates(many, x="l2", y="momentum"), tmp_path)
    with pytest.raises(
        ValueError, match="does not vary l2: it varies learning_rate, momentum, epochs"
    ):
        charts.rates(facts, x="l2")
    with pytest.raises(ValueError, match=r"one of 'momentum', 'epochs'.*Got y='nosuch' instead"):
        charts.rates(facts, y="nosuch")
    with pytest.raises(ValueError, match="did not measure val_loss"):
        charts.rates(unvalidated, "val_loss")


@pytest.mark.slow
def test_batches_are_drawn_by_epochs_rows_and_updates(tmp_path):
    grid = {"batch_size": [None, 16, 1], "learning_rate": [0.1, 0.001]}
    study = Study("b", GradientDescentClassifier(epochs=30), grid, store=tmp_path / "b.db")
    facts = study.run("iris", standardise=False).facts()
    for by, each in (("epochs", [1, 1, 1]), ("rows", [100] * 3), ("updates", [1, 7, 100])):
        chart = charts.batches(facts, by=by, log_x=True)
        drawn(chart, tmp_path)
        lines = rows_of(chart)
        assert [line["at"][:2] for line in lines] == [[k, 2 * k] for k in each]
    for line, size in zip(lines, (None, 16, 1)):
        same = [row for row in facts.rows if row.parameters["batch_size"] == size]
        best = min(same, key=lambda row: row.last["train_loss"])
        history = facts.histories[best.number][0]
        np.testing.assert_allclose(line["value"], history["train_loss"], rtol=1e-5)
    with pytest.raises(ValueError, match="Got 'seconds' instead"):
        charts.batches(facts, by="seconds")
    with pytest.raises(ValueError, match="Give rows"):
        charts.batches({None: history})


def test_a_chart_of_batch_sizes_needs_a_study_that_varies_them(facts):
    with pytest.raises(ValueError, match="needs a study that varies batch_size"):
        charts.batches(facts)


# Files and themes


class Addresses(HTMLParser):
    """The addresses that a page would load."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found += [v for k, v in attributes if k in ("src", "href")]


def test_the_page_loads_nothing(iris, tmp_path):
    page = charts.save(charts.scatter_matrix(*iris), tmp_path / "page.html").read_text()
    reader = Addresses()
    reader.feed(page)
    assert reader.found == []
    assert not re.search(r"import\s*[^;]{0,200}from\s*[\"']https?:", page)
    assert not re.search(r"(fetch|importScripts|XMLHttpRequest\(\)\.open)\(\s*[\"']https?:", page)
    assert "cdn.jsdelivr" not in page.split("<script")[1][:200]


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_has_the_pixels_of_the_svg(facts, theme, tmp_path):
    for chart in (charts.rates(facts), charts.spy(np.eye(9))):
        png, svg = (
            charts.save(chart, tmp_path / f"a.{end}", theme=theme, scale=1)
            for end in ("png", "svg")
        )
        again = vl_convert.svg_to_png(svg.read_text(encoding="utf-8"), scale=1)
        with Image.open(png) as one, Image.open(io.BytesIO(again)) as other:
            assert one.convert("RGB").tobytes() == other.convert("RGB").tobytes()
            assert len(one.convert("RGB").getcolors(1 << 24)) > 3


@pytest.mark.slow
def test_a_theme_changes_only_the_configuration(iris, tmp_path):
    chart = charts.scatter_matrix(*iris)
    light = chart.to_dict()
    charts.set_theme("dark")
    try:
        dark = charts.scatter_matrix(*iris).to_dict()
    finally:
        charts.set_theme("light")
    assert light["config"] == charts.config("light")
    assert dark["config"] == charts.config("dark")
    for key in ("background", "axis", "title", "text"):
        assert dark["config"][key] != light["config"][key]
    assert dark["datasets"] == light["datasets"]
    svg = charts.save(chart, tmp_path / "dark.svg", theme="dark").read_text()
    assert charts.config("dark")["background"] in svg
    with pytest.raises(ValueError, match="Got 'blue' instead"):
        charts.set_theme("blue")


def test_unknown_suffixes_and_gifs_without_frames_are_refused(iris, tmp_path):
    chart = charts.scatter_matrix(*iris)
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.html or \.gif.*Got 'chart.pdf'"):
        charts.save(chart, tmp_path / "chart.pdf")
    with pytest.raises(ValueError, match="chart with frames"):
        charts.save(chart, tmp_path / "chart.gif")


@pytest.mark.slow
def test_importing_the_library_does_not_import_the_drawing_libraries():
    code = (
        "import sys, separatrix, separatrix.cli.app; from separatrix import Study, fit_many\n"
        "assert not {'altair', 'vl_convert'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


PAGES = [
    page.relative_to(DOCS).with_suffix("").as_posix()
    for page in sorted(DOCS.rglob("*.md"))
    if "](_static/charts/" in (text := page.read_text(encoding="utf-8"))
    or "](../_static/charts/" in text
]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_code_saves(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\((?:\.\./)?_static/charts/([^)]*)\)", page)
    saved = set(re.findall(r'charts\.save\(.*"([^"\n]+)".*\)', page))
    assert set(shown) <= saved
    for picture in shown:
        assert (DOCS / "_static" / "charts" / picture).stat().st_size < 100_000


def test_the_page_on_charts_shows_all_charts():
    page = (DOCS / "howto" / "charts.md").read_text(encoding="utf-8")
    functions = set(charts.__all__) - {"config", "save", "set_theme", "to_svg"}
    assert functions == {name for name in functions if f"charts.{name}(" in page}


def test_a_curve_and_its_summary_belong_to_the_best_configuration_not_to_a_longer_one(tmp_path):
    grid = {"learning_rate": [1.0], "momentum": [0.99], "epochs": [100, 1000]}
    study = Study("x", GradientDescentClassifier(), grid, store=tmp_path / "a.db")
    facts = study.run("iris", standardise=False).facts()
    best = facts.rows[facts.verdict.best]
    described = charts.curves(facts).to_dict()["description"]
    assert f"After {best.epochs:,} epochs: training {best.last['train_loss']:.3g}" in described


def test_the_summary_of_several_seeds_gives_the_means_of_the_table(tmp_path):
    estimator = GradientDescentClassifier(init="random", epochs=20)
    grid = {"learning_rate": [0.05, 1000.0]}
    study = Study("s", estimator, grid, seeds=3, store=tmp_path / "s.db")
    study.run("iris", standardise=False)
    best = study.table()[0]
    told = charts.curves(study.facts()).to_dict()["description"]
    losses = f"training {best['train_loss']:.3f} and validation {best['val_loss']:.3f}"
    assert f"{losses} (means over 3 seeds)" in told
    assert "Loss of 6 runs" in told
    assert "3 runs diverged" in told
