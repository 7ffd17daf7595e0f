"""Export fitted models to scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.model_files.plain_model import PlainModel


def to_sklearn(model: LinearClassifier) -> Any:
    """Return a fitted scikit-learn classifier with the same predictions.

    It is a LogisticRegression if the model has sigmoid or softmax probabilities, an SGDClassifier
    for other probabilities, and a LinearSVC without probabilities. If a threshold was chosen,
    it is wrapped in a FixedThresholdClassifier. Calibrated probabilities are not exported.

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
    if model._feature_map_key() is not None:
        raise TypeError(
            f"A {type(model).__name__} cannot be converted, because its weights do not belong to "
            "features. Use save to write it to a model file."
        )
    huber = SGDClassifier(loss="modified_huber")
    kinds = {"each": SGDClassifier(loss="log_loss"), "": LinearSVC()}
    kinds |= {"clip": huber, "each clip": huber}
    out = kinds.get(plain.link, LogisticRegression())
    out.classes_, out.coef_, out.intercept_ = plain.classes, plain.coef.copy(), plain.intercept
    # scikit-learn assigns a score of 0 to the first class; the next larger bias changes that.
    if plain.ties:
        out.intercept_ = np.nextafter(plain.intercept, np.inf)
    _name_features(model, out)
    out.n_iter_ = model.n_iter_
    if plain.threshold == 0.0:
        return out
    # scikit-learn predicts the second class at the threshold, Separatrix only above it.
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
