"""Classifiers that prove which predictions are those of the exact optimum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.cluster import is_collection
from separatrix.data import BlockRows, NotInMemoryError
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.certified.certified_predictions import (
    CertifiedPredictions,
    certify_rows,
    coefficient_radius,
    intercept_radius,
)
from separatrix.estimators.checks.validation import is_number, require_finite
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.losses import Loss
from separatrix.matrix import Array, Matrix
from separatrix.verdict.regions import Region

PREDICTIONS = "predictions"
USUAL_GAP = 1e-6


class NotCertifiedError(ValueError, AttributeError):
    """Raised for a model without a certificate.

    It is an AttributeError too, so that `hasattr` works for the attributes that need one.
    """


class CertifyingClassifier(LinearClassifier):
    """A classifier whose fit can store a region that contains the optimum."""

    certified: bool = False
    tol: Any
    threshold_: float
    _region: Region | str | None
    _zero_weights: Array

    def _stores_region(self) -> bool:
        return bool(self.certified) or find_band(self.tol) is not None

    def _store_region(self, region: Region | str, zero_weights: Array) -> None:
        self._region, self._zero_weights = region, zero_weights

    def certify(self, X: Any) -> CertifiedPredictions:
        """Return which predictions are certainly those of the exact optimum.

        A fit stops near the optimum. With `certified=True` it also stores a region that contains
        the optimal weights and biases. From this follow bounds on the scores and probabilities of
        any row at the optimum.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows, which need not be training rows.

        Returns
        -------
        found : CertifiedPredictions
            `certain`, and bounds on scores, probabilities and weights.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from separatrix import LogisticRegression
        >>> X, y = load_iris(return_X_y=True)
        >>> LogisticRegression(tol=1e-6, certified=True).fit(X, y).certify(X)
        All 150 predictions are those of the exact optimum.
        """
        check_is_fitted(self)
        region = self._require_region()
        if isinstance(X, BlockRows):
            raise NotInMemoryError(
                f"certify needs rows in memory. Got {X!r}. Read a part of them with its method "
                "load, which returns X and y."
            )
        if is_collection(X):
            raise NotInMemoryError(
                f"certify needs rows in memory. Got a {type(X).__name__} of Dask. Pass some of its "
                "rows, as in certify(X[:1000].compute())."
            )
        checked = self._checked(X)
        require_finite("X", checked)
        rows = Matrix(self._apply_feature_map(checked))
        classes = np.searchsorted(self.classes_, self.predict(X))
        certain, low, high, bounds = certify_rows(
            region, self._loss, rows, classes, self.threshold_, len(self.classes_)
        )
        P = bounds.probabilities()
        return CertifiedPredictions(
            certain,
            low,
            high,
            None if P is None else P[0][:, 0],
            None if P is None else P[1][:, 0],
            self.coef_radius_,
        )

    @property
    def has_region(self) -> bool:
        """Whether the fit has stored a region of the optimum."""
        return isinstance(self.__dict__.get("_region"), Region)

    @property
    def coef_radius_(self) -> Array:
        """The largest distance (K, d) of each weight from that of the exact optimum."""
        return coefficient_radius(self._require_region(), self._model())

    @property
    def intercept_radius_(self) -> Array:
        """The largest distance (K,) of each bias from that of the exact optimum.

        The optimum of softmax is the one whose biases have the mean 0.
        """
        region = self._require_region()
        return intercept_radius(region, self._loss, self._model())

    @property
    def zero_weights_(self) -> Array:
        """Which weights (K, d) an L1 penalty certainly sets to 0 at the exact optimum."""
        self._require_stored()
        return self._zero_weights

    @property
    def nonzero_weights_(self) -> Array:
        """Which weights (K, d) are certainly not 0 at the exact optimum."""
        self._require_stored()
        if isinstance(self._region, str):
            return np.zeros(self._zero_weights.shape, bool)
        return np.abs(self._model().W[:, 0].T) > self.coef_radius_

    def _require_region(self) -> Region:
        """Return the region of the optimum; raise if the fit has not stored one."""
        self._require_stored()
        region = self._region
        if isinstance(region, str):
            raise NotCertifiedError(f"The predictions of this model cannot be certified. {region}")
        assert region is not None
        return region

    def _require_stored(self) -> None:
        if self.__dict__.get("_region") is None:
            raise NotCertifiedError(
                Message(
                    "This model has no region of the optimum. Fit it again with {certified}. A "
                    "search stores none.",
                    certified=Parameter("certified", True),
                )
            )

    @property
    def stop_detail_(self) -> str | None:
        """With tol="predictions", how much earlier than with tol=1e-6 the fit ended, else None."""
        gap = self.certificate_.relative_gap
        if self.stop_reason_ != PREDICTIONS or gap is None:
            return None
        text = f"Every validation prediction was certain at a relative duality gap of {gap:.1e}"
        if gap <= USUAL_GAP:
            return f"{text}, which is below 1e-06."
        return f"{text}. tol=1e-6 asks for a gap that is {gap / USUAL_GAP:.3g} times smaller."

    def _check_band(self, loss: Loss, l2: float) -> float:
        """Return the band of predictions that may be uncertain; NaN if `tol` is a gap."""
        band = find_band(self.tol)
        if band is None:
            return math.nan
        if band > 0.0 and loss.probabilities(np.zeros((1, 1, 1))) is None:
            raise ParameterError(
                f"A band of uncertain probabilities needs a loss with probabilities, and "
                f"'{loss.name}' has none. Set tol='predictions'.",
                parameter="tol",
            )
        if l2 == 0.0 or not loss.smooth:
            raise ParameterError(
                "tol='predictions' needs a smooth loss and an L2 penalty, which bound the distance "
                "of a model from the optimum. Set a relative duality gap, such as tol=1e-6.",
                parameter="tol",
            )
        return band


def find_band(tol: Any) -> float | None:
    """Return the band of `tol`, if it asks for certain predictions, or None.

    >>> find_band("predictions"), find_band({"predictions": 0.01}), find_band(1e-6)
    (0.0, 0.01, None)
    """
    if isinstance(tol, str) and tol == PREDICTIONS:
        return 0.0
    if not isinstance(tol, (str, Mapping)):
        return None
    band: Any = tol.get(PREDICTIONS) if isinstance(tol, Mapping) and len(tol) == 1 else None
    if is_number(band) and 0.0 <= band < 0.5:
        return float(band)
    raise ParameterError(
        "The 'tol' parameter must be a number, 'predictions', or {'predictions': band} with a band "
        f"of probabilities in [0, 0.5). Got {tol!r} instead.",
        parameter="tol",
    )
