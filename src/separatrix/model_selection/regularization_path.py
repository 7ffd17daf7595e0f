"""The regularisation path from a strong to a weak penalty, with a certificate for every point."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from separatrix.cluster import is_collection
from separatrix.data import Dataset
from separatrix.estimators.checks.placed_data import place_rows
from separatrix.estimators.checks.training_data import make_dataset
from separatrix.estimators.checks.validation import (
    as_list,
    has_length,
    require_choice,
    require_count,
    require_flag,
    require_number,
    require_strength,
)
from separatrix.estimators.fit_warnings import warn_once
from separatrix.estimators.linear_classifier import copy_feature_attributes
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.svc import LinearSVC
from separatrix.inference.coefficient_names import feature_names, output_classes, table_index
from separatrix.inference.null_model import NullModel
from separatrix.matrix import Array
from separatrix.model import Model
from separatrix.model_selection.scaling_as_penalty import scales
from separatrix.model_selection.warm_started_path import train_warm_started
from separatrix.training import History
from separatrix.verdict.certificate import Certificate

if TYPE_CHECKING:
    import pandas as pd

ESTIMATORS_BY_LOSS: dict[str, tuple[type[OptimumClassifier], dict[str, str]]] = {
    "logistic": (LogisticRegression, {}),
    "softmax": (LogisticRegression, {"multiclass": "softmax"}),
    "softmax_reference": (LogisticRegression, {"multiclass": "reference"}),
    "squared_hinge": (LinearSVC, {}),
    "hinge": (LinearSVC, {"loss": "hinge"}),
    "crammer_singer": (LinearSVC, {"loss": "hinge", "multiclass": "crammer_singer"}),
}
# Weakest penalty divided by the strongest. With L1, weights become non-zero within a few powers of
# ten. With L2, they grow over many.
RATIO_L1, RATIO_L2 = 1e-3, 1e-6
ROUNDING = 1e3  # the strongest penalty is raised by this many units in the last place


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """A fitted estimator for each of P penalty strengths.

    Attributes
    ----------
    estimators : list of estimators
        Fitted estimators.
    Cs : ndarray of shape (P,)
        Values of the parameter C of the estimators.
    l1, l2 : ndarray of shape (P,)
        Strengths of the L1 and the L2 penalty in the objective.
    coefs : ndarray of shape (P, K, d)
        Weights of the K outputs.
    intercepts : ndarray of shape (P, K)
        Biases of the K outputs.
    certificates : list of Certificate
        Certificate of each point.
    histories : list of History
        History of each point.
    n_iter : ndarray of shape (P,)
        Number of iterations of each point.
    stop_reasons : list of str
        Reason why each fit stopped.
    n_nonzero : ndarray of shape (P,)
        Number of non-zero weights of each point.
    factors : ndarray of shape (d,) or None
        Penalty factors of the features if `standardize` is True, otherwise None.
    """

    estimators: list[OptimumClassifier]
    l1: Array
    l2: Array
    factors: Array | None

    def __len__(self) -> int:
        return len(self.estimators)

    @property
    def Cs(self) -> Array:  # noqa: N802
        return np.array([each.C for each in self.estimators])

    @property
    def coefs(self) -> Array:
        return np.stack([each.coef_ for each in self.estimators])

    @property
    def intercepts(self) -> Array:
        return np.stack([each.intercept_ for each in self.estimators])

    @property
    def certificates(self) -> list[Certificate]:
        return [each.certificate_ for each in self.estimators]

    @property
    def histories(self) -> list[History]:
        return [each.history_ for each in self.estimators]

    @property
    def n_iter(self) -> Array:
        return np.array([each.history_.epochs for each in self.estimators])

    @property
    def n_nonzero(self) -> Array:
        return np.count_nonzero(self.coefs, axis=(1, 2))

    @property
    def stop_reasons(self) -> list[str]:
        return [each.stop_reason_ for each in self.estimators]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with one row per point: strengths, objective and gap."""
        import pandas as pd

        proofs = self.certificates
        return pd.DataFrame(
            {
                "C": self.Cs,
                "l1": self.l1,
                "l2": self.l2,
                "n_nonzero": self.n_nonzero,
                "objective": [proof.primal for proof in proofs],
                "gap": np.array([proof.gap for proof in proofs], float),
                "relative_gap": np.array([proof.relative_gap for proof in proofs], float),
                "n_iter": self.n_iter,
                "stop_reason": self.stop_reasons,
            }
        ).rename_axis("point")

    def coefs_to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with one row per C and one column per weight.

        The columns are the features, below the classes if there are several outputs.
        """
        import pandas as pd

        one = self.estimators[0]
        columns = table_index(output_classes(one), feature_names(one))
        index = pd.Index(self.Cs, name="C")
        return pd.DataFrame(self.coefs.reshape(len(self), -1), index=index, columns=columns)


def regularization_path(
    X: Any,
    y: Any = None,
    estimator: str | OptimumClassifier = "logistic",
    *,
    l1_ratio: float | None = None,
    Cs: Any = 50,
    ratio: float | None = None,
    sample_weight: Any = None,
    standardize: bool = False,
) -> RegularizationPath:
    """Fit a classifier for a range of penalty strengths.

    Every point agrees, within `tol`, with a separate fit at that C. Without L1, all points are one
    batch. With L1, there are a few batches, and each later one starts from interpolated solutions.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or rows on disk
        Training data. Rows on disk come from `separatrix.open`.
    y : array-like of shape (n,), default=None
        Class labels. Rows on disk have their own.
    estimator : str, LogisticRegression or LinearSVC, default="logistic"
        Estimator to fit (its C is ignored), or the name of a loss: "logistic" (softmax for more
        than two classes), "softmax", "softmax_reference", "squared_hinge", "hinge" or
        "crammer_singer".
    l1_ratio : float, default=None
        Share of L1 in the penalty. None means the value of the estimator.
    Cs : int or list of floats, default=50
        Values of C, or their number. A number of values is chosen from the data, evenly spaced on
        a logarithmic scale. The first is then the smallest penalty at which all weights are 0.
        Without L1, it is a penalty at which no model can be more than 1 % better than the best
        constant model.
    ratio : float, default=None
        Last penalty divided by the first. None means 1e-3 with L1 and 1e-6 without.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    standardize : bool, default=False
        Whether to penalise the weights as if the features were standardised. The returned weights
        are those of the original features.

    Returns
    -------
    path : RegularizationPath
        Fitted estimators, in the order of `Cs`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import regularization_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = regularization_path(X, y, Cs=5, standardize=True)
    >>> path.coefs.shape, all(proof.certified for proof in path.certificates)
    ((5, 1, 30), True)
    """
    prototype = _prototype(estimator, l1_ratio)
    require_flag("standardize", standardize)
    require_number("ratio", ratio, high=1.0, open_low=True, optional=True)
    checked = copy(prototype)
    if is_collection(X):
        X, y, sample_weight = place_rows(X, y, sample_weight), None, None
    data = make_dataset(checked, X, y, sample_weight, [prototype.class_weight])
    _require_every_class(data)
    factors = scales(data)[:, 0] if standardize else None
    task = prototype._make_task(data)
    # With a penalised bias, the scores tend to 0 as the penalty grows.
    null = NullModel.of(task.loss, task.n_outputs, data, bias=task.bias and not task.bias_factor)
    values = _values(Cs, ratio, prototype._penalty()[1], null, factors, data)
    estimators = [clone(prototype).set_params(C=float(C)) for C in values]
    start = Model.zeros(data.n_features, 1, task.n_outputs)
    start.b[:] = null.b
    tasks = [replace(each._make_task(data, factors), start=start) for each in estimators]
    order = np.argsort(values, kind="stable").tolist()
    lasso = any(each.l1 > 0.0 for each in tasks)
    results = train_warm_started(tasks, [order] if lasso else [[k] for k in order], data)
    for each, result in zip(estimators, results):
        copy_feature_attributes(checked, each)
        each._set_fitted(result, task.loss, data.classes)
    warn_once(estimators, "points of the path", lambda k: f"point {k}, C={values[k]:g}")
    return RegularizationPath(
        estimators,
        np.array([each.l1 for each in tasks]),
        np.array([each.l2 for each in tasks]),
        factors,
    )


def _prototype(estimator: Any, l1_ratio: float | None) -> OptimumClassifier:
    if isinstance(estimator, (LogisticRegression, LinearSVC)):
        prototype: OptimumClassifier = clone(estimator)
    else:
        if not isinstance(estimator, str):
            raise TypeError(
                f"regularization_path takes a loss ({', '.join(ESTIMATORS_BY_LOSS)}), or a "
                f"LogisticRegression or LinearSVC. Got {type(estimator).__name__} instead."
            )
        require_choice("estimator", estimator, ESTIMATORS_BY_LOSS)
        kind, options = ESTIMATORS_BY_LOSS[estimator]
        prototype = kind(**options)
    if l1_ratio is not None:
        prototype.set_params(l1_ratio=l1_ratio)
    prototype._check_parameters()
    return prototype


def _values(
    Cs: Any,
    ratio: float | None,
    l1_ratio: float,
    null: NullModel,
    factors: Array | None,
    data: Dataset,
) -> Array:
    """Return the values of C: the given ones, or values chosen from the data."""
    if has_length(Cs):
        for C in as_list("Cs", Cs, "a whole number or a list of numbers"):
            require_strength("Cs", C)
        return np.asarray(Cs, np.float64)
    require_count("Cs", Cs)
    if l1_ratio > 0.0:
        largest = null.largest_l1(factors) / l1_ratio
        largest *= 1.0 + ROUNDING * float(np.finfo(data.dtype).eps)
    else:
        largest = null.largest_l2(factors)
    if not largest > 0.0:
        raise ValueError(
            "The gradient at zero weights is 0: no feature distinguishes the classes, and all "
            "weights are 0 for every C. Pass the values of C as a list."
        )
    if ratio is None:
        ratio = RATIO_L1 if l1_ratio > 0.0 else RATIO_L2
    strengths = largest * np.geomspace(1.0, ratio, Cs)
    return 1.0 / (strengths * data.given_weight()[0])


def _require_every_class(data: Dataset) -> None:
    """Raise if a class has no weight, because the path begins at the model without features."""
    missing = data.classes[data.class_weight() == 0.0]
    if len(missing):
        raise ValueError(
            f"The class {missing[0]!s} has no weight: sample_weight or class_weight is 0 for all "
            "its rows. A path needs rows of every class. Remove these rows, or give some of them "
            "a positive weight."
        )
