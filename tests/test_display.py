"""The HTML of fits and studies in a notebook."""

import re
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
import sklearn
from nbclient import NotebookClient
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import GradientDescentClassifier, LogisticRegression, Perceptron, Study, load_model
from separatrix.data import Dataset
from separatrix.display import curves
from separatrix.losses import LOSSES
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import LBFGS
from separatrix.study import Store
from separatrix.training import Stop, run
from support.studies import iris

EMPTY = {"br", "hr", "img", "input", "link", "meta"}


class Balanced(HTMLParser):
    """A parser that fails if a tag is not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def text_of(html):
    """Return the text of HTML; fail if it is not well formed or loads anything."""
    parser = Balanced()
    parser.feed(html)
    assert not parser.open
    assert not re.search(r"https?://|url\(|<script|<link", html)
    return " ".join(" ".join(parser.text).split())


def shown(estimator):
    return text_of(estimator._verdict_html())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change to an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEPARATRIX_STORE", raising=False)
    return tmp_path


# fits


def test_a_fitted_estimator_shows_its_verdict_above_the_diagram():
    X, y, _, _ = iris()
    model = LogisticRegression()
    assert "Objective" not in model._repr_mimebundle_()["text/html"]
    model.fit(X, y)
    for html in (model._repr_mimebundle_()["text/html"], model._repr_html_()):
        assert html.startswith(model._verdict_html())
        assert "sk-container" in html
    assert model.objective() in shown(model)
    assert str(model.certificate_) in shown(model)
    assert f"tol, after {model.history_.epochs} epochs" in shown(model)


def test_scikit_learns_display_setting_is_respected():
    X, y, _, _ = iris()
    model = LogisticRegression().fit(X, y)
    with sklearn.config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")


def test_a_pipeline_is_shown_by_scikit_learn():
    X, y, _, _ = iris()
    html = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)._repr_html_()
    assert "sk-container" in html


def test_the_headline_states_the_outcome_of_the_fit():
    X, y, _, _ = iris()
    two = y < 2
    cases = {
        "diverged.": GradientDescentClassifier(learning_rate=1e4, l2=0.1).fit(X, y),
        "did not converge.": GradientDescentClassifier(learning_rate=0.01, l2=0.1, epochs=5).fit(
            X, y
        ),
        "an epoch without mistakes.": Perceptron().fit(X[two], y[two]),
        "no finite optimum": LogisticRegression(C=np.inf).fit(X[two], y[two]),
    }
    for words, model in cases.items():
        assert words in shown(model)
        for found in model.diagnoses_:
            assert found.remedy in shown(model)


def test_a_loaded_model_shows_the_same_verdict(folder):
    X, y, _, _ = iris()
    model = LogisticRegression().fit(X, y)
    model.save("a.sx")
    assert shown(load_model("a.sx")) == shown(model)


def test_a_result_shows_its_verdict():
    X, y, _, _ = iris()
    objective = Objective(Dataset.of(X, y), LOSSES["softmax"], ElasticNet(0.0, 0.1))
    stop = Stop(epochs=((100,),), tol=np.array([1e-6]))
    [[result]] = run(LBFGS(), objective, Model.zeros(4, 1, 3), stop)
    text = text_of(result._repr_html_())
    assert text.startswith("lbfgs: converged, relative duality gap")
    assert result.objective in text


# curves


def test_curves_have_a_line_for_each_measured_part():
    both = curves("loss", {"training": np.arange(3.0), "validation": np.arange(3.0)})
    assert both.count("<path") == 3  # and the axis
    one = curves("loss", {"training": np.arange(3.0), "validation": np.full(3, np.nan)})
    assert one.count("<path") == 2
    assert curves("loss", {"training": np.full(3, np.nan)}) == ""


@pytest.mark.parametrize(
    "values",
    [
        [1.0],
        [2.0, 2.0],
        [np.nan, 1.0, np.inf, 0.5],
        [1e300, 1e-300, 1.0],
        [0.0, -1.0, 5.0],
        list(range(10_000)),
    ],
    ids=str,
)
def test_curves_stay_inside_the_picture(values):
    html = curves("loss", {"training": np.array(values, float)})
    text_of(html)
    path = re.search(r'<path d="M([^"]*)" fill="none"', html)[1]
    points = np.array([pair.split() for pair in path.split("L")], float)
    assert len(points) <= 200
    assert (points >= 0).all()
    assert (points <= [260, 110]).all()


def test_values_of_different_magnitudes_are_drawn_on_a_logarithmic_axis():
    assert "logarithmic" in curves("loss", {"training": np.array([1.0, 0.001])})
    assert "logarithmic" not in curves("loss", {"training": np.array([1.0, 0.5])})


# studies


def test_a_study_shows_verdict_table_and_curves_of_the_best_configuration(folder):
    grid = {"learning_rate": [0.1, 0.01, 0.001], "epochs": list(range(2, 14))}
    study = Study("a", GradientDescentClassifier(), grid)
    assert "Study a has not been run." in text_of(study._repr_html_())
    study.run(*iris())
    html = study._repr_html_()
    text = text_of(html)
    for sentence in study.verdict().sentences:
        assert sentence in text
    assert "24 more configurations: study.table()" in text
    assert html.count("<svg") == 2
    assert html.count("font-weight:bold") == 10 + 1  # the cells of the best row


def test_a_study_reads_only_the_history_of_the_best_configuration(folder):
    grid = {"learning_rate": [0.1, 0.01, 0.001], "epochs": [5]}
    study = Study("a", GradientDescentClassifier(), grid).run(*iris())
    best = study.verdict().best
    assert set(study.facts(histories=(best,)).histories) == {best}
    whole = study.histories()[best][0]
    assert whole["val_loss"].tobytes() == (
        study.facts(histories=(best,)).histories[best][0]["val_loss"].tobytes()
    )
    with Store("separatrix.db", write=True) as store, store.writing() as connection:
        others = "SELECT history FROM runs WHERE configuration != ?"
        connection.execute(f"UPDATE histories SET records = x'00' WHERE id IN ({others})", (best,))
    assert "<svg" in study._repr_html_()


def test_a_study_in_a_damaged_store_shows_the_error(folder):
    (folder / "separatrix.db").write_bytes(b"nonsense" * 1000)
    study = Study("a", GradientDescentClassifier(), {"epochs": [5]})
    assert "is damaged" in text_of(study._repr_html_())


# a real notebook


@pytest.mark.slow
def test_a_notebook_shows_a_fit_a_study_and_its_progress(folder):
    cells = [
        "from sklearn.datasets import load_iris\n"
        "from separatrix import GradientDescentClassifier, LogisticRegression, Study\n"
        "X, y = load_iris(return_X_y=True)\n"
        "LogisticRegression().fit(X, y)",
        "grid = {'learning_rate': [0.1, 0.01], 'epochs': [50, 400]}\n"
        "Study('a', GradientDescentClassifier(), grid).run('iris', progress=True)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    fit, study = (cell.outputs for cell in notebook.cells)
    assert "relative duality gap" in fit[-1].data["text/html"]
    bar, result = study
    assert "4 of 4 runs, " in bar.data["text/html"]
    assert '<progress value="1.000">' in bar.data["text/html"]
    assert "Best: learning rate 0.1, epochs 400." in result.data["text/html"]
