"""Any linear model seen as numbers: weights, biases, loss, classes, names of the features."""

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
    """A linear model: scores W x + b, W (K, d) and b (K,), and what they are for.

    `threshold` is that of one score: the second class wins above it. `estimator` is the fitted
    classifier that the numbers are from, and None for numbers given by hand. `units` are the shift
    and the scale (d,) that took raw numbers to what the model sees, (raw - shift) / scale.
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
        """A row (d,) in the units of the data; None if the model sees those."""
        if self.units is None:
            return None
        shift, scale = self.units
        return np.array([float(f"{v:.12g}") for v in x * scale + shift])  # without its rounding

    def scores(self, X: Array) -> Array:
        """(n, 1, K) of rows (n, d)."""
        return (X @ self.W.T + self.b)[:, None, :]

    def rows_of(self, X: Any) -> Any:
        """Rows (n, d) as numbers, dense or CSR; a frame must have the columns of training."""
        given = getattr(X, "columns", None)
        trained = getattr(self.estimator, "feature_names_in_", None)
        if given is not None and trained is not None and list(given) != list(trained):
            raise ValueError(
                f"The columns must be those of training, {', '.join(map(str, trained[:9]))}. "
                f"Got {', '.join(map(str, list(given)[:9]))} instead."
            )
        rows = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        if rows.ndim != 2 or rows.dtype.kind not in "biuf":
            raise ValueError(
                "Rows are numbers, of shape (n, d). "
                f"Got an array of shape {rows.shape} and type {rows.dtype} instead."
            )
        if rows.shape[1] != len(self.names):
            raise ValueError(
                f"The model has {len(self.names)} features. Got rows of {rows.shape[1]} instead."
            )
        if not np.isfinite(rows.data if sp.issparse(rows) else rows).all():
            raise ValueError("Rows must hold finite numbers only.")
        return rows.astype(np.float64)

    def probabilities(self, X: Array) -> Array | None:
        """(n, C), or None where there are none."""
        if self.estimator is None:
            found = self.loss.probabilities(self.scores(X))
            return None if found is None else np.asarray(found[:, 0])
        if not hasattr(self.estimator, "predict_proba"):
            return None
        with _without_names():
            return np.asarray(self.estimator.predict_proba(X), np.float64)

    def predict(self, X: Array) -> list[int]:
        """The number of the class of every row."""
        if self.estimator is None:
            return [int(k) for k in self.loss.predict(self.scores(X))[:, 0]]
        with _without_names():
            return [self.number_of(label) for label in self.estimator.predict(X).tolist()]

    def number_of(self, label: Any) -> int:
        """The number of a class; a ValueError if it is none."""
        if label not in self.classes:
            known = ", ".join(map(str, self.classes))
            raise ValueError(f"The label must be one of the classes, {known}. Got {label!r}.")
        return self.classes.index(label)

    def by_class(self, values: Array) -> Array:
        """Values (..., K) of the outputs as those of all classes (..., C).

        One output, or a reference class, stands beside a class whose value is 0; two outputs and
        more are the classes' own.
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
    """A model of numbers given by hand, to be explained like a fitted one.

    Parameters
    ----------
    W, bias : (d,) and a number for two classes, or (K, d) and (K,)
    loss : "auto" (logistic with one score, softmax with more), a name in LOSSES, or a Loss
    classes, names : of the classes and of the features; 0, 1, ... and feature 1, ... by default

    >>> model = weights([-1, 2, -3], names=["always 1", "positive word", "negative word"])
    >>> model.probabilities(np.array([[1, 1, 1]]))[0, 1].round(2)
    np.float64(0.12)
    """
    W = np.atleast_2d(numbers_of("W", W))
    K, d = W.shape
    b = numbers_of("bias", bias)
    if b.shape not in ((), (K,)):
        raise ValueError(f"bias must be a number, or ({K},) as W has rows. Got {b.shape} instead.")
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise ValueError("All weights and biases must be finite. Got NaN or infinity among them.")
    b = np.broadcast_to(b, (K,))
    made = loss_of(("logistic" if K == 1 else "softmax") if loss == "auto" else loss)
    n_classes = classes_of(made, K)
    for what, given, wanted in (("classes", classes, n_classes), ("names", names, d)):
        if given is not None and len(given) != wanted:
            raise ValueError(f"There must be {wanted} {what}. Got {len(given)} instead.")
    labels = tuple(range(n_classes)) if classes is None else tuple(classes)
    return Weights(W, b, made, labels, _named(names, d))


def weights_of(model: Any) -> Weights:
    """The numbers of a fitted classifier, of the one in a Bundle, or as they are."""
    if isinstance(model, Weights):
        return model
    estimator = model.estimator if isinstance(model, Bundle) else model
    if not isinstance(estimator, LinearClassifier):
        raise TypeError(
            "What is explained must be a fitted classifier of separatrix, a Bundle, or "
            f"explain.weights(...). Got {type(estimator).__name__} instead."
        )
    if isinstance(estimator, KernelClassifier):
        raise ValueError(
            "A KernelClassifier has no weights of features: it sums over training rows. "
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
        _units(getattr(model, "preparation", None)),
    )


def _units(preparation: Any) -> tuple[Array, Array] | None:
    """The shift and the scale of every column that a preparation makes; None where it has none."""
    steps = getattr(preparation, "steps", ())
    shifts, scales = ([getattr(step, key, None) for step in steps] for key in ("shift", "scale"))
    if all(each is None for each in [*shifts, *scales]):
        return None
    sizes = [len(step.names) for step in steps]
    shift = [np.zeros(d) if a is None else a for a, d in zip(shifts, sizes)]
    scale = [np.ones(d) if a is None else a for a, d in zip(scales, sizes)]
    return np.concatenate(shift), np.concatenate(scale)


@contextmanager
def _without_names() -> Iterator[None]:
    """No warning that rows have no names: `rows_of` has looked at them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def _named(names: Any, d: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"feature {j}" for j in range(1, d + 1))
    return tuple(str(name) for name in names)
