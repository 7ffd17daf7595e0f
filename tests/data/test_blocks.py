"""Data in several blocks gives the same models as one block, and keeps no array of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.matrix import rows_read
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import OPTIMISERS, RULES, Gradient
from separatrix.training.legality import missing_needs
from support.block_passes import OF_ROWS, lengths_of_axes, passes_by_pickle

N, D, ROWS = 203, 5, 29  # seven blocks
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = (X @ RNG.standard_normal((D, 3)) + 2.0 * RNG.gumbel(size=(N, 3))).argmax(axis=1)
TWO = (Y > 0).astype(int)
S = RNG.exponential(1.0, N)
TIGHT: dict[str, Any] = {"tol": 1e-12, "max_iter": 500}

SMOOTH_LOSSES = [name for name, loss in LOSSES.items() if loss.smooth and loss.convex]
BY_BLOCKS = [
    name for name in OPTIMISERS if not missing_needs(name, LOSSES["logistic"], 0.0, 0.1, False)
]
FITS: dict[str, tuple[Any, Any]] = {
    **{f"solver {name}": (sx.LogisticRegression(solver=name, **TIGHT), Y) for name in BY_BLOCKS},
    "one-vs-rest": (sx.LogisticRegression(multiclass="ovr", **TIGHT), Y),
    "two classes": (sx.LogisticRegression(**TIGHT), TWO),
    "class weights": (sx.LogisticRegression(class_weight="balanced", **TIGHT), Y),
    "no penalty": (sx.LogisticRegression(C=np.inf, **TIGHT), TWO),
    "no bias": (sx.LogisticRegression(fit_intercept=False, **TIGHT), Y),
    "L1": (sx.LogisticRegression(l1_ratio=1.0, C=0.3, **TIGHT), Y),
    "elastic net": (sx.LogisticRegression(l1_ratio=0.5, C=0.3, **TIGHT), TWO),
    "penalised bias": (sx.LinearSVC(intercept_scaling=1.0, **TIGHT), Y),
    "squared hinge": (sx.LinearSVC(loss="squared_hinge", **TIGHT), TWO),
    "calibrated": (sx.LinearSVC(loss="squared_hinge", probability=3, **TIGHT), TWO),
    **{
        f"rule {rule}": (sx.GradientDescentClassifier(rule=rule, epochs=15, l2=0.01), Y)
        for rule in RULES
    },
    **{
        f"gradient on {loss}": (sx.GradientDescentClassifier(loss=loss, epochs=15), TWO)
        for loss in LOSSES
    },
    "grid": (sx.GridSearchCV(sx.LogisticRegression(**TIGHT), {"C": [0.1, 10.0]}, cv=3), Y),
    "scaled grid": (
        sx.GridSearchCV(
            make_pipeline(StandardScaler(), sx.LogisticRegression(**TIGHT)),
            {"logisticregression__C": [0.1, 10.0]},
            cv=3,
        ),
        Y,
    ),
    "grid of rates": (
        sx.GridSearchCV(
            sx.GradientDescentClassifier(epochs=9), {"learning_rate": [0.1, 0.01]}, cv=3
        ),
        Y,
    ),
    "penalty search": (sx.LogisticRegressionCV(Cs=3, cv=3, **TIGHT), Y),
    "L1 search": (sx.LogisticRegressionCV(Cs=3, cv=3, l1_ratios=[1.0], **TIGHT), TWO),
    "squared hinge search": (sx.LinearSVCCV(Cs=3, cv=3, loss="squared_hinge", **TIGHT), Y),
}
FACTS = ("total_weight", "given_weight", "largest_values", "constant_columns", "origin")
# Adam divides by the root of a sum of squares, which enlarges rounding errors of tiny gradients.
TOLERANCE = {"rule adam": 1e-10, "rule lazy_adam": 1e-10, "solver lbfgs": 1e-10}


def numbers_of(fitted: Any) -> dict[str, Any]:
    """The numbers that a fit or a search has found."""
    model = getattr(fitted, "best_estimator_", fitted)
    model = model[-1] if hasattr(model, "steps") else model
    found = {"coef": model.coef_, "intercept": model.intercept_}
    proof = getattr(model, "certificate_", None)
    for name in ("primal", "dual"):
        if getattr(proof, name, None) is not None:
            found[name] = np.array(getattr(proof, name))
    if hasattr(fitted, "cv_results_"):
        found["scores"] = fitted.cv_results_["mean_test_score"]
    return found


def fit(name: str) -> Any:
    estimator, y = FITS[name]
    # A pipeline does not take sample weights.
    return clone(estimator).fit(X, y, **({} if name == "scaled grid" else {"sample_weight": S}))


@pytest.mark.parametrize("name", FITS)
def test_every_fit_and_search_is_the_same_on_seven_blocks(name: str) -> None:
    one = numbers_of(fit(name))
    with sx.rows_per_block(ROWS):
        again = numbers_of(fit(name))
        with passes_by_pickle() as passes:
            seven = numbers_of(fit(name))
    for what, value in one.items():
        rtol = TOLERANCE.get(name, 1e-12)
        atol = rtol * np.abs(value).max()
        np.testing.assert_allclose(seven[what], value, rtol=rtol, atol=atol, err_msg=what)
        np.testing.assert_array_equal(again[what], seven[what], err_msg=what)
    of_rows = {f for f, found in passes if lengths_of_axes(found) & {ROWS, N}}
    assert of_rows <= set(OF_ROWS)
    assert len(passes) > 3


@pytest.mark.parametrize("name", ["perceptron", "hinge", "single rows", "averages"])
def test_rows_in_random_order_have_the_same_bits_for_the_same_blocks(name: str) -> None:
    estimator = {
        "perceptron": sx.Perceptron(max_iter=5),
        "hinge": sx.GradientDescentClassifier(loss="hinge", batch_size=8, epochs=3),
        "single rows": sx.GradientDescentClassifier(batch_size=1, epochs=2),
        "averages": sx.SGDClassifier(average=True, max_iter=3, tol=None, random_state=0),
    }[name]
    with sx.rows_per_block(ROWS):
        a = clone(estimator).fit(X, Y)
        with passes_by_pickle():
            b = clone(estimator).fit(X, Y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)


def test_a_mini_batch_never_crosses_the_end_of_a_block() -> None:
    rate, data = 0.5, Dataset.of(X[: 2 * ROWS], TWO[: 2 * ROWS], rows_per_block=ROWS)
    solver = Gradient(np.array([rate]), np.zeros(1), np.zeros(1), batch_size=20, seed=None)
    objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 0.0))
    found = solver.step(objective, solver.start(objective, Model.zeros(D, 1, 1)))
    # The steps on rows 0..19, 20..28, 29..48 and 49..57, each counted as a step on all rows.
    W, b = np.zeros(D), 0.0
    for rows in (slice(0, 20), slice(20, 29), slice(29, 49), slice(49, 58)):
        p = 1.0 / (1.0 + np.exp(-(X[rows] @ W + b)))
        # A gradient counts for all rows of its block, as n / m times the sum over m rows.
        slope = (p - TWO[rows]) / len(p)
        W, b = W - rate * X[rows].T @ slope, b - rate * slope.sum()
    np.testing.assert_allclose(found.model.W[:, 0, 0], W, rtol=1e-12)
    assert found.steps == 4


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_sparse_rows_are_cut_into_blocks_too(form: Any) -> None:
    A = form(np.where(np.abs(X) > 0.5, X, 0.0))
    one = sx.LogisticRegression(**TIGHT).fit(A, Y)
    with sx.rows_per_block(ROWS):
        seven = sx.LogisticRegression(**TIGHT).fit(A, Y)
    np.testing.assert_allclose(seven.coef_, one.coef_, rtol=1e-11, atol=1e-13)


def test_another_solver_reaches_the_optimum_of_one_block() -> None:
    """One block uses dual ascent for wide data, several use conjugate gradients."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((90, 700))
    y = (A[:, 0] + rng.standard_normal(90) > 0.0).astype(int)
    one = sx.LogisticRegression(C=0.01, tol=1e-10, max_iter=500).fit(A, y)
    with sx.rows_per_block(40), passes_by_pickle() as passes:
        many = sx.LogisticRegression(C=0.01, tol=1e-10, max_iter=500).fit(A, y)
    assert (one.solver_, many.solver_) == ("dual", "newton")
    assert many.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-8)
    assert "_product" in {name for name, _ in passes}


@pytest.mark.parametrize("method", ["wald", "bootstrap"])
def test_intervals_are_the_same_on_seven_blocks(method: str) -> None:
    model = sx.LogisticRegression(C=np.inf if method == "wald" else 1.0, **TIGHT).fit(X, TWO)
    options = {"method": method} | ({} if method == "wald" else {"n_replicates": 8, "level": 0.5})
    one = sx.confidence_intervals(model, X, TWO, **options)
    with sx.rows_per_block(ROWS):
        seven = sx.confidence_intervals(model, X, TWO, **options)
    np.testing.assert_allclose(seven.lower, one.lower, rtol=1e-9)
    np.testing.assert_allclose(seven.upper, one.upper, rtol=1e-9)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_paths_are_the_same_on_seven_blocks(l1_ratio: float) -> None:
    def fit() -> Any:
        return sx.regularization_path(X, TWO, l1_ratio=l1_ratio, Cs=4, standardize=True)

    one = fit()
    with sx.rows_per_block(ROWS):
        seven = fit()
    np.testing.assert_allclose(seven.coefs, one.coefs, rtol=1e-10, atol=1e-12)


def test_a_study_has_the_same_results_on_seven_blocks(tmp_path: Any) -> None:
    def losses(name: str) -> Any:
        estimator, grid = sx.GradientDescentClassifier(epochs=5), {"learning_rate": [0.3, 0.1]}
        study = sx.Study(name, estimator, grid, store=tmp_path / "studies.db")
        study.run(X, Y, X[:40], Y[:40])
        return [row["val_loss"] for row in study.table()]

    one = losses("one")
    with sx.rows_per_block(ROWS):
        seven = losses("seven")
    np.testing.assert_allclose(seven, one, rtol=1e-12)


def test_models_of_a_batch_share_every_pass() -> None:
    def passes(estimators: list[Any], s: Any = None) -> list[str]:
        with sx.rows_per_block(ROWS), passes_by_pickle() as seen:
            sx.fit_many(estimators, X, Y, s)
        return [name for name, _ in seen]

    def descents(count: int) -> list[Any]:
        rates = np.linspace(0.05, 0.2, count)
        return [sx.GradientDescentClassifier(learning_rate=r, epochs=9) for r in rates]

    assert passes(descents(12)) == passes(descents(1))
    for solver in BY_BLOCKS:
        model = sx.LogisticRegression(solver=solver, tol=1e-8)
        alone = passes([clone(model)], S)
        same = np.repeat(S[:, None], 6, axis=1)  # six models, each with weights of its own
        together = passes([clone(model) for _ in range(6)], same)
        assert len(together) <= len(alone), (together, alone)


def test_one_block_reads_no_row_more_often_than_needed() -> None:
    """On one block the scores are kept; on several, products with the Hessian read rows twice."""
    before = rows_read()
    sx.LogisticRegression(solver="newton", tol=1e-8).fit(X, Y)
    one = np.subtract(rows_read(), before).sum()
    before = rows_read()
    with sx.rows_per_block(ROWS):
        sx.LogisticRegression(solver="newton", tol=1e-8).fit(X, Y)
    assert np.subtract(rows_read(), before).sum() > one


@pytest.mark.parametrize("loss", ["hinge", "crammer_singer"])
def test_losses_with_kinks_refuse_blocks_and_name_squared_hinge(loss: str) -> None:
    estimator = (
        sx.LinearSVC(loss="hinge")
        if loss == "hinge"
        else sx.LinearSVC(loss="hinge", multiclass="crammer_singer")
    )
    with sx.rows_per_block(ROWS):
        with pytest.raises(
            ValueError, match=r"in one block in memory\. .* 7 blocks.*squared_hinge"
        ):
            clone(estimator).fit(X, Y)
        for solver in ("dual", "interior"):
            words = (
                rf"on data in several blocks: {solver} needs all rows in one block.*squared_hinge"
            )
            with pytest.raises(ValueError, match=words):
                clone(estimator).set_params(solver=solver).fit(X, Y)


def test_dual_ascent_on_blocks_is_refused_with_the_solvers_that_work() -> None:
    words = r"dual needs all rows in one block in memory\. .*: coordinate, lbfgs, newton\."
    with sx.rows_per_block(ROWS), pytest.raises(ValueError, match=words):
        sx.LogisticRegression(solver="dual").fit(X, Y)


def test_the_size_of_blocks_must_be_a_whole_number() -> None:
    for wrong in (0, 2.5, True):
        with (
            pytest.raises(ValueError, match=r"'n_rows' .* must be a whole number >= 1"),
            sx.rows_per_block(wrong),  # type: ignore[arg-type]
        ):
            pass
    with sx.rows_per_block(10), sx.rows_per_block(None):
        sx.LinearSVC(loss="hinge").fit(X, TWO)


def test_views_of_blocks_equal_views_of_one_block() -> None:
    A = np.c_[X, np.full(N, 7.0)]
    one, many = (Dataset.of(A, TWO, S, rows_per_block=rows) for rows in (None, ROWS))
    folds = np.stack([S * (np.arange(N) % 3 != k) for k in range(3)], axis=1)
    views = [
        lambda data: data.with_weights(folds),
        lambda data: data.with_weights(folds, np.array([2, 0])).select(np.array([1])),
        lambda data: data.with_column(2.0),
        lambda data: data.without_constants(),
        lambda data: data.with_weights(1e300 * folds),
    ]
    for view in views:
        a, b = view(one), view(many)
        assert b.facts.own == a.facts.own
        assert b.n_features == a.n_features
        for name in (
            "total_weight",
            "given_weight",
            "largest_values",
            "constant_columns",
            "origin",
        ):
            left, right = getattr(a, name)(), getattr(b, name)()
            np.testing.assert_allclose(right, left, rtol=1e-13, err_msg=name)
        for left, right in zip(a.moments() + a.class_shares(), b.moments() + b.class_shares()):
            np.testing.assert_allclose(right, left, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(many.labels(), one.labels())
