"""A loaded pipeline equals the saved one, and other pipelines are refused in words."""

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from separatrix import Bundle, GridSearchCV, LinearSVC, load_model, save
from separatrix.model_files.composite_table import COMPOSITES
from separatrix.model_files.container import read, write
from separatrix.model_files.estimator_state import CLASSES, from_state, to_state
from separatrix.model_files.transformer_table import TRANSFORMERS
from support.fuzz_modelfile import damaged, misled, pipeline_outcome
from support.same_values import assert_same
from support.saved_pipelines import FRAME, NUMBERS, PIPELINES, TEXTS, TWO, fitted_pipeline

GOLDEN_SCORES = [
    -0.1301651256240367,
    0.3019262139119331,
    -0.31342732039425064,
    0.04524575104544941,
    -0.23098907773240523,
    0.32885124950257066,
]


def parts_of(model):
    """The estimators in a fitted model, at every level."""
    yield model
    for value in vars(model).values():
        yield from parts_in(value)


def parts_in(value):
    if type(value) in CLASSES:
        yield from parts_of(value)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from parts_in(part)


def outputs(model, rows):
    if hasattr(model, "predict"):
        for method in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, method):
                yield getattr(model, method)(rows)
    if isinstance(model, Pipeline):
        yield model[:-1].transform(rows)


def assert_equal_outputs(model, other, rows):
    found = list(zip(outputs(model, rows), outputs(other, rows), strict=True))
    for ours, theirs in found:
        if isinstance(ours, pd.DataFrame):
            pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
        elif hasattr(ours, "equals"):
            assert ours.equals(theirs)
        else:
            assert_same(ours, theirs)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.sx"


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("name", PIPELINES)
def test_a_loaded_pipeline_equals_the_saved_one(name, path):
    model, (_, rows, y) = fitted_pipeline(name), PIPELINES[name]
    save(model, path)
    loaded = load_model(path)
    # All attributes are compared, to find attributes that are missing from the tables.
    assert_same(model, loaded)
    assert_equal_outputs(model, loaded, rows)
    assert_same(list(model.get_params()), list(loaded.get_params()))
    assert_same(clone(model), clone(loaded))
    if name not in ("columns passed", "columns selected"):  # their repr contains an address
        assert repr(model) == repr(loaded)
    if hasattr(model, "best_estimator_"):
        assert model.score(rows, y) == loaded.score(rows, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "name", ["columns", "nested", "tfidf", "search of a pipeline", "pandas out"]
)
def test_a_loaded_pipeline_is_fitted_again_to_the_same_bits(name, path):
    model, (_, rows, y) = fitted_pipeline(name), PIPELINES[name]
    save(model, path)
    again = load_model(path).fit(rows, y)
    assert_equal_outputs(model, again, rows)


@pytest.mark.parametrize("name", ["columns", "search of a pipeline"])
def test_saving_a_loaded_pipeline_writes_the_same_bytes(name, path, tmp_path):
    save(fitted_pipeline(name), path)
    save(load_model(path), tmp_path / "again.sx")
    assert path.read_bytes() == (tmp_path / "again.sx").read_bytes()


def test_every_class_of_the_tables_is_tested():
    tested = {type(part) for name in PIPELINES for part in parts_of(fitted_pipeline(name))}
    assert tested >= set(TRANSFORMERS) | set(COMPOSITES)


def test_deeply_nested_pipelines_are_saved(path):
    model = make_pipeline(StandardScaler(), LinearSVC())
    for _ in range(3):
        columns = ColumnTransformer([("all", make_pipeline(FeatureUnion([("s", model[0])])), [0])])
        model = make_pipeline(columns, *model[1:])
    search = GridSearchCV(model, {"linearsvc__C": [1.0]}, cv=2).fit(NUMBERS, TWO)
    save(search, path)
    assert_same(search, load_model(path))


def test_transformers_alone_and_in_bundles_are_saved(path):
    columns = clone(fitted_pipeline("columns")[0]).fit(FRAME)
    save(columns, path)
    assert_same(columns.transform(FRAME), load_model(path).transform(FRAME))
    save(Bundle(fitted_pipeline("columns"), metrics={"accuracy": 0.5}), path)
    assert (
        load_model(path).predict(FRAME).tolist()
        == fitted_pipeline("columns").predict(FRAME).tolist()
    )


class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = 3
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            make_pipeline(Own(), LinearSVC()),
            r"step 'own' is of the class \S*test_saved_pipelines\.Own",
        ),
        (
            make_pipeline(StandardScaler(), TheirLogisticRegression()),
            r"step 'logisticregression' is of the class sklearn\.linear_model\S*LogisticRegression",
        ),
        (
            make_pipeline(FeatureUnion([("a", make_pipeline(Own()))]), LinearSVC()),
            r"step 'featureunion__a__own' is of the class",
        ),
        (
            GridSearchCV(make_pipeline(Own(), LinearSVC()), {"linearsvc__C": [1.0]}, cv=2),
            r"step 'estimator__own'",
        ),
    ],
)
def test_other_steps_are_refused_by_name_and_class(model, words, path):
    expected = words + r".*Classes that can be saved: .*LinearSVC.*StandardScaler"
    with pytest.raises(TypeError, match=expected):
        save(model.fit(NUMBERS, TWO), path)
    assert not path.exists()


@pytest.mark.filterwarnings("ignore:The parameter 'token_pattern'")
@pytest.mark.parametrize(
    ("transformer", "words"),
    [
        (CountVectorizer(analyzer=str.split), "'analyzer' parameter of CountVectorizer, step"),
        (TfidfVectorizer(tokenizer=str.split), "'tokenizer' parameter of TfidfVectorizer, step"),
        (
            make_pipeline(FunctionTransformer(list), CountVectorizer()),
            "'func' parameter of FunctionTransformer, step 'step__functiontransformer',",
        ),
    ],
)
def test_functions_are_refused_by_parameter_and_step(transformer, words, path):
    model = Pipeline([("step", transformer), ("svc", LinearSVC())]).fit(TEXTS, TWO)
    with pytest.raises(ValueError, match=words + ".*cannot be saved.*before the pipeline"):
        save(model, path)


def test_a_cache_of_pickles_is_refused(path, tmp_path):
    model = make_pipeline(StandardScaler(), LinearSVC(), memory=str(tmp_path / "cache"))
    with pytest.raises(ValueError, match="memory must be None, because"):
        save(model.fit(NUMBERS, TWO), path)


def test_a_callable_scorer_is_refused_with_a_remedy(path):
    def score(model, X, y):
        return 0.0

    search = GridSearchCV(LinearSVC(), {"C": [1.0, 2.0]}, scoring=score, cv=2).fit(NUMBERS, TWO)
    with pytest.raises(ValueError, match=r"'scoring' parameter of GridSearchCV.*set_params\("):
        save(search, path)


def edited(name, *keys, value):
    """The state of a pipeline with one part replaced."""
    content, arrays = to_state(fitted_pipeline(name))
    node = content
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    return content, arrays


STEP = ("parameters", "steps", 0, "$tuple", 1)
HOSTILE = {
    "another class": ("standard", (*STEP, "$estimator"), "Popen", "must be one of"),
    "another tag": ("standard", STEP, {"$object": "os.system"}, "which this version does not know"),
    "no step": ("standard", ("parameters", "steps"), [], "steps must not be empty"),
    "a missing attribute": ("standard", (*STEP, "fitted"), {}, "'mean_' of StandardScaler"),
    "a bad parameter": (
        "standard",
        (*STEP, "parameters", "copy"),
        "no",
        r"parameters\.steps\.0\.1\.The 'copy' parameter of StandardScaler",
    ),
    "an unknown parameter": ("standard", (*STEP, "parameters", "evil"), 1, "no parameter 'evil'"),
    "an unknown attribute": ("standard", (*STEP, "fitted", "transform"), 1, "'transform'.*unknown"),
    "a folder of pickles": ("standard", ("parameters", "memory"), "/tmp", "memory must be None"),
    "columns out of range": (
        "tfidf",
        (*STEP, "fitted", "vocabulary_"),
        {"win": 10**6},
        "vocabulary_ must be a list of different words",
    ),
    "categories out of order": (
        "one hot integers",
        (*STEP, "fitted", "categories_"),
        [[3, 1], [1, 2]],
        "categories_.0 must be an array",
    ),
    "a rare category out of range": (
        "one hot rare",
        (*STEP, "fitted", "_infrequent_indices"),
        [None],
        "_infrequent_indices is not consistent",
    ),
    "a dropped category out of range": (
        "one hot rare",
        (*STEP, "fitted", "_drop_idx_after_grouping"),
        {"$objects": [99, 0]},
        "_drop_idx_after_grouping is not consistent",
    ),
    "a pattern": ("tfidf", (*STEP, "parameters", "token_pattern"), "(", "regular expression"),
    "an endless sum": ("polynomial", (*STEP, "parameters", "degree"), 10**15, "at most 1000"),
    "another width": (
        "polynomial range",
        (*STEP, "parameters", "degree"),
        3,
        "for 16 features after a step that returns 19",
    ),
    "an output": ("standard", (*STEP, "output"), {"transform": "code"}, "output.transform must be"),
    "a scorer": (
        "search",
        ("parameters", "scoring"),
        "os.system",
        "'scoring' parameter of GridSearchCV",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_errors_name_the_invalid_part(kind):
    name, keys, value, words = HOSTILE[kind]
    with pytest.raises(ValueError, match=words):
        from_state(*edited(name, *keys, value=value))


def test_an_attribute_of_another_length_is_refused():
    content, arrays = to_state(fitted_pipeline("standard"))
    arrays["parameters.steps.0.1.mean_"] = np.zeros(2)
    with pytest.raises(ValueError, match=r"steps\.0\.1\.mean_ is not consistent with 3 features"):
        from_state(content, arrays)


def test_the_widths_of_steps_must_agree():
    content, arrays = to_state(fitted_pipeline("counts given"))
    fitted = content["parameters"]["steps"][0]["$tuple"][1]["fitted"]
    fitted["vocabulary_"] = ["win", "money", "soon"]
    with pytest.raises(ValueError, match="for 2 features after a step that returns 3"):
        from_state(content, arrays)


def test_parameters_of_other_versions_are_ignored_if_they_have_their_defaults():
    """As `force_int_remainder_cols` of ColumnTransformer, which scikit-learn 1.9 removed."""
    content, arrays = to_state(fitted_pipeline("columns by slice"))
    step = content["parameters"]["steps"][0]["$tuple"][1]
    step["parameters"]["other"] = "deprecated"
    with pytest.raises(ValueError, match="ColumnTransformer has no parameter 'other'"):
        from_state(content, arrays)
    step["defaults"].append("other")
    assert_same(from_state(content, arrays), fitted_pipeline("columns by slice"))


def test_attributes_of_other_types_are_refused_by_step(path):
    days = np.arange("2020-01-01", "2020-02-10", dtype="datetime64[D]")[:, None]
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(days, TWO)
    words = r"OneHotEncoder, step 'onehotencoder', cannot be saved: .*categories_.0 is an array of"
    with pytest.raises(ValueError, match=words):
        save(model, path)


def test_parameters_that_this_version_added_get_their_defaults():
    """As `clip` of MaxAbsScaler, which scikit-learn 1.6 does not have."""
    content, arrays = to_state(fitted_pipeline("max abs"))
    step = content["parameters"]["steps"][0]["$tuple"][1]
    step["parameters"] = {"copy": True}
    assert_same(from_state(content, arrays), fitted_pipeline("max abs"))


@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_a_file_of_an_older_scikit_learn_is_read():
    """A search over columns, written with scikit-learn 1.6.1. The file is never regenerated."""
    rows = pd.DataFrame(
        {
            "age": [39.0, np.nan, 28.0, 41.0, 33.0, 60.0],
            "job": pd.Series(["clerk", "smith", None, "baker", "smith", "clerk"], dtype=object),
            "size": ["S", "M", "L", "S", "S", "M"],
            "note": [
                "a long note",
                "free money now",
                "see you then",
                "win free",
                "hi you",
                "you win",
            ],
        }
    )
    search = load_model(Path(__file__).parents[1] / "golden" / "search-2.sx")
    assert search.predict(rows).tolist() == ["no", "yes", "no", "yes", "no", "yes"]
    np.testing.assert_allclose(search.decision_function(rows), GOLDEN_SCORES, rtol=1e-6)
    assert search.best_params_ == {"logisticregression__C": 0.1}
    y = ["no", "yes"] * 3
    assert search.score(rows, y) == 1.0
    assert search.fit(rows, y).best_params_ == {"logisticregression__C": 0.1}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Return a path, and the name, bytes, content and arrays of some files."""
    path = tmp_path_factory.mktemp("fuzz") / "case.sx"
    files = []
    for name in ("columns", "nested", "one hot rare", "ordinal rare", "search of a pipeline"):
        save(fitted_pipeline(name), path)
        files.append((name, path.read_bytes(), *read(path)))
    return path, files


@given(seed=st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore")
def test_manipulated_pipelines_are_refused_or_predict(cases, seed):
    path, files = cases
    rng = random.Random(seed)
    name, _, content, arrays = rng.choice(files)
    try:
        write(path, *misled(rng, content, arrays))
    except ValueError:
        return
    pipeline_outcome(path, PIPELINES[name][1])


@given(seed=st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore")
def test_damaged_pipelines_are_refused(cases, seed):
    path, files = cases
    rng = random.Random(seed)
    name, data, _, _ = rng.choice(files)
    path.write_bytes(damaged(rng, data))
    pipeline_outcome(path, PIPELINES[name][1])
