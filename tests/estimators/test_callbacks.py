"""Callbacks of scikit-learn 1.9, which its own tests call with one solver only."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from separatrix import LinearSVC, LogisticRegression

pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from version 1.9 on")

X, Y = load_iris(return_X_y=True)
MODELS = [
    LogisticRegression(C=10.0),
    LogisticRegression("l1", solver="liblinear", C=10.0),
    LinearSVC(multiclass="weston_watkins"),
]


class Recorder:
    """Notes the fitted estimator after every iteration, and stops after some of them."""

    def __init__(self, last=None):
        self.last, self.models, self.began, self.over = last, [], 0, 0

    def setup(self, estimator, context):
        self.began += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name == "iteration" and fitted_estimator is not None:
            assert X.shape[0] == len(y)
            self.models.append(fitted_estimator)
        return self.last is not None and len(self.models) >= self.last

    def teardown(self, estimator, context):
        self.over += 1


@pytest.mark.parametrize("model", MODELS)
def test_callbacks_get_the_model_of_every_iteration(model):
    plain, recorder = clone(model).fit(X, Y), Recorder()
    model = clone(model).set_callbacks(recorder).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert len(recorder.models) == plain.history_.epochs
    np.testing.assert_array_equal(recorder.models[-1].coef_, plain.coef_)
    np.testing.assert_array_equal(recorder.models[-1].predict(X), plain.predict(X))
    assert (recorder.began, recorder.over) == (1, 1)


def test_a_callback_can_stop_the_fit():
    model = clone(MODELS[0]).set_callbacks(Recorder(last=2))
    with pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    assert (model.stop_reason_, model.n_iter_.tolist()) == ("interrupted", [2])


def test_callbacks_end_when_a_fit_fails():
    recorder = Recorder()
    with pytest.raises(ValueError, match="'C' parameter"):
        LogisticRegression(C=-1.0).set_callbacks(recorder).fit(X, Y)
    assert (recorder.began, recorder.over) == (1, 1)


def test_a_search_passes_its_callbacks_on():
    from sklearn.callback import ProgressBar

    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
    assert search.set_callbacks(ProgressBar()).fit(X, Y).best_score_ > 0.9
