"""Confidence intervals for the coefficients of a fitted model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.checks.validation import (
    as_seed,
    require_choice,
    require_count,
    require_flag,
    require_number,
)
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.svc import LinearSVC
from separatrix.inference.bootstrap import Bootstrap, fit_replicates
from separatrix.inference.coefficient_names import feature_names, output_classes, table_index
from separatrix.inference.fitted_objective import FittedObjective
from separatrix.inference.wald import covariance
from separatrix.matrix import Array
from separatrix.verdict.certificate import Certificate

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("wald", "bootstrap")
INTERVALS = ("percentile", "basic")
INTERCEPT = "(intercept)"


@dataclass(frozen=True, eq=False)
class Intervals:
    """Confidence intervals of the coefficients of K outputs.

    Attributes
    ----------
    names : list of str
        Names of the p coefficients: the intercept, if there is one, and the features.
    classes : list
        Class of each output.
    estimate : ndarray of shape (K, p)
        Coefficients of the fit.
    standard_error : ndarray of shape (K, p)
        Standard errors of the coefficients.
    lower, upper : ndarray of shape (K, p)
        Ends of the intervals.
    level : float
        Confidence level.
    method : str
        "wald" or "bootstrap".
    z : ndarray of shape (K, p) or None
        Estimates divided by their standard errors. None with method="bootstrap".
    p_value : ndarray of shape (K, p) or None
        Two-sided p-values of the hypothesis that the coefficient is 0. None with
        method="bootstrap".
    covariance : ndarray of shape (K p, K p) or None
        Covariance of all coefficients, ordered by output. None with method="bootstrap".
    replicates : ndarray of shape (R, K, p) or None
        Coefficients of the R replicates. None with method="wald".
    certificates : tuple of Certificate
        Certificates of the replicates. Empty with method="wald".
    n_redrawn : int
        Number of draws that were repeated because a class was missing.
    """

    names: list[str]
    classes: list[Any]
    estimate: Array
    standard_error: Array
    lower: Array
    upper: Array
    level: float
    method: str
    z: Array | None = None
    p_value: Array | None = None
    covariance: Array | None = None
    replicates: Array | None = None
    certificates: tuple[Certificate, ...] = ()
    n_redrawn: int = 0

    @property
    def largest_gap(self) -> float | None:
        """The largest relative duality gap of all replicates; None if there is no gap."""
        gaps = [proof.relative_gap for proof in self.certificates]
        known = [gap for gap in gaps if gap is not None]
        return max(known) if known and len(known) == len(gaps) else None

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with one row per coefficient.

        The index holds the names of the coefficients. If there are several outputs, its first level
        holds their classes.
        """
        import pandas as pd

        index = table_index(self.classes, self.names)
        return pd.DataFrame({name: a.ravel() for name, a in self._columns()}, index=index)

    def __str__(self) -> str:
        columns = list(self._columns())
        names = [
            name if len(self.classes) == 1 else f"{label!s}: {name}"
            for label in self.classes
            for name in self.names
        ]
        cells = [[f"{value:.4g}" for value in a.ravel()] for _, a in columns]
        table = [["", *names], *([name, *column] for (name, _), column in zip(columns, cells))]
        widths = [max(map(len, column)) for column in table]
        rows = ("  ".join(cell.rjust(w) for cell, w in zip(row, widths)) for row in zip(*table))
        return "\n".join([f"{self.level:g} {self.method} intervals", *rows])

    def _columns(self) -> Iterator[tuple[str, Array]]:
        for name in ("estimate", "standard_error", "z", "p_value", "lower", "upper"):
            a = getattr(self, name)
            if a is not None:
                yield name, a


def confidence_intervals(
    estimator: LogisticRegression | LinearSVC,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    level: float = 0.95,
    method: str = "wald",
    n_replicates: int = 200,
    interval: str = "percentile",
    stratified: bool = False,
    random_state: Any = None,
) -> Intervals:
    """Compute confidence intervals for the coefficients of a fitted classifier.

    Parameters
    ----------
    estimator : LogisticRegression or LinearSVC
        Fitted estimator.
    X, y, sample_weight
        The data of the fit.
    level : float, default=0.95
        Confidence level: the fraction of data sets whose interval contains the true coefficient.
    method : {"wald", "bootstrap"}, default="wald"
        "wald" computes the estimate plus or minus a multiple of its standard error, which follows
        from the curvature of the likelihood. It requires LogisticRegression without a penalty
        (C=np.inf), and sample weights that are counts of rows. "bootstrap" fits the model to
        resampled rows and works with every loss and penalty. A penalty shrinks the coefficients
        of the replicates as well, so these intervals are for the penalised coefficients, not for
        the true ones.
    n_replicates : int, default=200
        Number of bootstrap replicates. All are fitted as one batch, starting from the
        coefficients of the estimator.
    interval : {"percentile", "basic"}, default="percentile"
        Bootstrap interval: "percentile" takes quantiles of the replicates, "basic" reflects these
        about the estimate.
    stratified : bool, default=False
        Whether to resample within each class, so that each class keeps its number of rows.
        Otherwise, a replicate in which a class is missing is drawn again.
    random_state : int, RandomState or None, default=None
        Random seed of the bootstrap. None means 0.

    Returns
    -------
    intervals : Intervals
        Estimates, standard errors and intervals.

    Notes
    -----
    The bootstrap draws rows together with their sample weights.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LogisticRegression, confidence_intervals
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean texture", "mean smoothness"]]
    >>> model = LogisticRegression(C=float("inf"), tol=1e-8).fit(X, y)
    >>> print(confidence_intervals(model, X, y))
    0.95 wald intervals
                     estimate  standard_error       z    p_value    lower    upper
        (intercept)      13.8           1.237   11.15    7.3e-29    11.37    16.22
       mean texture    -0.286         0.02976  -9.611   7.16e-22  -0.3444  -0.2277
    mean smoothness     -78.2           9.054  -8.637  5.778e-18   -95.94   -60.45
    """
    if not isinstance(estimator, (LogisticRegression, LinearSVC)):
        raise TypeError(
            "confidence_intervals takes a fitted LogisticRegression or LinearSVC of separatrix. "
            f"Got {type(estimator).__name__} instead."
        )
    check_is_fitted(estimator)
    require_number("level", level, high=1.0, open_low=True)
    require_choice("method", method, METHODS)
    require_choice("interval", interval, INTERVALS)
    require_flag("stratified", stratified)
    require_count("n_replicates", n_replicates)
    fit = FittedObjective.of(estimator, X, y, sample_weight)
    if method == "wald":
        return _wald(fit, float(level))
    _require_tails(int(n_replicates), float(level))
    seed = 0 if random_state is None else as_seed(random_state)
    draw = Bootstrap(int(n_replicates), bool(stratified), seed)
    return _bootstrap(fit, float(level), draw, interval)


def _wald(fit: FittedObjective, level: float) -> Intervals:
    estimate, names, classes = _estimates(fit)
    V = covariance(fit, names)
    error = np.sqrt(np.diag(V)).reshape(estimate.shape)
    half = ndtri(0.5 + 0.5 * level) * error
    z = estimate / error
    return Intervals(
        names=names,
        classes=classes,
        estimate=estimate,
        standard_error=error,
        lower=estimate - half,
        upper=estimate + half,
        level=level,
        method="wald",
        z=z,
        p_value=2.0 * ndtr(-np.abs(z)),
        covariance=V,
    )


def _bootstrap(fit: FittedObjective, level: float, draw: Bootstrap, interval: str) -> Intervals:
    estimate, names, classes = _estimates(fit)
    replicates, certificates, refused = fit_replicates(fit, draw)
    tail = 0.5 - 0.5 * level
    lower, upper = np.quantile(replicates, [tail, 1.0 - tail], axis=0)
    if interval == "basic":
        lower, upper = 2.0 * estimate - upper, 2.0 * estimate - lower
    return Intervals(
        names=names,
        classes=classes,
        estimate=estimate,
        standard_error=replicates.std(axis=0, ddof=1),
        lower=lower,
        upper=upper,
        level=level,
        method="bootstrap",
        replicates=replicates,
        certificates=certificates,
        n_redrawn=refused,
    )


def _estimates(fit: FittedObjective) -> tuple[Array, list[str], list[Any]]:
    """Return the coefficients (K, p), their names, and the classes of the outputs."""
    names = feature_names(fit.estimator)
    names = [INTERCEPT, *names] if fit.task.bias else names
    return fit.coefficients(fit.model)[0], names, output_classes(fit.estimator)


def _require_tails(n_replicates: int, level: float) -> None:
    """Raise unless at least one replicate is expected beyond each end of the intervals."""
    least = math.ceil(2.0 / (1.0 - level) - 1e-9)
    if n_replicates < least:
        raise ParameterError(
            f"A level of {level:g} needs at least {least} replicates, so that one lies beyond each "
            f"end of an interval. Got n_replicates={n_replicates}.",
            parameter="n_replicates",
        )
