"""Fitted models for other libraries: scikit-learn and ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.model_files.plain_model import PlainModel


def to_sklearn(model: LinearClassifier) -> Any:
    """A fitted scikit-learn classifier that predicts the same.

    A LogisticRegression where there are probabilities by sigmoid or softmax, an SGDClassifier where
    each class has its own, and a LinearSVC where there are none; within a FixedThresholdClassifier
    where a threshold was chosen. Probabilities that were calibrated by folds are left out.

    >>> from separatrix import LogisticRegression, to_sklearn
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> to_sklearn(model).predict([[2.0]])
    array(['yes'], dtype='<U3')
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.model_selection import FixedThresholdClassifier
    from sklearn.svm import LinearSVC

    plain = PlainModel.of(model)
    kinds = {"each": SGDClassifier(loss="log_loss"), "": LinearSVC()}
    out = kinds.get(plain.link, LogisticRegression())
    out.classes_, out.coef_, out.intercept_ = plain.classes, plain.coef.copy(), plain.intercept
    if plain.ties:  # scikit-learn's are of the first class: the next larger bias breaks them
        out.intercept_ = np.nextafter(plain.intercept, np.inf)
    _name_features(model, out)
    out.n_iter_ = model.n_iter_
    if plain.threshold == 0.0:
        return out
    # Theirs is at or above, ours above.
    above = float(np.nextafter(plain.threshold, np.inf))
    fixed = FixedThresholdClassifier(
        FrozenEstimator(out), threshold=above, response_method="decision_function"
    )
    fixed.fit(sp.csr_array((2, plain.coef.shape[1])), plain.classes)
    _name_features(model, fixed)
    return fixed


def _name_features(model: LinearClassifier, out: Any) -> None:
    out.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        out.feature_names_in_ = model.feature_names_in_
