"""Explanations of predictions, in Python and on the command line."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from separatrix import (
    Bundle,
    GradientDescentClassifier,
    KernelClassifier,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    charts,
    explain,
    load,
)
from separatrix.readers import Columns, Source
from separatrix.workflow.fitting import fit_source
from support.command import call, facts
from support.plain import is_plain


def models() -> list:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 4))
    two, three = (X[:, 0] > 0.3).astype(int), np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    words = np.array(["ant", "bee", "cat"])
    return [
        (model.fit(X, words[y]), X, words[y])
        for model, y in [
            (LogisticRegression(), two),
            (LogisticRegression(), three),
            (LogisticRegression(multiclass="reference"), three),
            (LogisticRegression(multiclass="ovr"), three),
            (LinearSVC(), three),
            (LinearSVC(probability=3), two),
            (LinearSVC(loss="hinge", multiclass="weston_watkins"), three),
            (Perceptron(epochs=5), two),
            (GradientDescentClassifier("squared"), three),
        ]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("k", range(9))
def test_the_explained_prediction_is_the_prediction_of_the_model(k: int) -> None:
    model, X, y = models()[k]
    for row, label in zip(X[:12], y[:12]):
        found = explain.prediction(model, row, label=label)
        assert found.decision == model.predict(row[None])[0]
        assert found.right == (found.decision == label)
        total = found.bias_towards + sum(each.towards for each in found.contributions)
        assert total == pytest.approx(found.margin)
        assert found.margin >= 0
        if len(model.classes_) == 2:
            assert abs(model.decision_function(row[None])[0]) == pytest.approx(found.margin)
        else:
            np.testing.assert_allclose(found.scores, model.decision_function(row[None])[0])
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(found.probabilities, model.predict_proba(row[None])[0])
        else:
            assert found.probabilities is None
        sizes = [abs(each.towards) for each in found.contributions]
        assert sizes == sorted(sizes, reverse=True)
        assert is_plain(found.to_dict())


def test_the_loss_of_an_explained_row_is_its_cross_entropy() -> None:
    model, X, y = models()[1]
    P = model.predict_proba(X)
    for i in range(5):
        found = explain.prediction(model, X[i], label=y[i])
        own = P[i, model.classes_.tolist().index(y[i])]
        assert found.loss == pytest.approx(-math.log(own))


def test_a_threshold_changes_decision_and_margin() -> None:
    model, X, _ = models()[0]
    z = model.decision_function(X[:1])[0]
    for shift in (-0.5, 0.5):
        model.threshold_ = z + shift
        found = explain.prediction(model, X[0])
        assert found.decision == model.predict(X[:1])[0]
        assert found.margin == pytest.approx(0.5)
        assert "threshold" in found.verdict
        *parts, total = (row[-1] for row in found.contribution_rows())
        assert sum(parts) == pytest.approx(total) == pytest.approx(0.5)


def test_a_row_moved_by_the_distance_is_on_the_decision_boundary() -> None:
    model, X, _ = models()[1]
    found = explain.prediction(model, X[0])
    names = model.classes_.tolist()
    w = model.coef_[names.index(found.decision)] - model.coef_[names.index(found.runner_up)]
    moved = X[0] - found.distance * w / np.linalg.norm(w)
    scores = model.decision_function(moved[None])[0]
    assert scores[names.index(found.decision)] == pytest.approx(
        scores[names.index(found.runner_up)]
    )


def test_sparse_and_dense_rows_have_equal_explanations_and_top_limits_them() -> None:
    model, X, _ = models()[1]
    whole = explain.prediction(model, X[0])
    assert explain.prediction(model, sp.csr_array(X[:1])) == whole
    part = explain.prediction(model, X[0], top=1)
    assert part.contributions == whole.contributions[:1]
    assert part.hidden == 3


def test_a_row_of_a_frame_must_have_the_columns_of_training() -> None:
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)), columns=["a", "b"])
    y = (X["a"] > 0).to_numpy()
    model = LogisticRegression().fit(X, y)
    whole = explain.prediction(model, X.iloc[[3]])
    assert explain.prediction(model, X.iloc[3]) == whole
    assert explain.prediction(model, X.to_numpy()[3]) == whole
    assert {part.feature for part in whole.contributions} == {"a", "b"}
    dense, sparse = (explain.likelihood(model, rows, y) for rows in (X, sp.csr_array(X)))
    assert dense.log_likelihood == pytest.approx(sparse.log_likelihood)
    with pytest.raises(ValueError, match="columns must be the same as in training: a, b"):
        explain.prediction(model, X[["b", "a"]].iloc[[3]])


def test_the_explanation_of_a_text_names_its_words() -> None:
    texts = ["free money now", "lunch at noon", "free phone offer", "see you at lunch"] * 5
    y = np.array(["spam", "ham"] * 10)
    source = Source.of(Columns({"text": texts}, text=["text"]), y, name="mail")
    bundle = fit_source(source).bundle
    found = explain.prediction(bundle, source.rows([0]))
    assert found.decision == found.label == "spam"
    assert {"word:free", "word:money", "word:now"} >= {c.feature for c in found.contributions}
    assert found.contributions[0].feature == "word:free"
    assert found.row == {"text": "free money now"}
    assert "word:free" in found.to_text()


def test_the_products_of_an_image_sum_to_the_margin() -> None:
    digits = load("digits")
    bundle = fit_source(digits).bundle
    found = explain.prediction(bundle, digits.rows([3]))
    assert found.template is not None
    products = np.array(found.template.products)
    assert products.shape == (8, 8)
    assert products.sum() + found.bias_towards == pytest.approx(found.margin)
    first = next(c for c in found.contributions if c.feature == "pixel_2_3")
    assert products[2, 3] == pytest.approx(first.towards)
    assert len(found.template.to_text().splitlines()) == 8


def test_invalid_rows_and_models_are_refused() -> None:
    model, X, _ = models()[0]
    with pytest.raises(ValueError, match="exactly one row"):
        explain.prediction(model, X[:2])
    with pytest.raises(ValueError, match="has 4 features"):
        explain.prediction(model, X[0, :3])
    with pytest.raises(ValueError, match="finite"):
        explain.prediction(model, [1, 2, 3, np.nan])
    with pytest.raises(TypeError, match="fitted classifier"):
        explain.prediction("model.sx", X[0])
    kernel = KernelClassifier(kernel="linear").fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="no weights of features"):
        explain.prediction(kernel, X[0])
    assert "not one of the classes" in explain.prediction(model, X[0], label="dog").notes[0]


# The command.


@pytest.fixture
def iris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    call("fit", "iris", "--out", "iris.sx", "--quiet")
    return tmp_path


def test_the_command_and_the_library_give_the_same_explanation(iris) -> None:
    found = facts("explain", "iris.sx", "iris", "--row", 17)
    from separatrix import load_model

    expected = explain.prediction(load_model("iris.sx"), load("iris").rows([16]), top=10)
    assert found["decision"] == expected.decision
    assert found["scores"] == list(expected.scores)
    assert found["contributions"][0]["feature"] == expected.contributions[0].feature
    shown = call("explain", "iris.sx", "iris", "--row", 17).output
    assert expected.contributions[0].feature in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("row", [0, -3, 151, 10**12])
def test_the_command_refuses_row_numbers_out_of_range(iris, row: int) -> None:
    output = call("explain", "iris.sx", "iris", "--row", row, code=2).output
    assert "from 1 to" in output
    assert f"Got {row}" in " ".join(output.split())


def test_a_bundle_without_preparation_is_explained_like_its_model() -> None:
    model, X, _ = models()[1]
    assert explain.prediction(Bundle(model), X[:1]) == explain.prediction(model, X[0])


def test_values_have_the_units_of_the_data_and_contributions_add_up() -> None:
    iris = load("iris")
    bundle = fit_source(iris).bundle
    row = iris.rows([2])
    raw = dict(zip(iris.feature_names, row.table[0].tolist()))
    found = explain.prediction(bundle, row, top=2)
    assert found.header[1:4] == ("value", "prepared", "weight")
    for part, cells in zip(found.contributions, found.contribution_rows()):
        assert part.raw == cells[1] == raw[part.feature]
        assert part.value == cells[2] != part.raw
    rows = found.contribution_rows()
    assert rows[2][0] == "2 smaller contributions"
    assert rows[-1][0] == "sum"
    assert sum(cells[-1] for cells in rows[:-1]) == pytest.approx(rows[-1][-1], rel=1e-12)
    assert "smaller contributions" in found.to_text()
    assert found.to_dict()["contributions"][0]["raw"] == found.contributions[0].raw
    chart = json.dumps(charts.contributions(found).to_dict())
    assert all(f"{part.feature} = {part.raw:g}" in chart for part in found.contributions)


def test_the_pixels_of_an_image_are_in_the_units_of_the_data() -> None:
    digits = load("digits")
    bundle = fit_source(digits).bundle
    found = explain.prediction(bundle, digits.rows([0]))
    np.testing.assert_allclose(np.ravel(found.template.pixels), digits.table[0], atol=1e-9)


def test_the_columns_of_a_table_may_be_in_any_order(tmp_path) -> None:
    iris = load("iris")
    bundle = fit_source(iris).bundle
    bundle.save(tmp_path / "iris.sx")
    header = ",".join(reversed(iris.feature_names))
    (tmp_path / "rows.csv").write_text(f"{header}\n0.2,1.3,3.2,4.7\n")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    found = facts("explain", tmp_path / "iris.sx", tmp_path / "rows.csv")
    same = explain.prediction(bundle, iris.rows([2]))
    assert found["scores"] == pytest.approx(same.scores, rel=1e-12)
    refused = call("explain", tmp_path / "iris.sx", tmp_path / "other.csv", code=1)
    assert "a table with these columns" in " ".join(refused.output.split())


def test_control_characters_of_the_data_do_not_reach_the_terminal(tmp_path) -> None:
    lines = ["ham\thi there \x1b[31mfriend", "spam\twin \x1b[2Jprize"] * 10
    (tmp_path / "mail.tsv").write_text("\n".join(lines))
    mail = load(tmp_path / "mail.tsv", header=False)
    bundle = fit_source(mail).bundle
    bundle.save(tmp_path / "mail.sx")
    said = call("explain", tmp_path / "mail.sx", tmp_path / "mail.tsv").stdout
    assert "\x1b" not in said
    assert "\\x1b[31m" in said
    assert "\x1b" not in explain.prediction(bundle, mail.rows([0])).to_text()
