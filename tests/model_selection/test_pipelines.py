"""In a search over pipelines, steps are fitted to the training rows of each fold."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    GridSearchCV,
    LinearSVC,
)
from support.searches import SCORES, assert_same_search, ours, plain_logistic
from support.small_problems import SPARSE, STRENGTHS, X2, X3, Y2, Y3


def pipelines(last, **grid):
    """Pipelines with different transformers before the classifier, and their grids."""
    steps = {
        "standardised": [StandardScaler()],
        "scaled only": [StandardScaler(with_mean=False)],
        "centred only": [StandardScaler(with_std=False)],
        "nothing": ["passthrough"],
        "best features": [SelectKBest(k=3)],
        "components": [PCA(n_components=3, random_state=0), StandardScaler()],
    }
    return {name: (make_pipeline(*first, last), grid) for name, first in steps.items()}


PIPELINES = list(pipelines(ours()))


@pytest.mark.slow
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_are_fitted_to_the_training_rows_of_each_fold(name, bias):
    grid = {"logisticregression__C": STRENGTHS}
    own, _ = pipelines(ours(fit_intercept=bias))[name]
    plain, _ = pipelines(plain_logistic(fit_intercept=bias))[name]
    options = {"cv": 3, "return_train_score": True, **SCORES}
    search = GridSearchCV(own, grid, **options).fit(X3, Y3)
    other = PlainGridSearchCV(plain, grid, **options).fit(X3, Y3)
    assert_same_search(search, other)
    np.testing.assert_allclose(search.predict_proba(X3), other.predict_proba(X3), atol=1e-5)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array])
def test_sparse_data_is_scaled_without_a_mean(form):
    grid = {"logisticregression__C": STRENGTHS}
    scaler, X = StandardScaler(with_mean=False), form(SPARSE)
    assert_same_search(
        GridSearchCV(make_pipeline(scaler, ours()), grid, **SCORES).fit(X, Y2),
        PlainGridSearchCV(make_pipeline(scaler, plain_logistic()), grid, **SCORES).fit(X, Y2),
    )
    with pytest.raises(ValueError, match="Cannot center sparse matrices"):
        GridSearchCV(make_pipeline(StandardScaler(), ours()), grid).fit(X, Y2)


def test_a_feature_that_is_constant_in_a_fold_is_not_scaled_in_that_fold():
    X = X2.copy()
    X[:, 2] = 7.0
    X[:10, 2] += np.arange(10)  # the first fold holds all rows in which it varies
    grid, cv = {"logisticregression__C": STRENGTHS}, KFold(3)
    assert_same_search(
        GridSearchCV(make_pipeline(StandardScaler(), ours()), grid, cv=cv, **SCORES).fit(X, Y2),
        PlainGridSearchCV(
            make_pipeline(StandardScaler(), plain_logistic()), grid, cv=cv, **SCORES
        ).fit(X, Y2),
    )


class Counted(TransformerMixin, BaseEstimator):
    """Multiplies X by a factor and counts its fits."""

    fits: list = []  # noqa: RUF012

    def __init__(self, by=1.0):
        self.by = by

    def fit(self, X, y=None):
        self.fits.append((self.by, len(X)))
        return self

    def transform(self, X):
        return X * self.by


def test_transformers_are_fitted_once_for_every_fold_and_setting():
    Counted.fits.clear()
    grid = {"counted__by": [0.5, 2.0], "logisticregression__C": STRENGTHS}
    pipeline = make_pipeline(Counted(), ours())
    search = GridSearchCV(pipeline, grid, cv=3, **SCORES).fit(X2, Y2)
    assert len(Counted.fits) == 3 * 2 + 1
    assert sorted(Counted.fits) == sorted(
        [(by, 100) for by in (0.5, 2.0) for _ in range(3)]
        + [(search.best_params_["counted__by"], 150)]
    )
    assert_same_search(search, PlainGridSearchCV(pipeline, grid, cv=3, **SCORES).fit(X2, Y2))


def test_steps_can_be_part_of_the_grid():
    pipeline = Pipeline([("before", StandardScaler()), ("last", ours())])
    before = [StandardScaler(), "passthrough", PCA(2), StandardScaler(with_std=False)]
    grid = [
        {"before": before, "last__C": STRENGTHS},
        {"last": [ours(C=0.01), LinearSVC(C=0.1, tol=1e-9), ours(multiclass="softmax")]},
    ]
    assert_same_search(
        GridSearchCV(pipeline, grid, cv=3).fit(X2, Y2),
        PlainGridSearchCV(pipeline, grid, cv=3).fit(X2, Y2),
    )


def test_a_vectoriser_is_fitted_to_the_training_rows_only():
    words = np.array(["red", "blue", "green", "dark", "light", "old"])
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 4)) for _ in range(60)]
    y = np.array([("red" in t) ^ (rng.random() < 0.2) for t in texts])
    pipeline = make_pipeline(CountVectorizer(), ours())
    grid = {"countvectorizer__binary": [True, False], "logisticregression__C": STRENGTHS}
    assert_same_search(
        GridSearchCV(pipeline, grid, **SCORES).fit(texts, y),
        PlainGridSearchCV(pipeline, grid, **SCORES).fit(texts, y),
    )
