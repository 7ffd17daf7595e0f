"""skops restores models, if the types of this library are trusted."""

import pytest
from sklearn.base import clone

from separatrix import SKOPS_TYPES, patching
from support.same_values import assert_same
from support.saved_models import FRAME, MODELS, THREE, TWO, X, fitted
from support.saved_pipelines import PIPELINES, fitted_pipeline

skops = pytest.importorskip("skops.io")
# Pipelines with one of each kind of content: text, categories, columns by name, searches.
SOME = [
    "standard frame",
    "one hot rare",
    "tfidf",
    "columns",
    "columns of polars",
    "nested",
    "kernel",
    "svc probability",
    "cv",
    "search",
    "search of a pipeline",
    "search inside",
]


def restored(model):
    """Return a model from a file of skops. All types of this library must be in the list."""
    data = skops.dumps(model)
    found = skops.get_untrusted_types(data=data)
    others = [name for name in found if not name.startswith("separatrix.")]
    return skops.loads(data, trusted=[*SKOPS_TYPES, *others])


def assert_equal_predictions(model, other, rows):
    for method in ("predict", "decision_function", "predict_proba"):
        assert hasattr(model, method) == hasattr(other, method)
        if hasattr(model, method):
            assert_same(getattr(model, method)(rows), getattr(other, method)(rows), method)


@pytest.mark.parametrize("name", MODELS)
def test_a_restored_model_equals_the_dumped_one(name):
    model = fitted(name)
    other = restored(model)
    assert_equal_predictions(model, other, FRAME if hasattr(model, "feature_names_in_") else X)
    assert repr(other) == repr(model)
    assert other.objective() == model.objective()
    if hasattr(model, "certificate_"):
        assert other.certificate_ == model.certificate_
        assert list(map(str, other.diagnoses_)) == list(map(str, model.diagnoses_))
        assert_same(other.history_, model.history_)


@pytest.mark.parametrize("name", SOME)
def test_a_restored_pipeline_predicts_the_same(name):
    model, rows = fitted_pipeline(name), PIPELINES[name][1]
    other = restored(model)
    assert_equal_predictions(model, other, rows)
    assert repr(clone(other)) == repr(clone(model))


@pytest.mark.parametrize("name", [name for name in MODELS if "continued" in name])
def test_training_continues_from_a_restored_model_bit_for_bit(name):
    ours, theirs = restored(fitted(name)), MODELS[name]()
    ours.partial_fit(X, THREE)
    theirs.partial_fit(X, THREE)
    assert_same(ours.coef_, theirs.coef_)


def test_every_trusted_type_is_in_some_file():
    replacements = [getattr(patching, name)().fit(X, TWO) for name in patching.HOMES]
    models = (*map(fitted, MODELS), *map(fitted_pipeline, SOME), *replacements)
    files = [skops.dumps(model) for model in models]
    assert {name for data in files for name in skops.get_untrusted_types(data=data)} >= {
        *SKOPS_TYPES
    }


@pytest.mark.parametrize("name", patching.HOMES)
def test_replacements_are_restored(name):
    model = getattr(patching, name)().fit(X, TWO)
    other = restored(model)
    assert type(other) is type(model)
    assert_equal_predictions(model, other, X)


@pytest.mark.parametrize("name", MODELS)
def test_files_of_models_contain_no_other_types(name):
    data = skops.dumps(fitted(name))
    assert set(skops.get_untrusted_types(data=data)) <= set(SKOPS_TYPES)
