"""Compare searches by scikit-learn and by this library."""

import numpy as np
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression

from separatrix import (
    LogisticRegression,
)


def assert_same_search(ours, plain, atol=1e-6):
    """Require the same table, in the same order, and the same choice."""
    assert list(ours.cv_results_) == list(plain.cv_results_)
    for name, column in plain.cv_results_.items():
        if "_time" in name or name == "params":
            continue
        if name.startswith("param_"):
            assert ours.cv_results_[name].tolist() == column.tolist()
        elif not name.startswith("rank_"):  # a rank may depend on the last digit
            np.testing.assert_allclose(ours.cv_results_[name], column, atol=atol, err_msg=name)
    assert ours.best_index_ == plain.best_index_


def plain_logistic(**options):
    return PlainLogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000, **options)


def ours(**options):
    return LogisticRegression(tol=1e-11, **options)


SCORES = {"scoring": ["neg_log_loss", "accuracy"], "refit": "neg_log_loss"}
