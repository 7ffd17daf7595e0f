"""The candidates of a search, split into transformers and classifier."""

import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import GridSearchCV, LogisticRegression

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "step", ["passthrough", StandardScaler(with_std=False), StandardScaler()], ids=str
)
def test_the_best_estimator_of_a_search_over_pipelines_is_a_pipeline(step):
    pipeline = Pipeline([("step", step), ("model", LogisticRegression())])
    search = GridSearchCV(pipeline, {"model__C": [0.1, 1.0]}).fit(X, Y)
    assert type(search.best_estimator_) is Pipeline
    assert list(search.best_estimator_.named_steps) == ["step", "model"]
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)
