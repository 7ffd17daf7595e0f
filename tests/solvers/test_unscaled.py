"""Fits of unscaled data, whose rows and columns have very different sizes."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from separatrix import LinearSVC, LogisticRegression, fit_many
from separatrix import losses as separatrix_losses
from separatrix.data import Dataset
from separatrix.matrix import rows_read
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import OPTIMISERS
from separatrix.training import Interrupted, Result, Stop, train
from separatrix.training.solver_choice import choose_solver
from separatrix.training.task import Task
from support.unscaled_problems import KINDS, LOSSES, STRENGTHS, Problem, draw_problems

TOL = 1e-4
PROBLEMS = list(draw_problems(72, seed=17))


def solve(problem: Problem, max_iter: int = 1000) -> tuple[Result, float]:
    """The fit of a problem with solver `auto`, and the objective of zero weights."""
    data, loss = Dataset.of(problem.X, problem.y), separatrix_losses.LOSSES[problem.loss]
    outputs, l2 = loss.n_outputs(len(data.classes)), 1.0 / (problem.C * len(problem.y))
    choice = choose_solver(loss, outputs, 0.0, l2, data)
    task = Task(
        loss,
        outputs,
        OPTIMISERS[choice.name].for_task(tol=TOL, patience=choice.patience),
        Stop(epochs=((max_iter,),), tol=np.array([TOL])),
        l2=l2,
        precise=True,
        why=choice.why,
        fallback=choice.fallback,
    )
    zero = Objective(data, loss, ElasticNet(0.0, l2)).value(
        Model.zeros(data.n_features, 1, outputs)
    )
    return train([task], data)[0], float(zero[0])


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_auto_certifies_every_problem_with_few_passes(kind, loss):
    own = [p for p in PROBLEMS if (p.kind, p.loss) == (kind, loss)]
    assert {p.C for p in own} == set(STRENGTHS)
    for problem in own:
        before = np.array(rows_read())
        found, zero = solve(problem)
        passes = (np.array(rows_read()) - before) / len(problem.y)
        assert found.stop_reason == "tol", str(problem)
        assert found.certificate.relative_gap <= TOL, str(problem)
        assert found.certificate.primal <= zero, str(problem)
        assert passes.max() <= 2000, str(problem)


def outlier_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 700))
    X[0] *= 1e4
    return X, np.arange(200) % 2


def mixed_units():
    rng = np.random.default_rng(1)
    return rng.normal(size=(120, 240)) * 10.0 ** rng.uniform(-3, 4, 240), np.arange(120) % 3


@pytest.mark.parametrize("solver", ["auto", "dual", "newton"])
def test_an_outlier_row_does_not_spoil_a_fit(solver):
    found = LogisticRegression(solver=solver).fit(*outlier_row()).certificate_
    assert found.relative_gap <= TOL
    assert found.primal == pytest.approx(0.02792, rel=1e-3)


def test_a_stalled_solver_hands_over_and_the_reason_says_so():
    model = LogisticRegression().fit(*mixed_units())
    assert model.stop_reason_ == "tol"
    assert model.solver_ == "newton"
    assert model.solver_reason_.startswith("dual: there are at least as many weights (723) as rows")
    assert "stopped shrinking" in model.solver_reason_
    assert model.solver_reason_.endswith("so newton took over.")
    assert model.n_iter_ == model.history_.epochs == len(model.history_["seconds"])
    assert (np.diff(model.history_["seconds"]) >= 0.0).all()


def test_callbacks_continue_the_count_of_epochs_when_another_solver_takes_over():
    heard = []
    model = LogisticRegression().fit(*mixed_units(), on_epoch=lambda e: heard.append(e[0].epoch))
    assert heard == list(range(1, model.history_.epochs + 1))


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_named_dual_ends_with_its_best_point(loss):
    X, y = mixed_units()
    model = LinearSVC(loss=loss, solver="dual", C=100.0)
    with pytest.warns(UserWarning, match="dual stalled after .* duality gap stopped shrinking"):
        model.fit(X, y)
    assert model.stop_reason_ == "stalled"
    assert model.n_iter_ <= 400
    values = model.history_["objective"]
    assert model.certificate_.primal == pytest.approx(values.min(), rel=1e-12)
    assert values[-1] > values.min()  # it is not simply the last one
    assert model.certificate_.primal <= 3.0  # of zero weights: a margin for each of three classes
    assert "Use solver='auto'" in str(model.diagnoses_[0])


def test_a_start_that_is_worse_than_zero_is_dropped():
    X, y = outlier_row()
    model = LogisticRegression(warm_start=True, solver="dual", max_iter=1).fit(X, y)
    model.coef_[:] = 1e200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = model.fit(X, y)
    assert again.certificate_.primal <= np.log(2.0)


def test_the_dual_solver_handles_a_feature_that_dominates_all_rows():
    problem = next(p for p in PROBLEMS if p.kind == "text plus numbers" and p.loss == "hinge")
    X = problem.X.toarray()
    X[:, -1] *= 1e6 / np.abs(X[:, -1]).max()
    labels = (problem.y > 0).astype(int)
    for form in (X, sp.csr_array(X), sp.csr_matrix(X), sp.csc_matrix(X)):
        assert LinearSVC(loss="hinge").fit(form, labels).certificate_.relative_gap <= TOL
        model = LinearSVC(loss="hinge", solver="dual", random_state=0).fit(form, labels)
        assert model.certificate_.relative_gap <= TOL


def test_the_dual_with_a_strong_feature_gives_the_same_bits_alone_and_in_a_batch():
    problem = next(p for p in PROBLEMS if p.kind == "text plus numbers" and p.loss == "logistic")
    models = [LogisticRegression(C=C, solver="dual") for C in (0.1, 1.0, 10.0)]
    for model in fit_many(models, problem.X, problem.y):
        alone = LogisticRegression(C=model.C, solver="dual").fit(problem.X, problem.y)
        np.testing.assert_array_equal(model.coef_, alone.coef_)
        np.testing.assert_array_equal(model.intercept_, alone.intercept_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda C: LogisticRegression(C=C),
        lambda C: LogisticRegression(C=C, solver="newton"),
        lambda C: LinearSVC(C=C, solver="newton"),
    ],
    ids=["handed over", "newton", "newton, squared hinge"],
)
def test_models_whose_steps_are_rejected_equal_models_fitted_alone(make):
    X, y = mixed_units()
    together = fit_many([make(C) for C in (1e-3, 1.0, 100.0)], X, y)
    for model in together:
        alone = make(model.C).fit(X, y)
        assert model.n_iter_ == alone.n_iter_
        np.testing.assert_array_equal(model.coef_, alone.coef_)


@pytest.mark.parametrize("call", [1, 6, 8])
def test_an_interruption_ends_a_fit_that_could_use_a_fallback(call):
    calls = []

    def stop(epochs):
        calls.append(epochs)
        if len(calls) == call:
            raise Interrupted

    model = LogisticRegression()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*mixed_units(), on_epoch=stop)
    assert len(calls) == call == model.n_iter_


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_times_in_milliseconds_are_certified_by_every_solver_for_hinges(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    X[:, 0] = 1.7e12 + rng.uniform(0, 3.15e10, 300)  # within a year
    y = ((X[:, 0] - 1.7e12) / 3.15e10 - 0.5 + 0.3 * X[:, 3] > 0).astype(int)
    centred = X.copy()
    centred[:, 0] -= 1.7e12 + 1.5e10
    expected = LinearSVC(loss=loss, tol=1e-7).fit(centred, y).certificate_.primal
    for solver in ("auto", "dual", "interior" if loss == "hinge" else "newton"):
        for form in (X, sp.csr_array(X)):
            found = LinearSVC(loss=loss, solver=solver).fit(form, y).certificate_
            assert found.relative_gap <= TOL
            assert found.primal == pytest.approx(expected, rel=1e-3)


def test_newton_solves_squared_hinges_in_mixed_units():
    X, y = mixed_units()
    model = LinearSVC(solver="newton", C=1.0).fit(X[:, :250], y % 2)
    assert model.stop_reason_ == "tol"
    assert model.n_iter_ < 200


def sms_and(column: str):
    """TF-IDF of the SMS collection and one column of numbers."""
    import os

    path = os.path.join(os.environ["SEPARATRIX_DATA"], "text", "sms.tsv")
    with open(path, encoding="utf-8") as file:
        rows = [line for line in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if line]
    texts = [row[1] for row in rows]
    rng, n = np.random.default_rng(0), len(texts)
    columns = {
        "length": np.array([[len(text)] for text in texts], float),
        "uniform": rng.uniform(0, 1e5, (n, 1)),
        "time": 1.7e9 + 60.0 * np.arange(n)[:, None],
        "often 0": rng.binomial(1, 0.1, (n, 1)) * rng.uniform(0, 1e4, (n, 1)),
    }
    columns["all"] = np.hstack(list(columns.values()))
    words = TfidfVectorizer().fit_transform(texts)
    return sp.csr_array(sp.hstack([words, columns[column]])), np.array([row[0] for row in rows])


@pytest.mark.slow
@pytest.mark.data("text/sms.tsv")
@pytest.mark.parametrize("column", ["length", "uniform", "time", "often 0", "all"])
def test_text_with_a_column_of_numbers_is_certified_and_accurate(column):
    X, y = sms_and(column)
    train_X, test_X, train_y, test_y = train_test_split(X, y, random_state=0, stratify=y)
    models = [LogisticRegression(), LinearSVC(), LinearSVC(loss="hinge"), LinearSVC(C=100.0)]
    for model in models:
        model.fit(train_X, train_y)
        assert model.stop_reason_ == "tol"
        assert model.n_iter_ <= 300
        assert model.score(test_X, test_y) >= 0.94
