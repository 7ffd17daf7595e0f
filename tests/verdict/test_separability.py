"""Separable data is detected, with a direction that separates in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_iris

from separatrix import GradientDescentClassifier
from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES, OneVsRest
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.solvers import Newton
from separatrix.training import Stop, run
from separatrix.verdict.separability import has_optimum, separating_directions
from support.forms import BINARY

KINDS: dict[str, Any] = {"dense": np.asarray, "CSR": sp.csr_array, "CSC": sp.csc_array}

TUMOURS = np.array([[10.0, 52.0], [2.0, 73.0], [5.0, 55.0], [12.0, 49.0]])
MALIGNANT = np.array([1, 0, 0, 1])
CROSS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])  # exclusive or
CROSS_CLASS = np.array([0, 0, 1, 1])


def margins(objective: Objective, direction: Model, m: int) -> list[list[Fraction]]:
    """The margins of the true class over every other along a direction, for rows with weight."""
    out = []
    one_vs_rest = isinstance(objective.loss, OneVsRest)
    for block in objective.data.map_blocks(lambda block: block):
        n = len(block.y)
        X, y = block.X.X, block.y.reshape(n, -1)[:, 0]
        X = X.toarray() if sp.issparse(X) else X
        weights = block.weights.reshape(n, -1)
        s = weights[:, min(m, weights.shape[1] - 1)]
        W, b = direction.W[:, 0], direction.b[0]
        for x, label in zip(X[s > 0], y[s > 0]):
            Z = [
                sum((Fraction(float(v)) * Fraction(float(w)) for v, w in zip(x, W[:, k]) if w),
                    Fraction(float(b[k])))
                for k in range(len(b))
            ]  # fmt: skip
            if one_vs_rest:
                out.append([z if k == label else -z for k, z in enumerate(Z)])
            else:
                Z = [Fraction(0), *Z] if len(Z) < max(len(objective.data.classes), 2) else Z
                out.append([Z[label] - z for k, z in enumerate(Z) if k != label])
    return out


def endless_of(objective: Objective, model: Model) -> list[bool]:
    """Which models have a separating direction; each direction is checked in exact fractions."""
    found = separating_directions(objective, model)
    for m, direction in enumerate(found):
        if direction is not None:
            assert direction.W.dtype == direction.b.dtype == np.float64
            leads = [lead for row in margins(objective, direction, m) for lead in row]
            assert min(leads) >= 0 < max(leads)
            assert objective.bias or not direction.b.any()
    return [direction is not None for direction in found]


def endless(
    X: Any, y: Any, s: Any = None, loss: str = "logistic", bias: bool = True, l2: float = 0.0
) -> list[bool]:
    """The result for zero weights, which separate nothing themselves."""
    data = Dataset.of(X, y, s)
    form = LOSSES[loss]
    objective = Objective(data, form, ElasticNet(0.0, l2), bias=bias)
    outputs = form.n_outputs(len(data.classes))
    models = 1 if s is None or np.ndim(s) == 1 else np.shape(s)[1]
    model = Model.zeros(data.n_features, models, outputs)
    return endless_of(objective, model)


@pytest.mark.parametrize("loss", ["logistic", "softmax", "softmax_reference"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_of_tumours_is_separable(loss: str, kind: str) -> None:
    assert endless(KINDS[kind](TUMOURS), MALIGNANT, loss=loss) == [True]
    assert endless(KINDS[kind](TUMOURS.astype(int)), MALIGNANT, loss=loss) == [True]


@pytest.mark.parametrize("loss", ["logistic", "softmax", "softmax_reference"])
def test_the_exclusive_or_is_not_separable(loss: str) -> None:
    assert endless(CROSS, CROSS_CLASS, loss=loss) == [False]


def test_only_rows_with_weight_need_to_be_separated() -> None:
    assert endless(CROSS, CROSS_CLASS, np.array([1.0, 1.0, 0.0, 1.0])) == [True]
    s = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 1, 0]], float)
    assert endless(CROSS, CROSS_CLASS, s)[:2] == [False, True]


def test_a_hyperplane_through_the_origin_may_not_be_enough() -> None:
    X, y = np.array([[1.0], [2.0]]), np.array([0, 1])
    assert endless(X, y) == [True]
    assert endless(X, y, bias=False) == [False]


def test_a_penalty_or_another_loss_has_a_finite_optimum() -> None:
    assert endless(TUMOURS, MALIGNANT, l2=1e-9) == [False]
    for form in BINARY:
        expected = form.loss.name in ("logistic", "softmax_reference")
        assert endless(TUMOURS, MALIGNANT, loss=form.loss.name) == [expected]


def test_three_classes_are_separable_if_each_has_the_highest_score_on_its_rows() -> None:
    centres = np.array([[0.0, 5.0], [-4.0, -3.0], [4.0, -3.0]])
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 10)
    X = centres[y] + rng.uniform(-1, 1, (30, 2))
    for loss in ("softmax", "softmax_reference"):
        assert endless(X, y, loss=loss) == [True]
        mixed = y.copy()
        mixed[0], mixed[10] = 1, 0
        assert endless(X, mixed, loss=loss) == [True]  # the third class is still separated
        mixed[11], mixed[20] = 2, 1
        mixed[1], mixed[21] = 2, 0
        assert endless(X, mixed, loss=loss) == [False]


def test_separating_weights_prove_separability_for_their_model_with_data_of_any_size() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 6))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    objective = Objective(Dataset.of(X, y), LOSSES["logistic"], ElasticNet([0, 0, 1], 0.0))
    model = Model.zeros(6, 3, 1)
    assert endless_of(objective, model) == [False] * 3
    model.W[:2, 1] = 1.0
    assert endless_of(objective, model) == [False, True, False]
    s = np.ones((9000, 3))
    s[:5], y[:5] = 0.0, 1 - y[:5]
    s[0, 0] = 1.0  # one row on the wrong side counts for the first model
    model.W[:2] = 1.0
    objective = Objective(Dataset.of(X, y, s), LOSSES["logistic"], ElasticNet([0, 0, 1], 0.0))
    assert endless_of(objective, model) == [False, True, False]


def test_one_separated_class_is_enough_for_one_vs_rest() -> None:
    X, y = np.array([[0.0], [0.1], [0.2], [5.0]]), np.array([0, 1, 0, 2])
    for rows, expected in ((slice(None), True), (slice(3), True), ([0, 1, 2, 1, 1], False)):
        labels = np.array([0, 1, 0, 0, 2]) if expected is False else y[rows]
        data = Dataset.of(X[rows], labels, classes=[0, 1, 2])
        objective = Objective(data, OneVsRest(LOSSES["logistic"]), ElasticNet(0.0, 0.0))
        assert endless_of(objective, Model.zeros(1, 1, 3)) == [expected]
    data = Dataset.of(X, y)
    objective = Objective(data, OneVsRest(LOSSES["logistic"]), ElasticNet(0.0, 0.0))
    model = Model.zeros(1, 1, 3)
    model.W[0, 0], model.b[0, 2] = 1.0, -2.0
    (direction,) = separating_directions(objective, model)
    assert direction is not None
    assert direction.W[0, 0].tolist() == [0.0, 0.0, 1.0]  # only the hyperplane that separates


def test_data_in_blocks_is_separated_by_the_model_itself() -> None:
    parts = [Block.of(TUMOURS[c], MALIGNANT[c]) for c in (slice(0, 2), slice(2, 4))]
    objective = Objective(Dataset(parts, np.arange(2)), LOSSES["logistic"], ElasticNet(0.0, 0.0))
    model = Model.zeros(2, 1, 1)
    assert endless_of(objective, model) == [False]
    model.W[0], model.b[0] = 1.0, -8.0
    assert endless_of(objective, model) == [True]


def test_rows_of_a_single_class_are_separable() -> None:
    data = Dataset.of(TUMOURS, np.zeros(4, int), classes=[0, 1])
    objective = Objective(data, LOSSES["logistic"], ElasticNet(0.0, 0.0))
    assert endless_of(objective, Model.zeros(2, 1, 1)) == [True]
    unnamed = Objective(
        Dataset.of(TUMOURS, np.zeros(4, int)), LOSSES["logistic"], ElasticNet(0.0, 0.0)
    )
    assert endless_of(unnamed, Model.zeros(2, 1, 1)) == [True]
    s = np.array([[1.0, 0.0]] * 4)
    weightless = Objective(
        Dataset.of(CROSS, CROSS_CLASS, s), LOSSES["logistic"], ElasticNet(0.0, 0.0)
    )
    assert endless_of(weightless, Model.zeros(2, 2, 1))[0] is False


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["logistic", "softmax", "softmax_reference"])
def test_a_category_of_only_one_class_is_enough_for_data_of_any_size(loss: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((2600, 9)), np.zeros(2600)])
    y = rng.integers(0, 2, 2600)
    assert endless(KINDS[kind](X), y, loss=loss) == [False]
    for label in (0, 1):
        X[:, 9] = 0.0
        X[np.flatnonzero(y == label)[:3], 9] = 1.0
        assert endless(KINDS[kind](X), y, loss=loss) == [True]
        assert endless(KINDS[kind](-X), y, loss=loss, bias=False) == [True]
    X[np.flatnonzero(y != label)[:1], 9] = 1.0
    assert endless(KINDS[kind](X), y, loss=loss) == [False]


def test_an_empty_cell_of_a_table_is_enough() -> None:
    # Two categories; both classes in three cells, one class only in the fourth.
    X = np.array([[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]], float)
    y = np.array([0, 1, 0, 1, 0, 1, 1, 1])
    with_product = np.column_stack([X, X[:, 0] * X[:, 1]])
    assert endless(with_product, y) == [True]
    assert endless(X, y) == [False]  # without the product no hyperplane isolates that cell
    corner = X[[0, 2, 3, 4, 5, 6]], np.array([0, 0, 1, 0, 1, 1])
    assert endless(*corner) == [True]
    assert endless(*corner, loss="softmax") == [True]


def test_an_overlap_below_the_tolerance_of_a_linear_programme_is_not_separable() -> None:
    X, y = np.array([[0.0], [1.0 + 2.0**-40], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    assert endless(X, y) == [False]
    assert endless(np.minimum(X, [[9.0], [1.0], [9.0], [9.0]]), y) == [True]


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 2)), min_size=4,
             max_size=12),
    st.booleans(),
)  # fmt: skip
def test_every_separating_direction_is_found_and_holds_exactly(
    rows: list[tuple[int, int, int]], bias: bool
) -> None:
    table = np.array(rows, float)
    X, y = table[:, :2], table[:, 2].astype(int)
    for loss, labels in (("softmax", y), ("logistic", np.minimum(y, 1))):
        data = Dataset.of(X, labels, classes=np.arange(3 if loss == "softmax" else 2))
        objective = Objective(data, LOSSES[loss], ElasticNet(0.0, 0.0), bias=bias)
        K = LOSSES[loss].n_outputs(len(data.classes))
        (found,) = endless_of(objective, Model.zeros(2, 1, K))
        assert found is not balanced(objective, len(data.classes))


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["logistic", "softmax", "softmax_reference"]),
    st.booleans(),
    st.floats(0.1, 4.0),
)
def test_a_small_gradient_proves_an_optimum_only_if_there_is_one(
    seed: int, loss: str, bias: bool, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    C = 2 if loss == "logistic" else 3
    y = np.arange(14) % C
    X = rng.standard_normal((14, 2)) + shift * np.column_stack([y, -y])
    s = rng.integers(0, 3, 14) + (np.arange(14) < C)
    objective = Objective(
        Dataset.of(X, y, s.astype(float)), LOSSES[loss], ElasticNet(0.0, 0.0), bias=bias
    )
    start = Model.zeros(2, 1, LOSSES[loss].n_outputs(C))
    ((result,),) = run(Newton(), objective, start, Stop(epochs=((60,),), tol=np.array([1e-9])))
    there_is = balanced(objective.select(np.array([0])), C, s > 0)
    for model in (start, result.model):
        assert not has_optimum(objective, model) or there_is


@pytest.mark.parametrize("loss", ["logistic", "softmax", "softmax_reference"])
def test_a_fitted_model_proves_that_overlapping_classes_are_not_separable(loss: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) % (2 if loss == "logistic" else 3)
    objective = Objective(
        Dataset.of(rng.standard_normal((300, 4)), y), LOSSES[loss], ElasticNet(0.0, 0.0)
    )
    start = Model.zeros(4, 1, LOSSES[loss].n_outputs(y.max() + 1))
    ((result,),) = run(Newton(), objective, start, Stop(epochs=((60,),), tol=np.array([1e-6])))
    assert has_optimum(objective, result.model)


def balanced(objective: Objective, n_classes: int, counts: Any = None) -> bool:
    """Whether some u > 0 has A^T u = 0: then, by Stiemke, there is no direction."""
    block = objective.data.only_block()
    X = np.column_stack([block.X.X, np.full(len(block.y), float(objective.bias))])
    pairs = []
    rows = np.arange(len(X)) if counts is None else np.flatnonzero(counts)
    for x, label in zip(X[rows], block.y[rows]):
        for j in range(n_classes):
            if j != label:
                D = np.zeros((X.shape[1], n_classes))
                D[:, label], D[:, j] = x, -x
                pairs.append(D.ravel())
    A = np.array(pairs)
    found = linprog(np.zeros(len(A)), A_eq=A.T, b_eq=np.zeros(A.shape[1]), bounds=(1.0, None))
    return bool(found.status == 0)


def test_quasi_complete_separation_is_reported_with_its_number_of_rows():
    """The classes are linearly separable only if every row is strictly on its side."""
    X, y = load_iris(return_X_y=True)

    def message_for(X, y):
        found = GradientDescentClassifier(epochs=5).fit(X, y).diagnoses_
        return next(d.message for d in found if d.kind == "separable")

    assert message_for(X[:100], y[:100]).startswith("The classes are linearly separable")
    assert "class 0 is separated from the others" in message_for(X, y)
    message = message_for(np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 1, 1]))
    assert "linearly separable" not in message_for(X, y) + message
    assert "rows keeps falling" in message
    assert "by column 0 alone" in message
