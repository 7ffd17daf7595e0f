"""A preparation learns from training rows, reports its decisions, and is saved without pickle."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from separatrix import LogisticRegression, load
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.readers.columns import Columns
from separatrix.readers.tables import read_table

MIXED = Columns(
    {
        "age": [39.0, 50.0, np.nan, 28.0],
        "job": ["clerk", None, "smith", "clerk"],
        "hours": [40.0, 13.0, 40.0, 45.0],
        "note": ["free phone now", "see you", None, "phone me now now"],
    },
    text=["note"],
)


def again(preparation):
    """Convert a preparation to JSON and restore it."""
    state, arrays = preparation.to_state()
    return Preparation.from_state(json.loads(json.dumps(state)), arrays)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


# The course


def test_the_four_film_sentences_give_the_vectors_of_the_course():
    films = Columns(
        {
            "film": [
                "This is a great film!",
                "Worst crap I’ve ever seen.",
                "Great plot but bad acting.",
                "The film was made in 2008.",
            ]
        }
    )
    lists = {"positive": ["good", "great", "best"], "negative": ["bad", "worst", "crap"]}
    preparation = Preparation.fit(films, Settings(text="none", word_lists=lists, constant=True))
    X = preparation.transform(films)
    assert X.tolist() == [[1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]]
    assert preparation.feature_names_out == ["always 1", "contains:positive", "contains:negative"]
    scores = X @ [-1, 2, -3]
    assert (scores > 0).tolist() == [True, False, False, False]
    assert 1 / (1 + math.exp(-scores[2])) == pytest.approx(0.12, abs=0.005)


# Against scikit-learn


@pytest.mark.parametrize("standardise", [False, True])
def test_numbers_and_categories_equal_scikit_learn(standardise):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(60) < 0.1, np.nan, rng.standard_normal(60)),
            "b": rng.integers(0, 9, 60).astype(float),
            "c": rng.choice(["x", "y", "z"], 60),
        }
    )
    numbers = [SimpleImputer(), StandardScaler()] if standardise else [SimpleImputer()]
    peer = ColumnTransformer(
        [
            ("numbers", make_pipeline(*numbers), ["a", "b"]),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["c"]),
        ],
        sparse_threshold=0,
    )
    train, new = frame[:40], frame[40:].assign(c="unheard")
    wanted = peer.fit(train).transform(new)
    preparation = Preparation.fit(Columns.of_frame(train), Settings(standardise=standardise))
    notes = []
    np.testing.assert_allclose(preparation.transform(new, notes), wanted, rtol=1e-12, atol=1e-12)
    assert any("20 values not seen in training ('unheard')" in note for note in notes)


@pytest.mark.parametrize(
    ("way", "peer"),
    [
        ("tfidf", TfidfVectorizer(ngram_range=(1, 2))),
        ("counts", CountVectorizer(ngram_range=(1, 2))),
        ("hashing", HashingVectorizer(ngram_range=(1, 2), n_features=64)),
    ],
)
def test_text_equals_scikit_learn_to_the_bit(way, peer):
    texts = ["free phone now", "see you now", "now now", "", "phone"]
    table = Columns({"text": texts}, text=["text"])
    preparation = Preparation.fit(table, Settings(text=way, ngrams=(1, 2), n_hashes=64))
    X = preparation.transform(table)
    assert isinstance(X, sp.csr_array)
    assert (X.toarray() == peer.fit_transform(texts).toarray()).all()
    assert len(preparation.feature_names_out) == X.shape[1]


# Features


def test_every_feature_has_a_name_and_numbers_precede_words():
    preparation = Preparation.fit(MIXED)
    assert preparation.feature_names_out == [
        *("age", "hours", "job=clerk", "job=smith"),
        *("word:free", "word:me", "word:now", "word:phone", "word:see", "word:you"),
    ]
    X = preparation.transform(MIXED, [])
    assert isinstance(X, sp.csr_array)
    assert X.dtype == np.float64
    assert X[[0], :4].toarray().tolist() == [[39, 40, 1, 0]]
    assert X[[1], :4].toarray().tolist() == [[50, 13, 1, 0]]
    assert X[[2], :4].toarray().tolist() == [[39, 40, 0, 1]]


def test_two_text_columns_have_different_feature_names():
    table = Columns({"title": ["free now"], "body": ["free phone"]}, text=["title", "body"])
    lists = {"offer": ["free"]}
    names = Preparation.fit(table, Settings(text="counts", word_lists=lists)).feature_names_out
    assert len(set(names)) == len(names) == 6
    assert names[:3] == ["title:free", "title:now", "title contains:offer"]


@pytest.mark.parametrize(("n_categories", "sparse"), [(3, False), (30, True)])
def test_the_matrix_is_sparse_if_that_is_smaller(n_categories, sparse):
    table = Columns({"x": np.arange(60.0), "c": [f"c{i % n_categories}" for i in range(60)]})
    assert sp.issparse(Preparation.fit(table).transform(table)) == sparse


def test_matrices_are_not_changed():
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    preparation = Preparation.fit(X, feature_names=["u", "v"])
    assert preparation.transform(X) is X
    assert preparation.feature_names_out == ["u", "v"]
    S = sp.csr_array(X)
    assert (Preparation.fit(S).transform(S) != S).nnz == 0


def test_bytes_are_divided_by_255_and_a_note_says_so():
    X = np.array([[0, 51], [255, 102]], dtype=np.uint8)
    preparation = Preparation.fit(X)
    assert preparation.transform(X).tolist() == [[0, 0.2], [1, 0.4]]
    assert preparation.notes == ["Divided the bytes by 255."]
    assert Preparation.fit(X, Settings(divide=51)).transform(X).tolist() == [[0, 1], [5, 2]]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_standardised_features_have_unit_deviation_unless_constant(form):
    X = np.random.default_rng(0).standard_normal((50, 3)) * [1, 9, 0] + [0, 5, 0.1]
    Z = dense(Preparation.fit(form(X), Settings(standardise=True)).transform(form(X)))
    np.testing.assert_allclose(Z.std(axis=0), [1, 1, 0], atol=1e-12)
    if form is np.asarray:
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)


def test_codes_can_be_categories():
    table = Columns({"code": [1.0, 2.0, 1.0]})
    preparation = Preparation.fit(table, Settings(categories=["code"]))
    assert preparation.feature_names_out == ["code=1", "code=2"]
    assert preparation.columns == {"code": "categories"}


# Notes, warnings and errors


def test_filled_values_are_reported_for_training_and_new_rows():
    preparation = Preparation.fit(MIXED, Settings(missing="median"))
    assert "Column 'age': filled 1 missing value with 39." in preparation.notes
    assert "Column 'job': filled 1 missing value with 'clerk'." in preparation.notes
    assert "Column 'note': read 1 missing text as empty." in preparation.notes
    with pytest.warns(UserWarning, match="Column 'age': filled 1 missing value"):
        preparation.transform(MIXED.take([2, 3]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        preparation.transform(MIXED.take([0, 3]))


@pytest.mark.parametrize("column", ["age", "job", "note"])
def test_missing_values_can_be_refused(column):
    settings = Settings(missing="refuse")
    with pytest.raises(
        ValueError, match=f"Row .: column '{column}' has no value, and missing values"
    ):
        Preparation.fit(MIXED.select([column]), settings)
    preparation = Preparation.fit(MIXED.take([0, 3]), settings)
    row = {"age": 2, "job": 1, "note": 2}[column]
    others = {name: MIXED[name][[0]] for name in MIXED}
    with pytest.raises(ValueError, match=f"Row 1: column '{column}' has no value, and"):
        preparation.transform(Columns({**others, column: MIXED[column][[row]]}, text=["note"]))


def test_columns_are_found_by_name():
    preparation = Preparation.fit(MIXED)
    turned = MIXED.select(reversed(MIXED.names))
    assert (preparation.transform(turned, []) != preparation.transform(MIXED, [])).nnz == 0
    with pytest.raises(ValueError, match=r"columns of the training data\. Missing: 'age'"):
        preparation.transform(MIXED.select(["job", "hours", "note"]))
    notes = []
    wider = Columns({**{name: MIXED[name] for name in MIXED}, "id": [1, 2, 3, 4]}, text=["note"])
    preparation.transform(wider, notes)
    assert "Ignored column unknown to the model: id." in notes


def test_a_column_of_another_kind_is_read_as_in_training_or_refused():
    preparation = Preparation.fit(Columns({"n": [1.0, 2.0], "c": ["1", "x"]}))
    X = preparation.transform(Columns({"n": ["3", "4.5"], "c": [1.0, 1.0]}))
    assert X.tolist() == [[3, 1, 0], [4.5, 1, 0]]
    with pytest.raises(ValueError, match=r"'n' must hold numbers, .* Got 'many' in row 2 instead"):
        preparation.transform(Columns({"n": ["3", "many"], "c": ["1", "1"]}))


def test_tables_and_matrices_are_not_confused():
    with pytest.raises(ValueError, match=r"trained on a table with the columns .*Got a matrix"):
        Preparation.fit(MIXED).transform(np.ones((2, 2)))
    with pytest.raises(
        ValueError, match=r"trained on a matrix with the columns .*Got a table without"
    ):
        Preparation.fit(np.ones((2, 2))).transform(MIXED)
    with pytest.raises(ValueError, match=r"must have 2 columns, as in training. Got 3"):
        Preparation.fit(np.ones((2, 2))).transform(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"missing": "guess"}, "'missing' must be one of mean, median, refuse"),
        ({"text": "bert"}, "'text' must be one of tfidf, counts, hashing, none"),
        ({"ngrams": (2, 1)}, "'ngrams' must be"),
        ({"min_documents": 0}, "'min_documents' must be >= 1"),
        ({"most_words": 0}, "'most_words' must be"),
        ({"n_hashes": 0}, "'n_hashes' must be"),
        ({"divide": 0}, "'divide' must be"),
    ],
)
def test_settings_out_of_range_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Settings(**settings)


def test_settings_that_do_not_match_the_table_are_refused():
    table = Columns({"text": ["? !", "..."]}, text=["text"])
    with pytest.raises(ValueError, match="Column 'text' has no word of two"):
        Preparation.fit(table)
    with pytest.raises(ValueError, match="There are no features"):
        Preparation.fit(table, Settings(text="none"))
    with pytest.raises(ValueError, match="needs a text column"):
        Preparation.fit(MIXED.select(["age"]), Settings(word_lists={"a": ["b"]}))
    with pytest.raises(ValueError, match=r"must contain single words. Got 'not good'"):
        Preparation.fit(table, Settings(text="none", word_lists={"bad": ["not good"]}))
    with pytest.raises(ValueError, match="no column 'z'"):
        Preparation.fit(MIXED, Settings(categories=["z"]))


# State


ALL_SETTINGS = [
    Settings(),
    Settings(standardise=True, text="counts", ngrams=(1, 2)),
    Settings(text="hashing", n_hashes=32, missing="median"),
    Settings(text="none", word_lists={"offer": ["free"], "who": ["you", "me"]}, constant=True),
]


@pytest.mark.parametrize("settings", ALL_SETTINGS)
def test_a_restored_preparation_gives_the_same_bits(settings):
    preparation = Preparation.fit(MIXED, settings)
    twin = again(preparation)
    X, Z = preparation.transform(MIXED, []), twin.transform(MIXED, [])
    assert type(X) is type(Z)
    assert dense(X).tobytes() == dense(Z).tobytes()
    assert twin.feature_names_out == preparation.feature_names_out
    assert twin.columns == preparation.columns
    assert twin.notes == preparation.notes
    assert json.dumps(twin.to_state()[0]) == json.dumps(preparation.to_state()[0])


CELLS = {
    "numbers": st.one_of(st.none(), st.floats(-1e6, 1e6)),
    "categories": st.one_of(st.none(), st.text(max_size=5)),
    "text": st.one_of(st.none(), st.text("ab é'1", max_size=12)),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 6))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    columns, text = {}, []
    for j, kind in enumerate(kinds):
        values = draw(st.lists(CELLS[kind], min_size=n, max_size=n))
        if kind != "numbers" and not any(values):
            values[0] = "word"
        if kind == "text":
            values[0] = "two words"
            text.append(f"c{j}")
        columns[f"c{j}"] = values
    return Columns(columns, text=text)


@given(tables(), st.sampled_from(ALL_SETTINGS[:3]))
def test_any_restored_preparation_gives_the_same_bits(table, settings):
    preparation = Preparation.fit(table, settings)
    X = preparation.transform(table, [])
    assert np.isfinite(dense(X)).all()
    assert X.shape == (len(table), len(preparation.feature_names_out))
    assert dense(X).tobytes() == dense(again(preparation).transform(table, [])).tobytes()


def damaged(value, draw):
    """Return a copy of a JSON value with one random change."""
    junk = st.sampled_from([None, -1, 2**70, 1.5, "", "x", [], {}, True, ["x", "x"], math.nan])
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        copy = dict(value)
        if draw(st.integers(0, 4)) == 0:
            del copy[key]
        else:
            copy[key] = damaged(value[key], draw)
        return copy
    if isinstance(value, list) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], damaged(value[place], draw), *value[place + 1 :]]
    return draw(junk)


@given(st.data(), st.sampled_from(ALL_SETTINGS))
def test_a_damaged_state_is_refused_or_still_valid(data, settings):
    state, arrays = Preparation.fit(MIXED, settings).to_state()
    if data.draw(st.booleans()) and arrays:
        key = data.draw(st.sampled_from(sorted(arrays)))
        a = arrays[key]
        broken = [a[:-1], a.astype(np.float32), a * np.nan, a[None], "x", a.astype(object)]
        arrays = {**arrays, key: data.draw(st.sampled_from(broken))}
        with pytest.raises(ValueError, match="The preparation is damaged"):
            Preparation.from_state(state, arrays)
        return
    state = damaged(state, data.draw)
    try:
        preparation = Preparation.from_state(state, arrays)
    except ValueError as error:
        told = "The preparation is damaged" in str(error)
    else:
        # A state with another word or flag may be valid.
        told = preparation.transform(MIXED.take([0, 3]), []).shape[0] == 2
    assert told


def test_an_inconsistent_state_is_refused():
    state, arrays = Preparation.fit(MIXED, Settings(standardise=True)).to_state()
    with pytest.raises(ValueError, match=r"steps\.0 must have .* scale > 0"):
        Preparation.from_state(state, {**arrays, "0.scale": np.zeros(2)})
    with pytest.raises(ValueError, match="must use columns of the table"):
        Preparation.from_state({**state, "columns": [["age", "numbers"]]}, arrays)
    with pytest.raises(ValueError, match="the columns of a matrix"):
        Preparation.from_state({**state, "columns": None}, arrays)
    with pytest.raises(ValueError, match=r"format must be an integer from 1 to 1\. Got 2"):
        Preparation.from_state({**state, "format": 2}, arrays)
    with pytest.raises(ValueError, match=r"must have exactly the parts .*steps"):
        Preparation.from_state({key: state[key] for key in state if key != "steps"}, arrays)


# Real data


@pytest.mark.slow
@pytest.mark.data("adult/adult-train.csv", "adult/adult-test.csv")
def test_adult_is_prepared_and_predicted_without_options(data_dir):
    train = read_table(data_dir / "adult/adult-train.csv")
    preparation = Preparation.fit(train.table, Settings(standardise=True))
    X = preparation.transform(train.table, [])
    assert X.shape == (32_561, 105)
    assert len(preparation.notes) == 3
    test = read_table(data_dir / "adult/adult-test.csv", columns=preparation.columns)
    model = LogisticRegression().fit(X, train.y)
    assert model.score(preparation.transform(test.table, []), test.y) > 0.85


def test_categories_may_be_any_strings():
    table = Columns({"c": ["\ud800", "x", None, "x"]})
    preparation = Preparation.fit(table)
    assert preparation.feature_names_out == ["c=x", "c=\ud800"]
    assert preparation.transform(table, []).tolist() == [[0, 1], [1, 0], [1, 0], [1, 0]]
    frame = pd.DataFrame({"c": ["\ud800", "x"] * 4, "label": ["u", "v"] * 4}, dtype=object)
    assert load(frame).table.kinds == {"c": "categories"}
