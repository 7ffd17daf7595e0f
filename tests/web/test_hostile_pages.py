"""Names from data do not run as code in any page, chart or card: tested in a real browser."""

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
    charts,
    explain,
    regularization_path,
)
from separatrix.charts.drawing import html_page as chart_pages
from separatrix.display import card, table
from separatrix.study.results.card import study_card
from separatrix.web.report import report_page
from support.browser import seen_in_frames

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
# The title, how much is drawn or written, and elements that only a name can have brought.
SEEN = """[page.title || '-', page.querySelectorAll('svg path, svg image, td').length,
  page.querySelectorAll('img, [onerror], [onload], a[href^=javascript]').length,
  page.querySelectorAll('script:not([type])').length,
  (page.getElementById('chart') || page.documentElement).textContent.includes('not be drawn')
  ].join(' ').replace(/\\s+/g, ' ')"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """A study in which all that has a name has a hostile one."""
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
    """Every chart of the package, with hostile names of all that has one."""
    X, y = load_iris(return_X_y=True)
    X, labels = StandardScaler().fit_transform(X), np.array(PAYLOADS)[y]
    frame, last = pd.DataFrame(X, columns=PAYLOADS[:4]), PAYLOADS[2:4]
    two, kind, near, side = X[50:, 2:], labels[50:], X[:100, 2:], labels[:100]
    model = LogisticRegression().fit(frame, labels)
    descent = GradientDescentClassifier(epochs=20).fit(two, kind)
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
    """The names of all attributes of a page."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def handle_starttag(self, tag, attributes):
        self.names |= {name for name, _ in attributes}


NOT_DRAWINGS = {"config", "save", "set_theme", "show_as_svg", "to_svg"}


def harmless(seen, scripts):
    """Require of every page that it shows something and that nothing of a name has run."""
    for name, answer in seen.items():
        title, drawn, brought, found, failed = answer.rsplit(" ", 4)
        assert title != "PWNED", name
        assert int(drawn) > 3, (name, answer)
        assert (brought, found, failed) == ("0", str(scripts), "false"), (name, answer)


@pytest.mark.slow
def test_no_saved_chart_runs_a_name_with_or_without_its_policy(facts, tmp_path):
    made = all_charts(facts)
    assert set(made) == set(charts.__all__) - NOT_DRAWINGS  # a new chart belongs here
    pages, pictures = [], []
    for name, chart in made.items():
        page = charts.save(chart, tmp_path / f"{name}.html")
        bare = tmp_path / f"{name} bare.html"
        bare.write_text(POLICY.sub("", page.read_text(encoding="utf-8"), 1), encoding="utf-8")
        pages += [page, bare]
        pictures.append(charts.save(chart, tmp_path / f"{name}.svg"))
    harmless(seen_in_frames(pages, SEEN, tmp_path), scripts=2)
    harmless(seen_in_frames(pictures, SEEN, tmp_path), scripts=0)


@pytest.mark.slow
def test_no_report_or_card_runs_a_name(facts, tmp_path):
    report = report_page(facts)
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], PAYLOADS[:3])
    cards = {
        "study": study_card(facts),
        "fit": model._repr_html_(),
        "card": card(PAYLOADS[0], [(text, text) for text in PAYLOADS]),
        "table": table(PAYLOADS, [PAYLOADS, PAYLOADS]),
    }
    (tmp_path / "report.html").write_text(report, encoding="utf-8", errors="replace")
    (tmp_path / "bare.html").write_text(
        POLICY.sub("", report, 1), encoding="utf-8", errors="replace"
    )
    pages = [tmp_path / "report.html", tmp_path / "bare.html"]
    harmless(seen_in_frames(pages, SEEN, tmp_path), scripts=1)
    for name, text in cards.items():
        text = re.sub(r"(?s)<script>.*?</script>", "", text) if name == "fit" else text
        (tmp_path / f"{name}.html").write_text(
            f"<meta charset=utf-8>{text}", encoding="utf-8", errors="replace"
        )
    pages = [tmp_path / f"{name}.html" for name in cards]
    harmless(seen_in_frames(pages, SEEN, tmp_path), scripts=0)


@pytest.mark.slow
def test_this_browser_would_run_the_names_if_they_were_not_escaped(facts, tmp_path, monkeypatch):
    """Without both barriers the title changes: what the tests above look for can happen."""
    monkeypatch.setattr(chart_pages, "_ESCAPES", {})
    made = charts.scatter_matrix(np.eye(3)[:, :2], [0, 1, 1], PAYLOADS[:2])
    page = charts.save(made, tmp_path / "page.html")
    assert "PWNED" not in seen_in_frames([page], "page.title", tmp_path)["page.html"]  # the policy
    bare = tmp_path / "bare.html"
    bare.write_text(POLICY.sub("", page.read_text(encoding="utf-8"), 1), encoding="utf-8")
    assert seen_in_frames([bare], "page.title", tmp_path)["bare.html"] == "PWNED"


def test_a_saved_page_holds_no_address_of_code_and_may_load_nothing(tmp_path):
    page = charts.save(charts.losses(), tmp_path / "page.html").read_text(encoding="utf-8")
    policy = POLICY.search(page)[0]
    assert "default-src &#x27;none&#x27;; script-src &#x27;sha256-" in policy
    assert "unsafe-eval" not in policy
    reader = Attributes()
    reader.feed(page)
    assert not reader.names & {"src", "href", "srcset", "data", "action"}
