"""The numbers of a linear model: weights, biases, loss, classes, names of the features."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.explain.input_checks import loss_of, numbers_of
from separatrix.explain.steps import classes_of
from separatrix.kernel_methods.kernel_classifier import KernelClassifier
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle


@dataclass(frozen=True, eq=False)
class Weights:
    """A linear model with scores W x + b.

    Attributes
    ----------
    W, b : weights (K, d) and biases (K,)
    loss : the loss of the model
    classes, names : the classes, and the names of the features
    threshold : for one score, the value above which the second class is predicted
    estimator : the fitted classifier, or None if the weights were given directly
    units : shift and scale (d,) of the preparation. The model gets (raw - shift) / scale
    """

    W: Array
    b: Array
    loss: Loss
    classes: tuple[Any, ...]
    names: tuple[str, ...]
    threshold: float = 0.0
    estimator: LinearClassifier | None = None
    units: tuple[Array, Array] | None = None

    def raw(self, x: Array) -> Array | None:
        """Return a row (d,) in the units of the data, or None if the model gets these units."""
        if self.units is None:
            return None
        shift, scale = self.units
        return np.array([float(f"{v:.12g}") for v in x * scale + shift])  # remove rounding errors

    def scores(self, X: Array) -> Array:
        """Return the scores (n, 1, K) of rows (n, d)."""
        return (X @ self.W.T + self.b)[:, None, :]

    def rows_of(self, X: Any) -> Any:
        """Return rows (n, d) as numbers, dense or CSR. A frame must have the training columns."""
        given = getattr(X, "columns", None)
        trained = getattr(self.estimator, "feature_names_in_", None)
        if given is not None and trained is not None and list(given) != list(trained):
            raise ValueError(
                f"The columns must be the same as in training: {', '.join(map(str, trained[:9]))}. "
                f"Got {', '.join(map(str, list(given)[:9]))} instead."
            )
        rows = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        if rows.ndim != 2 or rows.dtype.kind not in "biuf":
            raise ValueError(
                "Rows must be numbers of shape (n, d). "
                f"Got an array of shape {rows.shape} and type {rows.dtype} instead."
            )
        if rows.shape[1] != len(self.names):
            raise ValueError(
                f"The model has {len(self.names)} features. Got rows with {rows.shape[1]} instead."
            )
        if not np.isfinite(rows.data if sp.issparse(rows) else rows).all():
            raise ValueError("All entries of the rows must be finite.")
        return rows.astype(np.float64)

    def probabilities(self, X: Array) -> Array | None:
        """Return probabilities (n, C), or None if the model has none."""
        if self.estimator is None:
            found = self.loss.probabilities(self.scores(X))
            return None if found is None else np.asarray(found[:, 0])
        if not hasattr(self.estimator, "predict_proba"):
            return None
        with _without_names():
            return np.asarray(self.estimator.predict_proba(X), np.float64)

    def predict(self, X: Array) -> list[int]:
        """Return the index of the predicted class of every row."""
        if self.estimator is None:
            return [int(k) for k in self.loss.predict(self.scores(X))[:, 0]]
        with _without_names():
            return [self.number_of(label) for label in self.estimator.predict(X).tolist()]

    def number_of(self, label: Any) -> int:
        """Return the number of a class. Raise a ValueError if the label is not a class."""
        if label not in self.classes:
            known = ", ".join(map(str, self.classes))
            raise ValueError(f"The label must be one of the classes, {known}. Got {label!r}.")
        return self.classes.index(label)

    def by_class(self, values: Array) -> Array:
        """Convert values (..., K) of the outputs to values (..., C) of the classes.

        If there are fewer outputs than classes, the first class is the reference with value 0.
        """
        lacking = len(self.classes) - values.shape[-1]
        nothing = np.zeros((*values.shape[:-1], lacking))
        return np.concatenate([nothing, values], axis=-1)


def weights(
    W: Any,
    bias: Any = 0.0,
    *,
    loss: str | Loss = "auto",
    classes: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
) -> Weights:
    """Make a linear model from given weights, to explain it like a fitted model.

    Parameters
    ----------
    W, bias : (d,) and a number for two classes, or (K, d) and (K,)
    loss : "auto" (logistic for one score, softmax for several), a name in LOSSES, or a Loss
    classes : the classes, by default 0, 1, ...
    names : the names of the features, by default feature 1, feature 2, ...

    >>> model = weights([-1, 2, -3], names=["always 1", "positive word", "negative word"])
    >>> model.probabilities(np.array([[1, 1, 1]]))[0, 1].round(2)
    np.float64(0.12)
    """
    W = np.atleast_2d(numbers_of("W", W))
    K, d = W.shape
    b = numbers_of("bias", bias)
    if b.shape not in ((), (K,)):
        raise ValueError(
            f"bias must be a number or have shape ({K},), one entry per row of W. Got {b.shape}."
        )
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise ValueError("All weights and biases must be finite. Got NaN or infinity instead.")
    b = np.broadcast_to(b, (K,))
    made = loss_of(("logistic" if K == 1 else "softmax") if loss == "auto" else loss)
    n_classes = classes_of(made, K)
    for what, given, wanted in (("classes", classes, n_classes), ("names", names, d)):
        if given is not None and len(given) != wanted:
            raise ValueError(f"There must be {wanted} {what}. Got {len(given)} instead.")
    labels = tuple(range(n_classes)) if classes is None else tuple(classes)
    return Weights(W, b, made, labels, _named(names, d))


def weights_of(model: Any) -> Weights:
    """Return the weights of a fitted classifier or Bundle. Return `Weights` unchanged."""
    if isinstance(model, Weights):
        return model
    estimator = model.estimator if isinstance(model, Bundle) else model
    if not isinstance(estimator, LinearClassifier):
        raise TypeError(
            "The model must be a fitted classifier of separatrix, a Bundle, or "
            f"explain.weights(...). Got {type(estimator).__name__} instead."
        )
    if isinstance(estimator, KernelClassifier):
        raise ValueError(
            "A KernelClassifier has no weights of features: its score is a sum over training rows. "
            "Explain a linear model, such as LogisticRegression."
        )
    check_is_fitted(estimator)
    coef = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else estimator.coef_
    prepared = getattr(getattr(model, "preparation", None), "feature_names_out", None)
    names = getattr(estimator, "feature_names_in_", None) if prepared is None else prepared
    return Weights(
        np.asarray(coef, np.float64),
        np.asarray(estimator.intercept_, np.float64),
        estimator._loss,
        tuple(estimator.classes_.tolist()),
        _named(names, coef.shape[1]),
        float(getattr(estimator, "threshold_", 0.0)),
        estimator,
        getattr(getattr(model, "preparation", None), "units", None),
    )


@contextmanager
def _without_names() -> Iterator[None]:
    """Silence the warning about missing feature names: `rows_of` has checked the columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def _named(names: Any, d: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"feature {j}" for j in range(1, d + 1))
    return tuple(str(name) for name in names)
