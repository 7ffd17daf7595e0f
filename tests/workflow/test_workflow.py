"""The functions behind the commands: training, searching and comparing on sources."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from separatrix import GridSearchCV, LogisticRegression, load
from separatrix.errors import OptionError
from separatrix.readers import Columns, Source
from separatrix.training import Interrupted
from separatrix.workflow.comparing import BASELINE, compare_families, families_for, naive_bayes
from separatrix.workflow.fitting import fit_source
from separatrix.workflow.model_families import (
    MODEL_FAMILIES,
    ModelOptions,
    build_estimator,
    find_family,
)
from separatrix.workflow.model_inputs import held_out_rows
from separatrix.workflow.preparing import choose_settings, prepare_source
from separatrix.workflow.search.search_scorers import SCORINGS
from separatrix.workflow.search.searching import PrepareRows, search_source

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("name", MODEL_FAMILIES)
@pytest.mark.parametrize("data", ["iris", "breast-cancer"])
def test_every_family_fits_two_and_three_classes(name, data):
    trained = fit_source(load(data), name)
    assert trained.facts["metrics"]["train"]["accuracy"] > 0.9
    assert trained.facts["verdict"]["converged"] or name == "perceptron"


@pytest.mark.parametrize("name", MODEL_FAMILIES)
def test_every_option_of_a_family_is_a_parameter_of_its_estimator(name):
    family = MODEL_FAMILIES[name]
    known = build_estimator(family, ModelOptions()).get_params()
    assert set(family.takes.values()) <= set(known)
    for bias in family.biases:
        build_estimator(family, ModelOptions(bias=bias))


def test_options_that_a_family_does_not_have_are_refused():
    with pytest.raises(OptionError, match="'perceptron' has no option 'l1'"):
        build_estimator(MODEL_FAMILIES["perceptron"], ModelOptions(l1=1.0))
    with pytest.raises(OptionError, match="bias of the model 'logistic' must be one of"):
        build_estimator(MODEL_FAMILIES["logistic"], ModelOptions(bias="penalised"))
    with pytest.raises(OptionError, match="loss must be one of hinge, squared_hinge"):
        build_estimator(MODEL_FAMILIES["svm"], ModelOptions(loss="log"))
    with pytest.raises(OptionError, match="one of auto, logistic"):
        find_family("forest", 2)


def test_numbers_are_standardised_except_in_sparse_matrices_and_images():
    assert choose_settings(Columns({"a": [1.0, 2.0]})).standardise
    assert choose_settings(X).standardise
    assert not choose_settings(sp.csr_array(X)).standardise
    assert not choose_settings(X.astype(np.uint8)).standardise
    assert not choose_settings(X, standardise=False).standardise


def test_the_preparation_depends_on_training_rows_only():
    source = load((X, Y))
    prepared = prepare_source(source)
    np.testing.assert_allclose(prepared.X["train"].mean(axis=0), 0.0, atol=1e-12)
    other = X.copy()
    other[source.splits["test"]] += 100.0
    changed = prepare_source(load((other, Y)))
    np.testing.assert_array_equal(prepared.X["train"], changed.X["train"])


def test_missing_values_are_noted_once_and_unseen_categories_per_part():
    table = Columns({"a": [1, None, 3, None, 5.0], "b": ["u", "v", "u", "w", "v"]})
    rows = {"train": np.arange(3), "validation": np.arange(0), "test": np.arange(3, 5)}
    source = Source("five", table, np.array(list("xyxyx")), splits=rows)
    notes = prepare_source(source).notes
    assert sum("missing value" in note for note in notes) == 1
    assert [note for note in notes if note.startswith("In test")] == [
        "In test: Column 'b': ignored 1 value not seen in training ('w')."
    ]


@pytest.mark.parametrize("value", ["", "inf"])
@pytest.mark.parametrize("learn", [fit_source, search_source])
def test_an_invalid_value_is_reported_with_its_row_in_the_file(tmp_path, value, learn):
    path = tmp_path / "bad.csv"
    rows = [f"{k % 7},{value if k == 50 else k},{'uv'[k % 2]}\n" for k in range(60)]
    path.write_text("a,b,label\n" + "".join(rows))
    source = load(path)
    assert 50 in source.splits["train"]
    settings = choose_settings(source.table, missing="refuse")
    with pytest.raises(
        ValueError, match=r"bad.csv, line 52: column 'b' (has no value|is 'inf')[,.]"
    ):
        learn(source, settings=settings)


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_an_invalid_value_of_a_sparse_file_is_reported_with_its_row(tmp_path, value):
    path = tmp_path / "bad.svm"
    path.write_text("".join(f"{k % 2} 1:{k} 2:{value if k == 50 else 1}\n" for k in range(60)))
    with pytest.raises(
        ValueError, match=r"^bad.svm, row 51: column 'feature 2' (has no value|is inf)"
    ):
        fit_source(load(path))


def test_infinity_in_new_rows_is_reported_with_its_column():
    bundle = fit_source(load("iris")).bundle
    X = np.ones((3, 4))
    X[2, 1] = np.inf
    with pytest.raises(ValueError, match=r"^Row 3: column 'sepal width \(cm\)' is inf"):
        bundle.predict(X)


def test_too_many_features_for_the_memory_are_refused(tmp_path):
    path = tmp_path / "wide.svm"
    path.write_text("".join(f"{k % 2} 1:{k} 2000000000:1\n" for k in range(40)))
    for learn in (fit_source, search_source):
        with pytest.raises(ValueError, match=r"wide.svm has 2,000,000,000 features"):
            learn(load(path))


def test_every_fold_has_a_preparation_fitted_to_its_training_rows():
    source = load((X, Y))
    settings = choose_settings(X)
    rows = np.arange(0, 150, 2)
    step = PrepareRows(source, settings).fit(rows[:, None])
    inside = step.transform(rows[:, None])
    np.testing.assert_allclose(inside.mean(axis=0), 0.0, atol=1e-12)
    assert abs(step.transform(np.arange(1, 150, 2)[:, None]).mean(axis=0)).max() > 1e-3


def test_a_search_on_a_sparse_matrix_equals_grid_search_cv():
    S = sp.csr_array(X)
    source = load((S, Y))
    found = search_source(source, Cs=[0.01, 1.0], folds=3, settings=choose_settings(S)).facts
    rows = np.sort(np.concatenate([source.splits["train"], source.splits["validation"]]))
    model = LogisticRegression(multiclass="softmax", tol=1e-6)
    wanted = GridSearchCV(model, {"C": [0.01, 1.0]}, cv=3).fit(S[rows], Y[rows])
    means = wanted.cv_results_["mean_test_score"].tolist()
    assert [candidate["mean"] for candidate in found["candidates"]] == means


def test_a_best_value_at_the_edge_of_the_grid_gives_advice():
    facts = search_source(load("iris"), Cs=[1e-4, 1e-3], folds=3).facts
    assert facts["best"] == {"C": 1e-3}
    assert "is the largest in the grid" in facts["advice"]
    assert "up to 0.01." in facts["advice"]
    with pytest.raises(OptionError, match="no penalty to search for"):
        search_source(load("iris"), "perceptron")


@pytest.mark.parametrize("sparse", [True, False], ids=["one batch", "by fold"])
def test_an_interrupted_search_reports_the_completed_folds(sparse):
    source = load((sp.csr_array(X) if sparse else X, Y))
    whole = search_source(source, Cs=[1e-4, 1e4], folds=3)
    assert whole.facts["interrupted"] is False

    def end(progress):
        if len(progress.running) < len(progress.members):
            raise Interrupted

    found = search_source(source, Cs=[1e-4, 1e4], folds=3, on_progress=end)
    assert found.bundle is None
    assert found.facts["interrupted"] is True
    assert 0 < sum(candidate["folds_done"] for candidate in found.facts["candidates"]) < 6
    for candidate, wanted in zip(found.facts["candidates"], whole.facts["candidates"]):
        done = [score for score in candidate["scores"] if score is not None]
        assert len(done) == candidate["folds_done"]
        assert candidate["mean"] == (pytest.approx(np.mean(done)) if done else None)
        assert all(a in (None, b) for a, b in zip(candidate["scores"], wanted["scores"]))
    full = [t["parameters"] for t in found.facts["candidates"] if t["folds_done"] == 3]
    assert found.facts["best"] in (full or [None])


def test_impossible_scores_and_folds_are_refused():
    two = load((np.arange(40.0)[:, None], np.array(["ham", "spam"] * 20)))
    for scoring in SCORINGS:
        facts = search_source(two, Cs=[1.0], folds=2, scoring=scoring).facts
        assert np.isfinite(facts["candidates"][0]["mean"])
    with pytest.raises(OptionError, match="must be one of accuracy, balanced_accuracy, f1_macro"):
        search_source(two, scoring="r2")
    with pytest.raises(OptionError, match="scoring='f1' needs two classes, and this data has 3"):
        search_source(load("iris"), scoring="f1")
    with pytest.raises(OptionError, match="needs probabilities, and the model 'svm' has"):
        search_source(two, "svm", scoring="neg_log_loss")
    search_source(
        two, "svm", ModelOptions(probability=2), Cs=[1.0], folds=2, scoring="neg_log_loss"
    )
    with pytest.raises(OptionError, match="folds=100 is more than the number of rows"):
        search_source(load("iris"), folds=100)


def test_a_class_too_rare_for_the_folds_is_noted_without_a_warning(recwarn):
    y = np.array(["often"] * 20 + ["seldom"] * 4)
    source = load((np.arange(24.0)[:, None], y), split=(1.0, 0.0, 0.0))
    notes = search_source(source, Cs=[1.0], folds=5).facts["notes"]
    assert any("The class seldom has only 4" in note for note in notes)
    assert not list(recwarn)


def test_l1_is_searched_together_with_c():
    facts = search_source(load("iris"), Cs=[0.1, 1.0], l1s=[0.0, 1.0], folds=3).facts
    assert len(facts["candidates"]) == 4
    assert set(facts["best"]) == {"C", "l1"}


def test_held_out_rows_do_not_depend_on_the_seed_of_the_source():
    wine = load("wine", seed=3)
    bundle = fit_source(wine).bundle
    for part in ("validation", "test"):  # the source is split with another seed
        rows = held_out_rows(bundle, load("wine"), part)
        np.testing.assert_array_equal(rows.table, wine.part(part).table)
    assert held_out_rows(bundle, load("iris")) is None
    chosen = search_source(wine, Cs=[1.0], folds=2).bundle
    assert held_out_rows(chosen, wine, "validation") is None
    assert len(held_out_rows(chosen, wine)) == 17


def test_families_that_are_equal_for_two_classes_are_compared_once():
    assert families_for(2) == ["logistic", "svm", "perceptron"]
    found = list(
        compare_families(
            prepare_source(load("iris")), ModelOptions(C=0.5, loss="hinge", bias="penalised")
        )
    )
    assert [row["model"] for row in found] == [*MODEL_FAMILIES, BASELINE]


def test_the_kind_of_naive_bayes_depends_on_the_data():
    counts = load((sp.csr_array(np.round(X)), Y))
    assert naive_bayes(prepare_source(counts))["about"] == "scikit-learn's MultinomialNB"
    assert naive_bayes(prepare_source(load((X, Y))))["about"] == "scikit-learn's GaussianNB"
    mixed = load((sp.csr_array(X - 3.0), Y))
    assert naive_bayes(prepare_source(mixed))["about"] == "scikit-learn's GaussianNB"


def test_a_source_without_labels_is_refused():
    with pytest.raises(ValueError, match="array has no labels"):
        fit_source(load(X))
