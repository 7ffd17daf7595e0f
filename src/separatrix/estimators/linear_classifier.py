"""What all linear classifiers share: the fitted attributes and the ways to predict."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.data import Dataset
from separatrix.display import fit_card
from separatrix.estimators.fit_warnings import user_stacklevel
from separatrix.estimators.validation import as_numbers, require_finite, require_numbers
from separatrix.losses import Loss
from separatrix.matrix import Array, Matrix
from separatrix.model import Model
from separatrix.solver_state import State
from separatrix.training import History, Result
from separatrix.training.task import Task

ACCEPTED = ("csr", "csc")


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with scores X coef_.T + intercept_.

    A subclass says how it is trained on its own rows and weights, in `_make_task`.
    """

    classes_: Array
    coef_: Any  # an array, or sparse after sparsify
    intercept_: Array
    history_: History
    n_iter_: Any
    _state: State | None
    _known_scores: tuple[Any, Array]

    # The kinds of diagnosis that are warned of.
    _warned_kinds = frozenset({"diverged"})
    # What is learnt from X alone, and shared by all models of a batch.
    _feature_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")

    def _make_task(self, data: Dataset) -> Task:
        raise NotImplementedError

    def _feature_map_key(self) -> Hashable:
        """What models have in common whose rows are seen alike; None if X is used as it is."""
        return None

    def _fit_feature_map(self, X: Any) -> Any:
        """The rows that the linear model is trained on, and how to make such of others, learnt."""
        return X

    def _apply_feature_map(self, X: Any) -> Any:
        """Rows of X as the linear model was trained on them."""
        return X

    def _calibrate(self, X: Any, y: Any, sample_weight: Array | None) -> None:
        """What is left to do after a fit, with the data it was given."""

    def _set_fitted(self, result: Result, loss: Loss, classes: Array) -> None:
        """Take over what training found."""
        self._loss = loss
        self._state = result.state
        self.classes_ = classes
        self.coef_ = np.ascontiguousarray(result.model.W[:, 0].T)
        self.intercept_ = result.model.b[0].copy()
        self.history_ = result.history
        self.n_iter_ = result.history.epochs
        self.best_epoch_ = result.best_epoch
        self.certificate_ = result.certificate
        self.diagnoses_ = result.diagnoses
        self.stop_reason_ = result.stop_reason
        self._objective_words = result.objective

    def _warn(self) -> None:
        """Warn of what makes the fit unfit for use, naming the line that called `fit`."""
        for diagnosis in self.diagnoses_:
            if diagnosis.kind in self._warned_kinds:
                warnings.warn(str(diagnosis), ConvergenceWarning, stacklevel=user_stacklevel())

    def objective(self) -> str:
        """The exact formula that was minimised, in words and numbers."""
        check_is_fitted(self)
        return self._objective_words

    def decision_function(self, X: Any) -> Array:
        """Scores: (n,) for two classes, positive for the second; else (n, C)."""
        Z = self._scores(X)[:, 0]
        if len(self.classes_) == 2:
            return Z[:, 0] if Z.shape[1] == 1 else Z[:, 1] - Z[:, 0]
        if Z.shape[1] < len(self.classes_):  # the first class is the reference, with score 0
            return np.concatenate([np.zeros_like(Z[:, :1]), Z], axis=1)
        return Z

    def predict(self, X: Any) -> Array:
        """The class of the highest score, for every row."""
        Z = self._scores(X)
        return self.classes_[self._loss.predict(Z)[:, 0]]

    def _has_probabilities(self) -> bool:
        """Whether there are probabilities; an AttributeError says why not."""
        loss = self._loss if hasattr(self, "_loss") else self._likely_loss()
        if loss is None or loss.probabilities(np.zeros((1, 1, 1))) is not None:
            return True
        raise AttributeError(
            f"Loss '{loss.name}' has no probabilities. Use loss='logistic' or 'softmax', or wrap "
            "the classifier in scikit-learn's CalibratedClassifierCV."
        )

    def _likely_loss(self) -> Loss | None:
        """The loss before fitting, if it is known."""
        return None

    def _probabilities(self, X: Any) -> Array:
        Z = self._scores(X)
        P = self._loss.probabilities(Z)
        assert P is not None
        return P[:, 0]

    @available_if(lambda self: self._has_probabilities())
    def predict_proba(self, X: Any) -> Array:
        """The probability of every class, (n, C)."""
        return self._probabilities(X)

    @available_if(lambda self: self._has_probabilities())
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, from which `separatrix.load_model` makes it again."""
        from separatrix import save

        save(self, path)

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        known = self.__dict__.get("_known_scores")
        if known is not None and known[0] is X:  # found in one product with those of other models
            return known[1]
        require_numbers("X", X)
        X = validate_data(
            self, X, reset=False, accept_sparse=ACCEPTED, dtype="numeric", ensure_all_finite=False
        )
        X = as_numbers(X)
        require_finite("X", X)
        return self._model().scores(Matrix(self._apply_feature_map(X)))

    def _model(self) -> Model:
        """The weights of the fit, as a batch of one."""
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        return Model(np.ascontiguousarray(coef.T[:, None, :]), self.intercept_[None].copy())

    def _repr_html_inner(self) -> str:
        return self._verdict_html() + super()._repr_html_inner()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in shown:  # scikit-learn is set to show diagrams
            shown["text/html"] = self._verdict_html() + shown["text/html"]
        return shown

    def _verdict_html(self) -> str:
        """The verdict of the fit, to stand above scikit-learn's diagram in a notebook."""
        if not hasattr(self, "certificate_"):
            return ""
        return fit_card(
            type(self).__name__,
            stop_reason=self.stop_reason_,
            kept_epoch=self.best_epoch_,
            certificate=self.certificate_,
            diagnoses=self.diagnoses_,
            objective=self.objective(),
            history=self.history_,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def copy_feature_attributes(source: LinearClassifier, target: LinearClassifier) -> None:
    """Let one estimator know what another has learnt from X alone, such as the features' names."""
    for name in source._feature_attributes:
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
        elif hasattr(target, name):
            delattr(target, name)
