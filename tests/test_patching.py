"""Replacing scikit-learn's classes in running code."""

import logging
import pickle
import sys
import warnings
from types import ModuleType

import numpy as np
import pytest
import sklearn.ensemble._stacking
import sklearn.linear_model
import sklearn.svm
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import l1_min_c

import separatrix
from separatrix import patching

X, Y = load_breast_cancer(return_X_y=True)
Z = scale(X)


@pytest.fixture(autouse=True)
def patched():
    separatrix.patch()
    yield
    separatrix.unpatch()


def test_classes_are_replaced_where_they_are_imported_and_put_back():
    module = ModuleType("someones_code")
    separatrix.unpatch()
    module.LinearSVC = module.SVC = theirs = sklearn.svm.LinearSVC  # SVC: an import with "as"
    sys.modules["someones_code"] = module
    try:
        separatrix.patch()
        separatrix.patch()  # changes nothing
        assert issubclass(module.LinearSVC, separatrix.LinearSVC)
        stacking = sklearn.ensemble._stacking.LogisticRegression
        assert issubclass(stacking, separatrix.LogisticRegression)
        assert module.SVC is module.LinearSVC is sklearn.svm.LinearSVC
        separatrix.unpatch()
        assert module.LinearSVC is sklearn.svm.LinearSVC is theirs
        assert sklearn.ensemble._stacking.LogisticRegression is not stacking
    finally:
        del sys.modules["someones_code"]


@pytest.mark.parametrize("name", patching.HOMES)
def test_replacements_have_scikit_learns_defaults(name):
    ours = getattr(sys.modules[patching.HOMES[name]], name)()
    separatrix.unpatch()
    theirs = getattr(sys.modules[patching.HOMES[name]], name)().get_params()
    assert {key: ours.get_params()[key] for key in theirs} == theirs


def test_solvers_that_scikit_learn_names_give_its_weights():
    options = {"C": 0.1, "max_iter": 1000}
    ours = sklearn.linear_model.LogisticRegression(**options).fit(Z, Y)
    machine = sklearn.svm.LinearSVC(C=0.01, tol=1e-8).fit(Z, Y)
    separatrix.unpatch()
    theirs = sklearn.linear_model.LogisticRegression(**options, tol=1e-8).fit(Z, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    liblinear = sklearn.svm.LinearSVC(C=0.01, tol=1e-8, dual=False).fit(Z, Y)
    np.testing.assert_allclose(machine.coef_, liblinear.coef_, atol=1e-3)
    np.testing.assert_allclose(machine.intercept_, liblinear.intercept_, atol=1e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_linear_svc_is_exact_to_three_digits_of_its_scores_with_the_default_tol(loss):
    ours = sklearn.svm.LinearSVC(loss=loss, C=0.01).fit(Z, Y)
    separatrix.unpatch()
    liblinear = sklearn.svm.LinearSVC(loss=loss, C=0.01, dual=True, tol=1e-9, max_iter=10**6)
    scores = liblinear.fit(Z, Y).decision_function(Z)
    np.testing.assert_allclose(ours.decision_function(Z), scores, atol=5e-4)


@pytest.mark.parametrize("name", ["LogisticRegression", "LogisticRegressionCV", "LinearSVC"])
def test_warnings_quote_the_given_tol_and_what_it_asks_for(name):
    model = getattr(sys.modules[patching.HOMES[name]], name)(max_iter=1, tol=1e-3)
    with pytest.warns(ConvergenceWarning, match=r"gap of .* \(tol=0.001, which asks for 1e-06\)"):
        model.fit(X, Y)
    plain = separatrix.LogisticRegression(max_iter=1, tol=1e-3)
    with pytest.warns(ConvergenceWarning, match=r"gap of .* \(tol=0.001\)"):
        plain.fit(X, Y)


def test_the_perceptron_takes_starting_weights_by_position():
    names = {"coef_init": np.ones((1, 30)), "intercept_init": np.ones(1)}
    model = sklearn.linear_model.Perceptron(max_iter=3, tol=None, shuffle=False)
    by_position = clone(model).fit(Z, Y, *names.values(), np.full(len(Y), 2.0))
    by_name = clone(model).fit(Z, Y, sample_weight=np.full(len(Y), 2.0), **names)
    separatrix.unpatch()
    theirs = sklearn.linear_model.Perceptron(max_iter=3, tol=None, shuffle=False)
    theirs.fit(Z, Y, *names.values(), np.full(len(Y), 2.0))
    np.testing.assert_array_equal(by_position.coef_, by_name.coef_)
    np.testing.assert_allclose(by_position.coef_, theirs.coef_, rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match=r"sample_weight.* \(1, 30\).* coef_init=W"):
        separatrix.Perceptron().fit(Z, Y, *names.values())


def test_gaps_that_rounding_leaves_do_not_warn():
    A, b = load_iris(return_X_y=True)
    A, b = A[b != 2] / 7.0, b[b != 2]
    model = sklearn.linear_model.LogisticRegression(
        penalty="l1", solver="liblinear", tol=1e-6, max_iter=10**6, intercept_scaling=1e4
    )
    for C in l1_min_c(A, b, loss="log") * np.logspace(0, 10, 16):
        model.set_params(C=C).fit(A, b)  # a warning would fail the test
        assert model.certificate_.relative_gap < patching.SMALL_GAP


def test_replacements_can_be_cloned_pickled_searched_and_sent_to_workers():
    model = clone(sklearn.linear_model.LogisticRegression("l1", C=0.2, solver="liblinear"))
    fitted = pickle.loads(pickle.dumps(model.fit(Z, Y)))
    np.testing.assert_array_equal(fitted.predict(Z), model.predict(Z))
    pipeline = make_pipeline(StandardScaler(), sklearn.linear_model.LogisticRegression())
    search = GridSearchCV(pipeline, {"logisticregression__C": [0.01, 1.0]}).fit(X, Y)
    assert search.best_score_ > 0.97
    assert cross_val_score(pipeline, X, Y).mean() > 0.97
    (again,) = Parallel(n_jobs=2)([delayed(clone(model).fit)(Z, Y)])
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("name", patching.HOMES)
def test_estimators_of_scikit_learn_keep_their_class_also_in_files(name):
    separatrix.unpatch()
    theirs = getattr(sys.modules[patching.HOMES[name]], name)()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about defaults of LogisticRegressionCV
        file = pickle.dumps(theirs.fit(Z, Y))
    separatrix.patch()
    for model in (theirs, pickle.loads(file), pickle.loads(pickle.dumps(theirs))):
        assert type(model) is type(theirs)
        np.testing.assert_array_equal(model.predict(Z), theirs.predict(Z))


@pytest.mark.parametrize("name", ["LogisticRegression", "LogisticRegressionCV"])
def test_unknown_solvers_are_refused(name):
    with pytest.raises(
        ValueError, match=r"'solver' parameter must be one of .*'saga'.* Got 'bfgs'"
    ):
        getattr(sklearn.linear_model, name)(solver="bfgs").fit(Z, Y)


@pytest.mark.parametrize("name", patching.HOMES)
def test_replacements_are_saved_as_the_classes_that_they_extend(name, tmp_path):
    last = getattr(sys.modules[patching.HOMES[name]], name)()
    for model in (last.fit(Z, Y), make_pipeline(StandardScaler(), clone(last)).fit(X, Y)):
        separatrix.save(model, tmp_path / "model.sx")
        loaded = separatrix.load_model(tmp_path / "model.sx")
        part = loaded[-1] if hasattr(loaded, "steps") else loaded
        assert type(part) is getattr(separatrix, name)
        rows = Z if model is last else X
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
        assert part.get_params() == last.get_params()


def test_replacements_are_exported_to_onnx():
    onnx = pytest.importorskip("onnxruntime")
    for name in ("LogisticRegression", "SGDClassifier"):
        last = getattr(sys.modules[patching.HOMES[name]], name)()
        model = make_pipeline(StandardScaler(), last).fit(X, Y)
        exported = separatrix.to_onnx(model, X)
        labels = onnx.InferenceSession(exported.SerializeToString()).run(None, {"X": X})[0]
        np.testing.assert_array_equal(labels, model.predict(X))


def test_every_class_is_logged(caplog):
    separatrix.unpatch()
    with caplog.at_level(logging.INFO, "separatrix"):
        separatrix.patch()
    for name in patching.HOMES:
        assert f"{name} is replaced by separatrix.{name}" in caplog.text
    assert "RidgeClassifier of scikit-learn is left alone" in caplog.text
