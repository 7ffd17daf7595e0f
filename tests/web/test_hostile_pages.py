"""Names from data do not run as code in any page, chart or card, tested in a real browser."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from separatrix import (
    GradientDescentClassifier,
    LogisticRegression,
    Study,
    certified_search,
    charts,
    explain,
    regularization_path,
    safe_html,
)
from separatrix.display import card, table
from separatrix.study.results.card import study_card
from separatrix.web.report import report_page
from support.browser import seen_in

RUN = "document.title='PWNED'"
PAYLOADS = [
    f"</script><script>{RUN}</script>",
    f'"><img src=x onerror={RUN}>',
    f"<svg onload={RUN}>",
    f"javascript:{RUN}",
    f"'];{RUN};//",
    f"' + ({RUN}) + '",
    f'"}}[({RUN})]',
    "{{7*7}} ${" + RUN + "}",
    f"]]></style></title><script>{RUN}</script><!--",
    "a.b['c']\\\u2028\u2029",
    "\x1b]0;title\x07\x00\ufffe\ud800",
    "datum.x; event.view.eval(1)",
]
POLICY = re.compile(r"<meta http-equiv[^>]*>")
CHART = re.compile(r'(?s)<script type="application/json" id="specification">(.*?)</script>')
# The title, the number of drawn elements, and elements that only a hostile name can create.
SEEN = """[document.title || '-', document.querySelectorAll('svg path, svg image, td').length,
  document.querySelectorAll('img, [onerror], [onload], a[href^=javascript]').length,
  document.querySelectorAll('script:not([type])').length,
  (document.getElementById('chart') || document.documentElement).textContent
    .includes('not be drawn')]"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """Return a study with hostile names everywhere."""
    store = tmp_path_factory.mktemp("studies") / "study.db"
    grid = {"learning_rate": [0.1, 0.5], "momentum": [0.0, 0.9], "batch_size": [None, 16]}
    X, y = load_iris(return_X_y=True)
    frame, labels = pd.DataFrame(X, columns=PAYLOADS[:4]), np.array(PAYLOADS)[y]
    study = Study("hostile", GradientDescentClassifier(epochs=5), grid, store=store)
    found = study.run(frame[::2], labels[::2], X_val=frame[1::2], y_val=labels[1::2]).facts()
    bad = " ".join(PAYLOADS)
    return replace(
        found,
        name=bad,
        notes=PAYLOADS,
        command=bad,
        data=replace(found.data, name=bad, notes=PAYLOADS),
        verdict=replace(found.verdict, sentences=PAYLOADS),
        versions={bad: bad},
    )


def all_charts(facts):
    """Return all charts of the package, drawn with hostile names."""
    X, y = load_iris(return_X_y=True)
    X, labels = StandardScaler().fit_transform(X), np.array(PAYLOADS)[y]
    frame, last = pd.DataFrame(X, columns=PAYLOADS[:4]), PAYLOADS[2:4]
    two, kind, near, side = X[50:, 2:], labels[50:], X[:100, 2:], labels[:100]
    model = LogisticRegression().fit(frame, labels)
    descent = GradientDescentClassifier(epochs=20).fit(two, kind)
    certain = LogisticRegression(certified=True).fit(two, kind)
    scores = dict.fromkeys(PAYLOADS[:4], model.predict_proba(frame))
    learned = [
        {"model": name, "samples": size, "score": size / 100}
        for name in PAYLOADS
        for size in (10, 20)
    ]
    story = explain.perceptron(near, side)
    path = regularization_path(frame, labels == PAYLOADS[0])
    apart = explain.prediction(model, frame.iloc[:1])
    step = explain.step_of(model, frame.iloc[:1], labels[0])
    likely = explain.likelihood(model, frame.iloc[::50], labels[::50])
    descents = dict.fromkeys(PAYLOADS[:3], descent)
    return {
        "batches": charts.batches(facts),
        "boundary": charts.boundary(descent, two, kind, last),
        "boundary_frames": charts.boundary_frames(descent, two, kind, [1, 5], last),
        "calibration": charts.calibration(labels, model.predict_proba(frame)),
        "certified": charts.certified(certain.certify(two)),
        "certified_search": charts.certified_search(
            certified_search(two, kind, C=(0.1, 1.0), epsilon=0.2)
        ),
        "coefficient_path": charts.coefficient_path(path),
        "confusion": charts.confusion(labels, model.predict(frame)),
        "contributions": charts.contributions(apart),
        "curvature": charts.curvature(
            explain.curvature_along("logistic", [[1.0]], [0], [0.0], [1.0])
        ),
        "curves": charts.curves(dict.fromkeys(PAYLOADS, descent.history_)),
        "gradient_check": charts.gradient_check(explain.check_gradient("logistic")),
        "graph": charts.graph(step),
        "large_rate": charts.large_rate(explain.large_rate(epochs=5)),
        "learning_curves": charts.learning_curves(learned, score=PAYLOADS[1]),
        "likelihood": charts.likelihood(likely),
        "losses": charts.losses(),
        "one_at_a_time": charts.one_at_a_time(explain.one_at_a_time()),
        "optimum_balls": charts.optimum_balls([[0.0, 0.0]], [[1.0, 1.0]], 0.5, [-1.0, -1.0]),
        "outlier": charts.outlier(explain.outlier(60)),
        "perceptron_angles": charts.perceptron_angles(story),
        "perceptron_mistakes": charts.perceptron_mistakes(story),
        "perceptron_path": charts.perceptron_path(story, near, side, last),
        "perceptron_planes": charts.perceptron_planes(story, near, side, last),
        "precision_recall": charts.precision_recall(labels, scores),
        "rates": charts.rates(facts),
        "roc": charts.roc(labels, scores),
        "scatter_matrix": charts.scatter_matrix(frame, labels),
        "spy": charts.spy(X),
        "templates": charts.templates(model.coef_, (2, 2), model.classes_),
        "weight_path": charts.weight_path(
            descents, pd.DataFrame(two, columns=last), kind, tuple(last)
        ),
        "zero_start": charts.zero_start(explain.zero_start()),
    }


class Attributes(HTMLParser):
    """A parser that collects the names of all attributes."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def handle_starttag(self, tag, attributes):
        self.names |= {name for name, _ in attributes}


NOT_DRAWINGS = {"config", "save", "set_theme", "show_as_svg", "to_svg"}


def harmless(seen, scripts):
    """Assert that every page shows something and that no name has run as code."""
    for name, answer in seen.items():
        title, drawn, *others = answer
        assert title != "PWNED", name
        assert drawn > 3, (name, answer)
        assert others == [0, scripts, False], (name, answer)


def without_policy(page):
    """Write a copy of a page without its content security policy."""
    bare = page.with_name(f"{page.stem} bare.html")
    text = page.read_text(encoding="utf-8", errors="replace")
    bare.write_text(POLICY.sub("", text, count=1), encoding="utf-8", errors="replace")
    return bare


@pytest.mark.slow
def test_no_saved_chart_runs_a_name_with_or_without_its_policy(browser, facts, tmp_path):
    """Test all charts without their policy, and those that it could break with it."""
    made = all_charts(facts)
    assert set(made) == set(charts.__all__) - NOT_DRAWINGS  # add new charts here
    pages = [charts.save(chart, tmp_path / f"{name}.html") for name, chart in made.items()]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    assert len({POLICY.search(text)[0] for text in texts.values()}) == 1
    with_images = [page for page in pages if "data:image" in CHART.search(texts[page])[1]]
    assert 2 <= len(with_images) < len(pages) / 2
    guarded = [*with_images, next(page for page in pages if page not in with_images)]
    pictures = [charts.save(chart, tmp_path / f"{name}.svg") for name, chart in made.items()]
    drawings = [*guarded, *map(without_policy, pages)]
    seen = seen_in(browser, [*drawings, *pictures], SEEN, tmp_path)
    harmless({page.name: seen[page.name] for page in drawings}, scripts=2)
    harmless({page.name: seen[page.name] for page in pictures}, scripts=0)


@pytest.mark.slow
def test_no_report_or_card_runs_a_name(browser, facts, tmp_path):
    report = tmp_path / "report.html"
    report.write_text(report_page(facts), encoding="utf-8", errors="replace")
    reports = [report, without_policy(report)]
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], PAYLOADS[:3])
    texts = {
        "study": study_card(facts),
        "fit": re.sub(r"(?s)<script>.*?</script>", "", model._repr_html_()),
        "card": card(PAYLOADS[0], [(text, text) for text in PAYLOADS]),
        "table": table(PAYLOADS, [PAYLOADS, PAYLOADS]),
    }
    cards = [tmp_path / f"{name}.html" for name in texts]
    for page, text in zip(cards, texts.values()):
        page.write_text(f"<meta charset=utf-8>{text}", encoding="utf-8", errors="replace")
    seen = seen_in(browser, [*reports, *cards], SEEN, tmp_path)
    harmless({page.name: seen[page.name] for page in reports}, scripts=1)
    harmless({page.name: seen[page.name] for page in cards}, scripts=0)


@pytest.mark.slow
def test_no_name_runs_while_a_reader_uses_the_report(open_page, facts, tmp_path):
    report = tmp_path / "report.html"
    report.write_text(report_page(facts), encoding="utf-8", errors="replace")
    for page in (report, without_policy(report)):
        with open_page(page, "#select=0,1,2&colour=momentum&split=batch_size") as opened:
            opened.fill("#filter", PAYLOADS[0])
            opened.fill("#filter", f"{PAYLOADS[1]} = 1")
            opened.fill("#filter", "")
            for details in opened.locator("figure:not([hidden]) > details > summary").all():
                details.click()
            opened.locator(".curves-figure svg").first.hover(position={"x": 80, "y": 60})
            opened.mouse.move(0, 0)
            assert opened.title() != "PWNED"
            brought = "img, [onerror], [onload], a[href^=javascript]"
            assert opened.locator(brought).count() == 0


@pytest.mark.slow
def test_this_browser_would_run_the_names_if_they_were_not_escaped(
    browser, facts, tmp_path, monkeypatch
):
    """Without escaping and policy the title changes, so the tests above can fail."""
    monkeypatch.setattr(safe_html, "_ESCAPES", {})
    made = charts.scatter_matrix(np.eye(3)[:, :2], [0, 1, 1], PAYLOADS[:2])
    page = charts.save(made, tmp_path / "page.html")
    seen = seen_in(browser, [page, without_policy(page)], "document.title", tmp_path)
    assert "PWNED" not in seen["page.html"]  # the policy
    assert seen["page bare.html"] == "PWNED"


def test_a_saved_page_has_no_addresses_and_cannot_load_anything(tmp_path):
    page = charts.save(charts.losses(), tmp_path / "page.html").read_text(encoding="utf-8")
    policy = POLICY.search(page)[0]
    assert "default-src &#x27;none&#x27;; script-src &#x27;sha256-" in policy
    assert "unsafe-eval" not in policy
    reader = Attributes()
    reader.feed(page)
    assert not reader.names & {"src", "href", "srcset", "data", "action"}
