"""Models and pipelines exported to ONNX give the same predictions in onnxruntime."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import issparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from separatrix import (
    Bundle,
    GridSearchCV,
    KernelClassifier,
    LogisticRegression,
    Perceptron,
    register_onnx,
    to_onnx,
)
from support.saved_models import FRAME, MODELS, THREE, TWO, X, fitted
from support.saved_pipelines import HOLES, PIPELINES, TEXTS, fitted_pipeline
from support.saved_pipelines import TWO as CLASSES

runtime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")

# Rows on both sides of every decision boundary, and rows far from all of them.
ROWS = np.concatenate([X, X.mean(axis=0) + 3.0 * (X - X.mean(axis=0)), 100.0 * X])
TYPES = {
    "tensor(double)": np.float64,
    "tensor(float)": np.float32,
    "tensor(int64)": np.int64,
    "tensor(string)": object,
}


def run(onnx, rows):
    """Return the outputs of an ONNX model by name."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(onnx.SerializeToString(), options)
    inputs = session.get_inputs()
    if hasattr(rows, "columns"):
        parts = [np.asarray(rows[name]).reshape(-1, 1) for name in rows.columns]
    else:
        parts = [rows.toarray() if issparse(rows) else np.asarray(rows)]
    fed = {i.name: part.astype(TYPES[i.type]) for i, part in zip(inputs, parts, strict=True)}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, fed)))


def as_float32(rows):
    if isinstance(rows, pl.DataFrame):
        return rows.with_columns(pl.col(pl.Float64).cast(pl.Float32))
    if isinstance(rows, pd.DataFrame):
        return rows.astype({name: "f4" for name in rows if rows[name].dtype == np.float64})
    return rows.astype("f4") if getattr(rows, "dtype", None) == np.float64 else rows


def own(model, rows):
    named = hasattr(model, "feature_names_in_") and not hasattr(rows, "columns")
    return pd.DataFrame(rows, columns=FRAME.columns) if named else rows


def assert_agrees(found, model, rows, tolerance):
    """Assert that the labels are equal, and the scores and probabilities up to a tolerance."""
    rows = own(model, rows)
    assert list(found["label"]) == list(model.predict(rows))
    scores = model.decision_function(rows)
    np.testing.assert_allclose(found["scores"], scores, tolerance, tolerance)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(
            found["probabilities"], model.predict_proba(rows), tolerance, tolerance
        )


@pytest.mark.parametrize("name", MODELS)
def test_models_predict_the_same_in_float64(name):
    model = fitted(name)
    tolerance = 1e-5 if model.coef_.dtype == np.float32 else 1e-10
    assert_agrees(run(to_onnx(model), ROWS), model, ROWS, tolerance)


@pytest.mark.parametrize("name", MODELS)
def test_models_predict_the_same_in_float32(name):
    model, rows = fitted(name), X.astype("f4")
    found = run(to_onnx(model, rows), rows)
    assert found["scores"].dtype == np.float32
    # The exact results for these rows are those of the same numbers in float64.
    assert_agrees(found, model, rows.astype(float), 1e-6)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", MODELS)
def test_skl2onnx_converts_models_in_pipelines(name):
    register_onnx()
    model = make_pipeline(StandardScaler().fit(X), fitted(name))
    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    found = run(skl2onnx.to_onnx(model, X, options=options), X)
    assert list(found["label"]) == list(model.predict(X))
    tolerance = 1e-5 if model[-1].coef_.dtype == np.float32 else 1e-10
    if options:
        expected, output = model.predict_proba(X), found["probabilities"]
    else:
        expected, output = model.decision_function(X), found["scores"]
    np.testing.assert_allclose(output, expected, tolerance, tolerance)


@pytest.mark.parametrize("rows", [X, X.astype("f4")], ids=["float64", "float32"])
@pytest.mark.parametrize("y", [TWO, THREE, THREE.astype(float)], ids=["text", "int", "float"])
def test_probabilities_are_maps_by_default_in_skl2onnx(rows, y):
    register_onnx()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, y)
    found = run(skl2onnx.to_onnx(model, rows), rows)
    assert list(found["output_label"]) == list(model.predict(rows))
    maps = found["output_probability"]
    assert [list(each) for each in maps] == [model.classes_.tolist()] * len(rows)
    P = [list(each.values()) for each in maps]
    np.testing.assert_allclose(P, model.predict_proba(rows), 1e-5, 1e-6)


def test_skl2onnx_numbers_the_classes_and_splits_the_columns_on_request():
    register_onnx()
    model = LogisticRegression().fit(X, TWO)
    found = run(skl2onnx.to_onnx(model, X, options={id(model): {"nocl": True, "zipmap": False}}), X)
    assert found["label"].tolist() == (model.predict(X) == "virginica").astype(int).tolist()
    found = run(skl2onnx.to_onnx(model, X, options={id(model): {"zipmap": "columns"}}), X)
    np.testing.assert_allclose(found["svirginica"], model.predict_proba(X)[:, 1], 1e-6)


def test_classifiers_on_data_frames_have_an_input_for_every_column():
    model = LogisticRegression().fit(FRAME, THREE)
    onnx = to_onnx(model, FRAME)
    assert [each.name for each in onnx.graph.input] == [name.replace(" ", "_") for name in FRAME]
    assert_agrees(run(onnx, FRAME), model, FRAME, 1e-10)


ALL = np.arange(len(HOLES))
# Pipelines whose transformers skl2onnx can convert.
CONVERTED = [
    *[name for name in PIPELINES if name.startswith(("standard", "robust", "max", "min"))],
    "normalizer",
    "polynomial",
    "polynomial sparse",
    "imputer mean",
    "imputer constant",
    "imputer empty",
    "one hot words",
    "one hot frame",
    "one hot integers",
    "one hot strings",
    "one hot given",
    "ordinal words",
    "columns passed",
    "columns remainder",
    "columns selected",
    "columns by slice",
    "pandas out",
    "polars out",
    "svc probability",
    "kernel",
    "perceptron",
    "loss",
    "cv",
    "search",
    "search of a pipeline",
    "search inside",
]


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("name", CONVERTED)
def test_pipelines_predict_the_same(name):
    model, rows = fitted_pipeline(name), as_float32(PIPELINES[name][1])
    found = run(to_onnx(model, rows), rows)
    rows = PIPELINES[name][1]
    assert list(found["label"]) == list(model.predict(rows))
    np.testing.assert_allclose(found["scores"], model.decision_function(rows), 1e-5, 1e-5)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), 0.0, 1e-6)


@pytest.mark.parametrize("words", [CountVectorizer, TfidfVectorizer])
def test_pipelines_of_texts_predict_the_same(words):
    # With lowercase=True, onnxruntime needs the locale en_US.UTF-8 to be installed.
    model = make_pipeline(words(lowercase=False), LogisticRegression()).fit(TEXTS, CLASSES)
    found = run(to_onnx(model, TEXTS), np.array(TEXTS, object))
    assert list(found["label"]) == list(model.predict(TEXTS))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(TEXTS), 0.0, 1e-6)


def test_a_tie_of_the_perceptron_is_the_second_class():
    model = Perceptron(epochs=1).fit([[1.0], [-1.0]], [1, 0])
    model.coef_[:], model.intercept_[:] = 1.0, -2.0
    rows = np.array([[2.0], [np.nextafter(2.0, 0.0)], [3.0]])
    assert model.predict(rows).tolist() == [1, 0, 1]
    assert run(to_onnx(model), rows)["label"].tolist() == [1, 0, 1]


def test_a_kernel_classifier_without_pivots_is_its_bias():
    model = KernelClassifier("logistic", kernel="linear").fit(np.zeros((4, 2)), [0, 1, 1, 1])
    assert model.factor_.rank == 0
    rows = np.ones((3, 2))
    assert_agrees(run(to_onnx(model), rows), model, rows, 1e-12)


@pytest.mark.parametrize(
    ("transformer", "words"),
    [
        (OrdinalEncoder(max_categories=2), "'max_categories' of OrdinalEncoder"),
        (SimpleImputer(add_indicator=True), "'add_indicator' of SimpleImputer"),
    ],
)
def test_transformers_that_skl2onnx_would_convert_wrongly_are_refused(transformer, words):
    model = make_pipeline(transformer, SimpleImputer(), LogisticRegression()).fit(HOLES, CLASSES)
    search = GridSearchCV(model, {"logisticregression__C": [1.0]}, cv=[(ALL, ALL)])
    search.fit(HOLES, CLASSES)
    for each in (model, search):
        with pytest.raises(ValueError, match=f"skl2onnx ignores the parameter {words}"):
            to_onnx(each, HOLES)


@pytest.mark.parametrize("name", ["imputer mean", "polynomial"])
def test_graphs_that_onnxruntime_could_not_load_are_refused_with_a_remedy(name):
    model, (_, rows, _) = fitted_pipeline(name), PIPELINES[name]
    with pytest.raises(ValueError, match=r"to_onnx\(model, X.astype\(np.float32\)\)"):
        to_onnx(model, rows)


def test_only_models_that_end_in_a_classifier_of_this_library_are_exported():
    bundle = Bundle(LogisticRegression().fit(X, TWO))
    theirs = make_pipeline(StandardScaler(), TheirLogisticRegression()).fit(X, TWO)
    search = TheirGridSearchCV(LogisticRegression(), {"C": [1.0]}).fit(X, TWO)
    for model, got in (
        (bundle, "Got Bundle instead. From a Bundle, export its estimator"),
        (theirs, "Pipeline that ends in LogisticRegression"),
        (search, r"Got GridSearchCV .*call register_onnx\(\) and then skl2onnx.to_onnx"),
    ):
        with pytest.raises(TypeError, match=got):
            to_onnx(model)


def test_a_model_of_texts_or_named_columns_needs_rows_for_its_inputs():
    columns = make_column_transformer((StandardScaler(), list(FRAME.columns)))
    named = make_pipeline(columns, LogisticRegression()).fit(FRAME, TWO)
    for model in (fitted_pipeline("tfidf"), named):
        with pytest.raises(ValueError, match=r"needs some rows .* to_onnx\(model, X\)"):
            to_onnx(model)


def test_importing_the_library_does_not_import_skl2onnx():
    code = "import sys, separatrix; separatrix.load_model; assert 'skl2onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
