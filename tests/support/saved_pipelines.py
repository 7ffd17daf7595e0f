"""Fitted pipelines with every transformer that model files can contain, and rows to predict."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from separatrix import (
    LOSSES,
    GradientDescentClassifier,
    GridSearchCV,
    KernelClassifier,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
)

RNG = np.random.default_rng(0)
N = 40
NUMBERS = RNG.normal(size=(N, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
HOLES = np.where(RNG.random((N, 3)) < 0.2, np.nan, NUMBERS)
TWO = np.array(["no", "yes"])[(NUMBERS[:, 0] > 0.1).astype(int)]
THREE = np.digitize(NUMBERS[:, 0], [-0.5, 0.5])
WORDS = RNG.choice(np.array(["red", "green", "blue", None, np.nan, "violet"], object), (N, 2))
CODES = RNG.integers(0, 4, (N, 2))
HALVES = np.where(RNG.random((N, 2)) < 0.2, np.nan, CODES + 0.5)
TEXTS = [" ".join(RNG.choice(["win", "money", "see", "you", "soon"], 4)) for _ in range(N)]
FRAME = pd.DataFrame(
    {
        "age": HOLES[:, 0],
        "income": NUMBERS[:, 1],
        "colour": pd.Series(WORDS[:, 0], dtype=object),
        "size": pd.Categorical(np.array(["S", "M", "L"])[CODES[:, 0] % 3]),
        "note": TEXTS,
    }
)
POLARS = pl.DataFrame({"age": NUMBERS[:, 0], "size": list(FRAME["size"]), "note": TEXTS})


def _columns(**options):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return ColumnTransformer(
        [
            ("numbers", numbers, ["age", "income"]),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]),
            ("note", TfidfVectorizer(), "note"),
        ],
        **options,
    )


def _nested():
    inner = ColumnTransformer(
        [("scaled", MinMaxScaler(), [0]), ("same", "passthrough", [1]), ("none", "drop", [2])]
    )
    both = FeatureUnion(
        [("inner", inner), ("products", PolynomialFeatures()), ("same", "passthrough")],
        transformer_weights={"products": 0.5},
    )
    return Pipeline([("both", both), ("nothing", "passthrough"), ("scale", RobustScaler())])


# Transformers with the rows they are fitted to. Each is the first step of a pipeline.
TRANSFORMERS = {
    "standard": (StandardScaler(), NUMBERS),
    "standard with holes": (make_pipeline(StandardScaler(), SimpleImputer()), HOLES),
    "standard without": (StandardScaler(with_mean=False, with_std=False), NUMBERS),
    "standard float32": (StandardScaler(), NUMBERS.astype("f4")),
    "standard sparse": (StandardScaler(with_mean=False), csr_array(np.round(NUMBERS))),
    "standard frame": (StandardScaler(), FRAME[["income"]]),
    "min max": (MinMaxScaler((-1, 1), clip=True), NUMBERS),
    "max abs": (MaxAbsScaler(), NUMBERS),
    "robust": (RobustScaler(quantile_range=(10.0, 90.0)), NUMBERS),
    "robust without": (RobustScaler(with_centering=False, with_scaling=False), NUMBERS),
    "normalizer": (Normalizer("l1"), NUMBERS),
    "polynomial": (PolynomialFeatures(3, interaction_only=True), NUMBERS),
    "polynomial range": (PolynomialFeatures((2, 3), order="F", include_bias=False), NUMBERS),
    "polynomial sparse": (PolynomialFeatures(2), csr_array(np.round(NUMBERS))),
    "imputer mean": (SimpleImputer(), HOLES),
    "imputer indicator": (SimpleImputer(strategy="median", add_indicator=True), HOLES),
    "imputer constant": (SimpleImputer(strategy="constant", fill_value=-1.0), HOLES),
    "imputer empty": (
        SimpleImputer(keep_empty_features=True),
        np.column_stack([HOLES, np.full(N, np.nan)]),
    ),
    "imputer words": (
        make_pipeline(
            SimpleImputer(missing_values=None, strategy="most_frequent"), OneHotEncoder()
        ),
        np.where(WORDS == WORDS, WORDS, None),
    ),
    "one hot words": (OneHotEncoder(), WORDS),
    "one hot frame": (OneHotEncoder(sparse_output=False), FRAME[["colour", "size"]]),
    "one hot integers": (OneHotEncoder(dtype=np.float32), CODES),
    "one hot halves": (OneHotEncoder(handle_unknown="ignore", dtype=int), HALVES),
    "one hot strings": (OneHotEncoder(drop="first"), np.array(["a", "bc", "a", "d"] * 10)[:, None]),
    "one hot booleans": (OneHotEncoder(drop="if_binary"), CODES > 1),
    "one hot rare": (
        OneHotEncoder(min_frequency=8, handle_unknown="infrequent_if_exist", drop="first"),
        WORDS,
    ),
    "one hot most": (OneHotEncoder(max_categories=2, handle_unknown="warn"), CODES),
    "one hot given": (
        OneHotEncoder(categories=[[0, 1, 2, 3], np.array([0, 1, 2, 3, 9])], drop=[1, 9]),
        CODES,
    ),
    "ordinal words": (
        OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        ),
        WORDS,
    ),
    "ordinal rare": (
        OrdinalEncoder(min_frequency=12, encoded_missing_value=-2, dtype=np.int32),
        HALVES,
    ),
    "counts": (CountVectorizer(ngram_range=(1, 2), min_df=2, stop_words=["you"]), TEXTS),
    "counts of letters": (CountVectorizer(analyzer="char_wb", binary=True, dtype=np.int32), TEXTS),
    "counts given": (CountVectorizer(vocabulary={"money": 1, "win": 0}), TEXTS),
    "tfidf": (TfidfVectorizer(sublinear_tf=True, stop_words="english"), TEXTS),
    "tfidf without idf": (TfidfVectorizer(use_idf=False, vocabulary=["win", "you"]), TEXTS),
    "hashing": (HashingVectorizer(n_features=32, dtype=np.float32), TEXTS),
    "hashing and idf": (make_pipeline(HashingVectorizer(n_features=16), TfidfTransformer()), TEXTS),
    "counts and idf": (make_pipeline(CountVectorizer(), TfidfTransformer(norm=None)), TEXTS),
    "columns": (_columns(), FRAME),
    "columns sparse": (_columns(sparse_threshold=1.0), FRAME),
    "columns remainder": (
        ColumnTransformer(
            [("words", OneHotEncoder(sparse_output=False), ["size"]), ("none", "drop", ["note"])],
            remainder=SimpleImputer(),
        ),
        FRAME.drop(columns="colour"),
    ),
    "columns passed": (
        ColumnTransformer(
            [("words", OneHotEncoder(), make_column_selector(dtype_exclude="number"))],
            remainder="passthrough",
            transformer_weights={"words": 2.0},
        ),
        FRAME[["income", "size"]],
    ),
    "columns selected": (
        ColumnTransformer(
            [
                ("numbers", SimpleImputer(), make_column_selector(dtype_include=np.number)),
                ("index", OrdinalEncoder(), FRAME[["size"]].columns),
                ("empty", StandardScaler(), []),
            ]
        ),
        FRAME,
    ),
    "columns by slice": (make_column_transformer((StandardScaler(), slice(0, 2))), NUMBERS),
    "columns by mask": (
        make_column_transformer((StandardScaler(), np.array([True, False, True]))),
        NUMBERS,
    ),
    "columns of polars": (
        ColumnTransformer(
            [
                ("age", StandardScaler(), ["age"]),
                ("size", OneHotEncoder(), ["size"]),
                ("note", TfidfVectorizer(), "note"),
            ]
        ),
        POLARS,
    ),
    "pandas out": (
        make_pipeline(SimpleImputer(), StandardScaler()).set_output(transform="pandas"),
        FRAME[["age", "income"]],
    ),
    "polars out": (
        ColumnTransformer([("age", StandardScaler(), ["age"])]).set_output(transform="polars"),
        POLARS[["age"]],
    ),
    "nested": (_nested(), NUMBERS),
}
# Other pipelines and searches, with their rows and labels.
OTHERS = {
    "svc probability": (make_pipeline(StandardScaler(), LinearSVC(probability=3)), NUMBERS, TWO),
    "kernel": (make_pipeline(StandardScaler(), KernelClassifier(gamma=0.5)), NUMBERS, THREE),
    "perceptron": (make_pipeline(MinMaxScaler(), Perceptron(epochs=3)), NUMBERS, TWO),
    "loss": (
        make_pipeline(StandardScaler(), GradientDescentClassifier(LOSSES["hinge"], epochs=5)),
        NUMBERS,
        THREE,
    ),
    "cv": (make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=[0.1, 1], cv=2)), NUMBERS, TWO),
    "search": (
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0], "l1_ratio": [0.0, 0.5]}, cv=2),
        NUMBERS,
        THREE,
    ),
    "search of a pipeline": (
        GridSearchCV(
            Pipeline([("scale", StandardScaler()), ("svc", LinearSVC())]),
            [
                {"scale": [StandardScaler(), MinMaxScaler(), "passthrough"]},
                {"svc__C": np.array([0.1, 1.0]), "svc__loss": ["hinge", "squared_hinge"]},
            ],
            scoring=["accuracy", "f1_macro"],
            refit="f1_macro",
            cv=2,
            return_train_score=True,
        ),
        NUMBERS,
        TWO,
    ),
    "search of columns": (
        GridSearchCV(
            make_pipeline(_columns(), LogisticRegression()),
            {"columntransformer__note__min_df": [1, 2]},
            scoring="neg_log_loss",
            cv=2,
        ),
        FRAME,
        TWO,
    ),
    "search inside": (
        make_pipeline(
            StandardScaler(), GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
        ),
        NUMBERS,
        TWO,
    ),
    "search without refit": (
        GridSearchCV(Perceptron(epochs=2), {"fit_intercept": [True, False]}, refit=False, cv=2),
        NUMBERS,
        TWO,
    ),
}
PIPELINES = {
    name: (make_pipeline(transformer, LogisticRegression()), rows, TWO)
    for name, (transformer, rows) in TRANSFORMERS.items()
} | OTHERS


@cache
def fitted_pipeline(name):
    """A pipeline of the list, fitted once. Do not change it."""
    model, rows, y = PIPELINES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, y)
