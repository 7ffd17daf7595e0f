"""The reports of a fit, a search, a comparison and an evaluation, tested in a real browser."""

import csv
import json
import os
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from separatrix import load
from separatrix.cli.app import app
from support.browser import OVERFLOW, Opened, violations
from support.command import call

RUN = "document.title='PWNED'"
NAMES = [f"</script><script>{RUN}</script>", f'"><img src=x onerror={RUN}>', f"<svg onload={RUN}>"]
ROWS = ".runs tbody tr"


def write_hostile(path):
    """Write rows whose columns and classes have names that are code."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[y] + rng.standard_normal((90, 2))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES[:2], "label"])
        writer.writerows([*map(float, row), NAMES[k]] for row, k in zip(X, y))


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """All reports by name, written by the commands in a folder of their own."""
    folder = tmp_path_factory.mktemp("reports")
    before = os.getcwd()
    os.chdir(folder)
    try:
        write_hostile(folder / "hostile.csv")
        call("fit", "iris", "--out", "iris.sx", "--report")
        call("fit", "hostile.csv", "--label", "label", "--out", "hostile.sx", "--report")
        call("fit", "breast-cancer", "--out", "two.sx", "--C", "0.01", "--quiet")
        call(
            "search",
            "wine",
            "--C",
            "0.01,1,inf",
            "--l1",
            "0,0.5",
            "--folds",
            "3",
            "--report",
            code=3,
        )
        call("search", "breast-cancer", "--certify", "0.05", "--C", "0.1,10", "--report")
        call("search", "hostile.csv", "--label", "label", "--folds", "2", "--report")
        call("compare", "iris", "--report")
        call("compare", "hostile.csv", "--label", "label", "--report")
        call("evaluate", "iris.sx", "iris", "--report")
        call("evaluate", "two.sx", "breast-cancer", "--report")
        call("evaluate", "hostile.sx", "hostile.csv", "--label", "label", "--report")
        gradient = ["--solver", "gradient", "--epochs", "20", "--learning-rate", "0.001"]
        call("fit", "wine", *gradient, "--report", code=3)
    finally:
        os.chdir(before)
    return {page.stem: page for page in (folder / "reports").glob("*.html")}


EXPECTED = {
    *("iris-fit", "hostile-fit", "wine-fit", "wine-search", "hostile-search", "iris-compare"),
    "breast-cancer-search",
    *("hostile-compare", "iris-evaluate", "two-evaluate", "hostile-evaluate"),
}


def test_every_page_opens_without_errors_and_fits_a_phone(browser, reports):
    assert set(reports) == EXPECTED
    first = reports["iris-fit"].as_uri()
    page = Opened(browser, first, viewport={"width": 390, "height": 844})
    shown = "figure:not([hidden]):has(> details)"
    for name, report in reports.items():
        page.goto(report.as_uri())
        assert page.evaluate(OVERFLOW) == 0, name
        assert page.locator("main h2").count() >= 3, name
        assert all(len(text) > 20 for text in page.texts(f"{shown} > figcaption")), name
        page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
        assert page.title() != "PWNED"
        assert page.locator("img, [onerror], [onload]").count() == 0, name
        assert page.evaluate(OVERFLOW) == 0, name
    assert page.problems == []
    assert set(page.requests) == {report.as_uri() for report in reports.values()}
    page.context.close()


@pytest.mark.parametrize("work", ["fit", "compare", "evaluate"])
def test_names_from_data_are_text(open_page, reports, work):
    with open_page(reports[f"hostile-{work}"]) as page:
        text = page.evaluate("document.body.textContent")
        wanted = NAMES[:2] if work == "compare" else NAMES
        assert work == "compare" or all(name in text for name in wanted)
        assert "hostile.csv" in text


@pytest.mark.slow
@pytest.mark.parametrize("work", ["fit", "search", "compare", "evaluate"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_screen_reader_can_use_every_page(browser, reports, work, scheme):
    names = {"search": "wine-search"}
    assert violations(browser, reports[names.get(work, f"iris-{work}")], color_scheme=scheme) == []


def test_a_fit_shows_its_verdict_metrics_and_curves(open_page, reports):
    with open_page(reports["iris-fit"]) as page:
        assert page.inner_text(".verdict h2") == (
            "Optimal: softmax regression, 88.0 % of test rows right"
        )
        assert "duality gap" in page.inner_text(".verdict")
        assert "22 of 25" in page.inner_text(".numbers")
        assert (
            "test 25 22 88.0 %" in " ".join(page.texts(".metrics tr")[3:4])
            or page.locator(".metrics td", has_text="88.0 %").count()
        )
        first = page.get_attribute(".history-figure .line", "d")
        page.click(".history-figure >> text=gradient norm")
        assert page.inner_text(".history-figure h3") == "Gradient norm by iteration"
        assert page.get_attribute(".history-figure .line", "d") != first
        assert "measure=gradient" in page.evaluate("location.hash")
        assert "separatrix fit iris" in page.inner_text("pre >> nth=0")
    with open_page(reports["wine-fit"]) as page:
        assert page.locator(".verdict h2.failure").count() == 1
        assert "What to do: Raise --epochs" in page.inner_text(".diagnosis")
        assert page.locator(".history-figure .line").count() == 2
    with open_page(reports["hostile-fit"]) as page:
        assert page.locator(".boundary-figure .point.hollow").count() > 0


def test_the_command_and_the_code_of_a_page_repeat_the_work(reports, monkeypatch, capsys):
    monkeypatch.chdir(reports["iris-fit"].parents[1])
    for name, page in reports.items():
        text = page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0]
        command, *code = (one["text"] for one in json.loads(text)["reproduce"])
        assert len(code) == (name.rpartition("-")[2] in ("fit", "search"))
        if code:
            assert "separatrix." not in code[0]  # only public names
            first = code[0].splitlines()[0].removeprefix("# After: ")
            assert first.startswith(f"{command} --out ")
            command = first
        again = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"])
        assert again.exit_code in (0, 3), again.output
        if code:
            exec(code[0], {})
            *_, last = json.loads(again.stdout)["metrics"].values()
            assert float(capsys.readouterr().out) == pytest.approx(last["accuracy"], abs=1e-12)


def test_candidates_are_sorted_filtered_and_drawn(open_page, reports):
    with open_page(reports["wine-search"]) as page:
        assert page.locator(ROWS).count() == 6
        assert page.texts(ROWS)[0].startswith("● best")
        page.locator(".runs th button", has_text="standard deviation").click()
        assert page.texts(ROWS)[0].startswith("● best")  # pinned
        page.fill("#filter", "l1 = 0.5, C < 10")
        assert page.inner_text("#filter-note") == "2 of 6 candidates"
        page.fill("#filter", "")
        assert page.locator(".scores-figure .mean").count() == 4  # C = inf is only in the table
        assert "Infinite values of C" in page.inner_text(".scores-figure figcaption")
        assert page.locator(".map td.best").count() == 1
        page.locator(".map td button").first.click()
        assert "Scores of the folds" in page.inner_text(".details")


def test_a_proof_is_drawn_and_told(open_page, reports):
    with open_page(reports["breast-cancer-search"]) as page:
        assert any("So none is better by more than 5.00 %." in text for text in page.texts("p"))
        assert page.texts(".proof h3") == ["Error for every C"]
        pieces = page.locator(".proof rect").count()
        assert pieces >= 16
        assert page.locator(".proof circle").count() == pieces // 16 + 1
        page.locator(".proof details").evaluate("node => { node.open = true; }")
        assert "lower bound" in " ".join(page.texts(".proof table th"))
        assert page.texts(".proof table tr td:last-child")[0] in ("proven", "thin proof")
    with open_page(reports["wine-search"]) as page:
        assert page.locator(".proof").is_hidden()


def test_compared_models_have_the_words_of_the_terminal(open_page, reports):
    with open_page(reports["iris-compare"]) as page:
        text = page.inner_text(".verdict")
        assert "Significantly higher log-loss than another model (paired t-test)" in text
        assert page.locator(f"{ROWS}.tie").count() == 2
        assert page.locator(ROWS).count() == 8
        page.locator(".runs th button", has_text="test").click()
        tests = [float(one.removesuffix(" %")) for one in page.texts(f"{ROWS} td:nth-child(4)")]
        assert tests[1:] == sorted(tests[1:], reverse=True)
        page.fill("#filter", "validation >= 100")
        assert page.inner_text("#filter-note") == "3 of 8 models"


def test_the_threshold_moves_the_confusion_the_curves_and_the_costs(open_page, reports):
    with open_page(reports["two-evaluate"]) as page:
        counts = "[...document.querySelectorAll('.at-threshold td')].map(one => +one.textContent)"
        before, place = page.evaluate(counts), page.locator("#roc, .roc-figure .now").bounding_box()
        rows = sum(before)
        assert before == page.evaluate(
            "[...document.querySelectorAll('.confusion-figure tbody td:not(.plain)')]"
            ".map(one => +one.textContent).reverse()"
        )  # at the model's own threshold
        page.locator("#cut").press("Home")
        assert page.evaluate(counts)[:2][1] == 0  # the lowest threshold finds all positive rows
        assert page.locator(".roc-figure .now").bounding_box() != place
        page.locator("#cut").press("End")
        hits, missed, alarms, quiet = page.evaluate(counts)
        assert (hits, alarms) == (0, 0)
        assert missed + quiet == rows
        page.fill("#cost_fn", "100")
        page.click(".cuts >> text=lowest cost")
        assert page.evaluate(counts)[1] == 0  # a false negative is expensive
        assert "cost_fn=100" in page.evaluate("location.hash")
        page.click("text=the model's threshold")
        assert page.evaluate(counts) == before
    with open_page(reports["two-evaluate"], "#cost_fn=100") as page:
        assert page.input_value("#cost_fn") == "100"


def test_every_class_has_its_curve_and_coefficients_with_intervals(open_page, reports):
    with open_page(reports["iris-evaluate"]) as page:
        assert page.locator(".roc-figure .rank").count() == 3
        page.select_option(".thresholds select", "2")
        assert "virginica if probability" in page.inner_text(".thresholds output")
        assert page.texts(".roc-figure .legend b") == ["virginica"]
        assert page.locator(".intervals-figure .coefficient").count() == 5
        page.select_option(".intervals-figure select", "1")
        assert page.inner_text(".intervals-figure h3") == "Coefficients towards versicolor"


def test_pages_unfold_for_print(open_page, reports):
    with open_page(reports["iris-evaluate"]) as page:
        page.emulate_media(media="print")
        page.locator("details[open]").first.wait_for(state="attached")
        assert page.locator("figure:not([hidden]) > details:not([open])").count() == 0
        page.emulate_media(media="screen")
        page.locator("details[open]").first.wait_for(state="detached")


def test_the_sample_is_that_of_the_training_rows(reports):
    text = reports["iris-fit"].read_text(encoding="utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    labels = load("iris").part("train").y
    assert (
        data["drawings"]["sample"]["class_rows"]
        == np.unique(labels, return_counts=True)[1].tolist()
    )
