"""GridSearchCV(certified=True): bounds on fold scores, and a proven choice."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    GradientDescentClassifier,
    GridSearchCV,
    KernelClassifier,
    LinearSVC,
    LogisticRegression,
    rows_per_block,
)
from separatrix.model_selection.certified.candidates import prove_choice

CS = [0.001, 0.03, 1.0, 30.0]
CASES = {
    "two classes": (load_breast_cancer, make_pipeline(StandardScaler(), LogisticRegression())),
    "softmax": (load_iris, LogisticRegression()),
    "one-vs-rest": (load_wine, LogisticRegression(multiclass="ovr")),
    "hinge": (load_iris, LinearSVC(multiclass="ovr")),
    "kernel": (load_iris, KernelClassifier(multiclass="ovr", loss="logistic", gamma=0.1)),
    "transformers": (load_wine, make_pipeline(StandardScaler(), PCA(5), LogisticRegression())),
}


def grid_of(estimator):
    last = estimator.steps[-1][0] + "__" if hasattr(estimator, "steps") else ""
    return {f"{last}C": CS}, f"{last}tol"


@pytest.mark.parametrize("case", CASES)
def test_bounds_contain_the_scores_of_exact_fits(case):
    load, estimator = CASES[case]
    X, y = load(return_X_y=True)
    grid, tol = grid_of(estimator)
    found = GridSearchCV(estimator, grid, cv=3, certified=True).fit(X, y)
    exact = GridSearchCV(clone(estimator).set_params(**{tol: 1e-9}), grid, cv=3).fit(X, y)
    for k in range(3):
        low, high = (found.cv_results_[f"split{k}_test_{name}"] for name in ("low", "high"))
        score = exact.cv_results_[f"split{k}_test_score"]
        assert (low - 1e-12 <= score).all()
        assert (score <= high + 1e-12).all()
        own = found.cv_results_[f"split{k}_test_score"]
        assert ((low <= own) & (own <= high)).all()
    if found.proof_.proven:
        best = exact.cv_results_["mean_test_score"]
        assert best[found.best_index_] == pytest.approx(best.max())
    means = [found.cv_results_[f"mean_test_{name}"] for name in ("low", "high")]
    np.testing.assert_allclose(means[0], found.proof_.low.mean(axis=1))
    np.testing.assert_allclose(means[1], found.proof_.high.mean(axis=1))


def test_a_proven_choice_says_so():
    X, y = load_iris(return_X_y=True)
    found = GridSearchCV(LogisticRegression(), {"C": CS}, certified=True).fit(X, y)
    assert found.proof_.proven
    assert found.proof_.rivals == []
    assert str(found.proof_) == (
        "The chosen candidate is certainly the best of 4 at the exact optima."
    )


def test_ties_are_named():
    X, y = load_iris(return_X_y=True)
    grid = {"C": [0.001, 1.0, 1.0001]}
    found = GridSearchCV(LogisticRegression(), grid, certified=True).fit(X, y).proof_
    assert found.proven
    assert found.ties == [{"C": 1.0001}]
    assert str(found) == (
        "None of 3 candidates is better at the exact optima than the chosen one. 1 other ties with "
        "it: {'C': 1.0001}."
    )


def test_a_tie_is_certain_only_if_both_accuracies_are_known():
    low, high = np.array([[0.9, 0.8], [0.8, 0.9], [0.7, 0.8]]), np.array([[0.9, 0.8]] * 3)
    high[1] = 0.8, 0.9
    found = prove_choice(0, [{"C": C} for C in (1, 2, 3)], low, high)
    assert found.proven
    assert found.ties == [{"C": 2}]
    assert found.possible_ties == [{"C": 3}]
    assert str(found).endswith(
        "1 other ties with it: {'C': 2}. 1 other could tie with it: {'C': 3}."
    )
    low[0] -= 0.1
    found = prove_choice(0, [{"C": C} for C in (1, 2, 3)], low, high)
    assert not found.proven
    assert found.ties == []


def test_candidates_that_could_not_be_trained_are_no_rivals():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(LogisticRegression(), {"C": [-1, 1.0]}, certified=True)
    with pytest.warns(Warning, match="fits failed|non-finite"):
        found = search.fit(X, y).proof_
    assert found.proven
    assert np.isnan(found.low[0]).all()
    assert str(found).endswith("best of 1 at the exact optima. 1 other could not be trained.")


def test_errors_and_warnings_are_about_the_tolerance_of_the_user():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(LogisticRegression(), {"l1_ratio": [1]}, certified=True)
    with pytest.raises(ValueError, match=r"LogisticRegression\(l1_ratio=1\)\. The penalty"):
        search.fit(X, y)
    with pytest.warns(ConvergenceWarning) as told:
        search.set_params(param_grid={"max_iter": [1]}).fit(X, y)
    assert all("tol=0.0001" in str(one.message) for one in told)
    assert not any("1e-10" in str(one.message) for one in told)
    search.set_params(param_grid={"tol": [-1]})
    with pytest.raises(ValueError, match=r"must be a finite number >= 0\. Got -1"):
        search.fit(X, y)


def test_candidates_that_cannot_win_end_early():
    X, y = load_wine(return_X_y=True)
    model = LogisticRegression(multiclass="ovr")
    found = GridSearchCV(model, {"C": [1e-3, 1.0]}, certified=True).fit(X, y)
    low, high = found.proof_.low, found.proof_.high
    assert high[0].mean() > low[0].mean()  # its score is not known exactly
    assert high[0].mean() < low[1].mean()


def test_an_open_choice_names_the_rivals():
    # Rows at the boundary, whose class at the exact optimum cannot be certain.
    X = np.array([[-2.0], [-1.0], [0.0], [0.0], [1.0], [2.0]] * 4)
    y = np.array([0, 0, 0, 1, 1, 1] * 4)
    found = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, certified=True).fit(X, y)
    assert not found.proof_.proven
    assert found.proof_.rivals == [{"C": 1.0}]
    assert "could be better than the chosen one: {'C': 1.0}" in str(found.proof_)


REFUSED = [
    (LogisticRegression(), {"scoring": "roc_auc"}, "accuracy"),
    (GradientDescentClassifier(), {}, "proven optimum"),
    (PCA(), {}, "LogisticRegression"),
    (LogisticRegression(l1_ratio=1.0), {}, "L2 part"),
    (LogisticRegression(), {"certified": "yes"}, "certified"),
    (LogisticRegression(tol="predictions"), {}, "validation rows"),
]


@pytest.mark.parametrize(("estimator", "given", "words"), REFUSED)
def test_what_has_no_proof_is_refused(estimator, given, words):
    X, y = make_classification(60, random_state=0)
    name = next(iter({"C", "learning_rate", "n_components"} & set(estimator.get_params())))
    search = GridSearchCV(estimator, {name: [1]}, **({"certified": True} | given))
    with pytest.raises(ValueError, match=words):
        search.fit(X, y)


def test_weights_of_the_score_are_refused():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(LogisticRegression(), {"C": [1]}, certified=True)
    with pytest.raises(ValueError, match="pass no sample_weight"):
        search.fit(X, y, sample_weight=np.ones(len(y)))


def test_a_search_without_a_proof_has_no_bounds():
    X, y = load_iris(return_X_y=True)
    found = GridSearchCV(LogisticRegression(), {"C": [1.0]}, certified=True).fit(X, y)
    found.set_params(certified=False).fit(X, y)
    assert not hasattr(found, "proof_")
    assert "mean_test_low" not in found.cv_results_


def test_scores_on_several_blocks_have_the_same_bounds():
    X, y = load_breast_cancer(return_X_y=True)
    grid = {"C": [0.01, 1.0]}
    whole = GridSearchCV(LogisticRegression(), grid, certified=True).fit(X, y)
    with rows_per_block(100):
        cut = GridSearchCV(LogisticRegression(), grid, certified=True).fit(X, y)
    for name in ("split0_test_low", "split0_test_high"):
        assert name in whole.cv_results_
        np.testing.assert_allclose(cut.cv_results_[name], whole.cv_results_[name])
