"""Data for the tests of training, and fits compared bit by bit."""

import numpy as np

from separatrix.training.recording.history import FIELDS

RECORDED = [name for name in FIELDS if name != "seconds"]


def make_data(n=40, d=3, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, n_classes)) + rng.normal(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


X, Y = make_data()


X_VAL, Y_VAL = make_data(seed=1)


def bits(model):
    return model.coef_.tobytes(), model.intercept_.tobytes()


def assert_same_run(a, b):
    assert bits(a) == bits(b)
    assert a.stop_reason_ == b.stop_reason_
    assert (a.n_iter_, a.best_epoch_) == (b.n_iter_, b.best_epoch_)
    for name in RECORDED:
        np.testing.assert_array_equal(a.history_[name], b.history_[name], err_msg=name)
    assert a.certificate_ == b.certificate_
    assert a.diagnoses_ == b.diagnoses_
