"""The base of all linear classifiers: fitted attributes and prediction."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.cluster import is_collection
from separatrix.data import Block, BlockRows, Dataset, require_own_labels
from separatrix.device import to_host
from separatrix.display import fit_card
from separatrix.estimators.checks.validation import (
    as_numbers,
    is_plain,
    list_classes,
    require_features,
    require_finite,
    require_numbers,
)
from separatrix.estimators.decisions.lazy_predictions import predict_lazily, score_collection
from separatrix.estimators.fit_warnings import user_stacklevel
from separatrix.losses import Loss
from separatrix.matrix import Array, Matrix, first_not_finite
from separatrix.model import Model
from separatrix.solver_state import State
from separatrix.training import History, Result
from separatrix.training.task import Task
from separatrix.verdict.regions import Region

if TYPE_CHECKING:
    from separatrix.estimators.checks.validation_rows import Split

ACCEPTED = ("csr", "csc")


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with scores X coef_.T + intercept_.

    A subclass implements `_make_task`, which defines how it is trained.
    """

    classes_: Array
    coef_: Any  # an array, or sparse after sparsify
    intercept_: Array
    history_: History
    n_iter_: Any
    _state: State | None
    _state_of: Hashable
    _known_scores: tuple[Any, Array]

    # Whether the state of a fit is kept, from which `partial_fit` continues.
    _keeps_state = False
    # Attributes learnt from X alone, which all models of a batch share.
    _feature_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")

    @property
    def _warned_kinds(self) -> frozenset[str]:
        """The kinds of diagnoses that cause a warning after `fit`."""
        return frozenset({"diverged"})

    def _make_task(self, data: Dataset) -> Task:
        raise NotImplementedError

    def _feature_map_key(self) -> Hashable:
        """Return a key that models with the same feature map share; None means no feature map."""
        return None

    def _stores_region(self) -> bool:
        """Return whether a fit stores the region of the optimum."""
        return False

    def _store_region(self, region: Region | str, zero_weights: Array) -> None:
        """Store the region of the optimum, and which weights (K, d) are certainly 0 there."""

    def _fit_feature_map(self, X: Any) -> Any:
        """Learn the feature map from X and return the features that the model is trained on."""
        return X

    def _apply_feature_map(self, X: Any) -> Any:
        """Return the features of the linear model for the rows of X."""
        return X

    def _split_key(self) -> Hashable:
        """Return a key that models with the same validation rows share; None means none."""
        return None

    def _set_aside(self, X: Any, y: Any, sample_weight: Array | None) -> Split | None:
        """Split validation rows off the training rows, if the model asks for it."""
        return None

    def _needs_memory(self, has_validation: bool) -> str:
        """Return which parameter needs all rows in memory, as in "probability=5", or ""."""
        return ""

    def _finish(self, X: Any, y: Any, sample_weight: Array | None) -> None:
        """Do what remains after a fit and needs its data, such as calibrating probabilities."""

    def _set_fitted(self, result: Result, loss: Loss, classes: Array) -> None:
        """Set the fitted attributes from the result of training."""
        self._loss = loss
        self._state = result.state
        self.classes_ = classes
        self.coef_ = np.ascontiguousarray(result.model.W[:, 0].T)
        self.intercept_ = result.model.b[0].copy()
        self.history_ = result.history
        self.n_iter_ = result.history.epochs
        self.best_epoch_ = result.best_epoch
        self.certificate_ = result.certificate
        mapped = self._feature_map_key() is not None  # its features are those of the map
        names = None if mapped else getattr(self, "feature_names_in_", None)
        self.diagnoses_ = [found.with_names(names) for found in result.diagnoses]
        self.stop_reason_ = result.stop_reason
        self._objective_words = result.objective

    def _warn(self, kinds: frozenset[str]) -> None:
        """Warn about serious problems of the fit, at the line that called `fit`."""
        for diagnosis in self.diagnoses_:
            if diagnosis.kind in kinds:
                warnings.warn(str(diagnosis), ConvergenceWarning, stacklevel=user_stacklevel())

    def objective(self) -> str:
        """Return the formula of the minimised objective as text, with its numbers filled in."""
        check_is_fitted(self)
        return self._objective_words

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the rows of X.

        The shape is (n,) for two classes, where a positive score stands for the second class, and
        (n, C) for more classes. For a collection of Dask it is a lazy array, as in `predict`.
        """
        if is_collection(X):
            return predict_lazily(self, "decision_function", X)
        Z = self._scores(X)[:, 0]
        if len(self.classes_) == 2:
            return Z[:, 0] if Z.shape[1] == 1 else Z[:, 1] - Z[:, 0]
        if Z.shape[1] < len(self.classes_):  # the first class is the reference, with score 0
            return np.concatenate([np.zeros_like(Z[:, :1]), Z], axis=1)
        return Z

    def predict(self, X: Any) -> Array:
        """Return the class with the highest score for every row of X."""
        if is_collection(X):
            return predict_lazily(self, "predict", X)
        Z = self._scores(X)
        return self.classes_[self._loss.predict(Z)[:, 0]]

    def _has_probabilities(self) -> bool:
        """Return True if there are probabilities; raise an AttributeError if not."""
        loss = self._loss if hasattr(self, "_loss") else self._likely_loss()
        if loss is None or loss.probabilities(np.zeros((1, 1, 1))) is not None:
            return True
        raise AttributeError(
            f"Loss '{loss.name}' does not define probabilities. Use loss='logistic' or 'softmax', "
            "or wrap the classifier in scikit-learn's CalibratedClassifierCV."
        )

    def _likely_loss(self) -> Loss | None:
        """Return the loss if it is known before fitting, otherwise None."""
        return None

    def _probabilities(self, X: Any) -> Array:
        Z = self._scores(X)
        P = self._loss.probabilities(Z)
        assert P is not None
        return P[:, 0]

    @available_if(lambda self: self._has_probabilities())
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities (n, C) of all classes for the rows of X."""
        if is_collection(X):
            return predict_lazily(self, "predict_proba", X)
        return self._probabilities(X)

    @available_if(lambda self: self._has_probabilities())
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, (n, C)."""
        if is_collection(X):
            return predict_lazily(self, "predict_log_proba", X)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on X (n, d) and y (n,) with these weights (n,).

        Rows outside of memory, such as those of `separatrix.open`, have their own labels and
        weights. The rows of a Dask collection are counted by its workers.
        """
        if is_collection(X):
            return score_collection(self, X, y, sample_weight)
        if isinstance(X, BlockRows):
            require_own_labels(X, y, sample_weight)
            y, sample_weight = X.y, X.weights
        return float(super().score(X, y, sample_weight))

    def sparsify(self) -> Self:
        """Convert `coef_` to a sparse matrix, which saves memory if most weights are 0."""
        check_is_fitted(self)
        self.coef_ = sp.csr_array(self.coef_)
        return self

    def densify(self) -> Self:
        """Convert `coef_` back to a dense array."""
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a file that `separatrix.load_model` reads."""
        from separatrix import save

        save(self, path)

    def _scores(self, X: Any) -> Array:
        known = self.__dict__.get("_known_scores")
        if known is not None and known[0] is X:  # computed together with those of other models
            return known[1]
        if isinstance(X, BlockRows):
            return self._scores_of_rows(X)
        X = self._checked(to_host(X))
        model = self._model()
        # NaN and infinities in a dense X make the scores of their row NaN or infinite, unless all
        # weights are 0 and X is not read. Checking the scores is faster, because they are fewer.
        shows = not sp.issparse(X) and self._feature_map_key() is None and model.W.any()
        if not shows:
            require_finite("X", X)
        Z = model.scores(Matrix(self._apply_feature_map(X)))
        if shows and first_not_finite(Z.reshape(len(Z), -1)) is not None:
            require_finite("X", X)
        return Z

    def _scores_of_rows(self, rows: BlockRows) -> Array:
        """Return the scores of rows outside of memory, block by block."""
        check_is_fitted(self)
        require_features(self, rows, "X")
        parts = Dataset(rows.source, rows.labels).map_blocks(scores_of_block, self._model())
        return np.concatenate(parts)

    def _checked(self, X: Any) -> Any:
        """Return X as numbers after checks of its type and features, but not for NaN."""
        if self._is_plain(X):
            return X
        check_is_fitted(self)
        require_numbers("X", X)
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse=ACCEPTED,
            dtype="numeric",
            ensure_all_finite=False,
        )
        X = as_numbers(X)
        return X

    def _is_plain(self, X: Any) -> bool:
        """Return whether X is a plain array with the features seen in `fit`, which had no names."""
        return (
            is_plain(X)
            and X.shape[1] == self.__dict__.get("n_features_in_")
            and "feature_names_in_" not in self.__dict__
        )

    def _model(self) -> Model:
        """Return the fitted weights as a batch of one model."""
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        return Model(np.ascontiguousarray(coef.T[:, None, :]), self.intercept_[None].copy())

    def _previous_weights(self, n_outputs: int, data: Dataset) -> Model | None:
        """Return the weights of the previous fit, or None if there was none."""
        if not hasattr(self, "coef_"):
            return None
        shape = (n_outputs, data.n_features)
        if self.coef_.shape != shape or not np.array_equal(self.classes_, data.classes):
            raise ValueError(
                "warm_start=True starts from the previous fit, whose coef_ has shape "
                f"{self.coef_.shape} and whose classes are {list_classes(self.classes_)}. This fit "
                f"has shape {shape} and classes {list_classes(data.classes)}. Set "
                "warm_start=False to start from zero."
            )
        return self._model()

    def _repr_html_inner(self) -> str:
        return self._verdict_html() + super()._repr_html_inner()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in shown:  # scikit-learn is configured to show diagrams
            shown["text/html"] = self._verdict_html() + shown["text/html"]
        return shown

    def _verdict_html(self) -> str:
        """Return the verdict of the fit as HTML; notebooks show it above scikit-learn's diagram."""
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
            detail=getattr(self, "stop_detail_", None),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def scores_of_block(block: Block, model: Model) -> Array:
    """Return the scores Z (n, B, K) of the rows of a block."""
    return model.scores(block.X)


def copy_feature_attributes(source: LinearClassifier, target: LinearClassifier) -> None:
    """Copy attributes that were learnt from X alone, such as the feature names."""
    for name in source._feature_attributes:
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
        elif hasattr(target, name):
            delattr(target, name)
