"""What the reports of a fit, a search and an evaluation draw, as plain values and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax

from separatrix.data import Dataset
from separatrix.data.block_rows import BlockRows
from separatrix.errors import message_of
from separatrix.estimators import LinearSVC, LogisticRegression
from separatrix.estimators.decisions.threshold import Cuts
from separatrix.estimators.linear_classifier import LinearClassifier
from separatrix.inference import confidence_intervals
from separatrix.matrix import Array
from separatrix.metrics import calibrate, rank
from separatrix.model_files.bundle import Bundle
from separatrix.readers import Source
from separatrix.workflow.describing import feature_names
from separatrix.workflow.evaluating import parts_of, rows_to_evaluate, scores_to_rank
from separatrix.workflow.pictures.data_sample import DataSample, draw_sample

MOST_THRESHOLDS = 301  # thresholds of a class
MOST_CLASSES = 12  # classes with curves and thresholds
MOST_COEFFICIENTS = 200  # coefficients with intervals
MOST_WORK = 2_000_000  # rows times coefficients, for intervals by bootstrap
REPLICATES = 200  # of the bootstrap


@dataclass(frozen=True, eq=False)
class ModelPictures:
    """The pictures of a fitted model.

    Attributes
    ----------
    names : the names of the d features
    coef, intercept : (K, d) and (K,)
    link : how scores become probabilities: "softmax", "sigmoid" for one class against the rest, or
        "" if there are none
    sample : a sample of the training rows, or None if the rows are not those of the training
    calibration : (groups, 5) as by `calibrate`, of the rows that were held out; None without
        probabilities
    history : the measurements of every epoch, by name
    """

    names: list[str]
    coef: Array
    intercept: Array
    link: str
    sample: DataSample | None
    calibration: Array | None
    history: dict[str, Array]


def picture_model(bundle: Bundle, source: Source) -> ModelPictures:
    """Return the pictures of a model that was trained on rows of this source.

    >>> from separatrix import load
    >>> from separatrix.workflow.fitting import fit_source
    >>> iris = load("iris")
    >>> found = picture_model(fit_source(iris).bundle, iris)
    >>> found.coef.shape, found.link, found.sample.class_rows.tolist()
    ((3, 4), 'softmax', [33, 36, 31])
    """
    model = bundle.estimator
    parts = parts_of(bundle, source)
    sample, last = None, parts[list(parts)[-1]]
    if "train" in parts:
        training = _dataset(bundle, parts["train"])
        held_out = parts.get("validation", parts.get("test"))
        sample = draw_sample(training, None if held_out is None else _dataset(bundle, held_out))
    return ModelPictures(
        names=feature_names(bundle),
        coef=_coefficients(model),
        intercept=np.asarray(model.intercept_, np.float64),
        link=_link(model),
        sample=sample,
        calibration=_calibration(bundle, last),
        history=dict(model.history_),
    )


def picture_evaluation(
    bundle: Bundle, source: Source, *, every_row: bool = False, positive: Any = None
) -> dict[str, Any]:
    """Return what the report of an evaluation draws of these labelled rows.

    - `thresholds`: for every class against the rest (with two classes, only `positive`), at most
      301 thresholds, the largest first, with the rows, or their weights, that are true and false
      positives. A row is positive if `sign` times its score is above `sign` times the threshold.
      With several classes that have probabilities, these are the scores.
    - `calibration`: as in `ModelPictures`.
    - `intervals`: coefficients with confidence intervals, or `reason`, a sentence on why not.

    `positive` is that of `evaluate`'s facts.
    """
    training = None
    if bundle.fingerprint == source.fingerprint:
        training = parts_of(bundle, source).get("train")
    rows = rows_to_evaluate(bundle, source, [], every_row=every_row)
    assert rows.y is not None
    model = bundle.estimator
    scores = scores_to_rank(model, bundle.transform(rows, []))
    classes = model.classes_.tolist()
    if scores.ndim == 1:
        sign = 1 if positive in (None, classes[-1]) else -1
        columns = [(classes[-1] if positive is None else positive, sign, sign * scores)]
    else:
        columns = [(label, 1, scores[:, k]) for k, label in enumerate(classes[:MOST_CLASSES])]
    own = float(getattr(model, "threshold_", 0.0)) if scores.ndim == 1 else None
    return {
        "thresholds": [
            _thresholds(label, sign, column, rows.y == label, rows.weights, own)
            for label, sign, column in columns
            if 0 < (rows.y == label).sum() < len(rows)
        ],
        "calibration": _calibration(bundle, rows),
        "intervals": _intervals(bundle, training),
    }


def _thresholds(
    label: Any, sign: int, scores: Array, positive: Array, weights: Array | None, own: float | None
) -> dict[str, Any]:
    """Return thresholds of one class; that of the model, `own`, is one of them."""
    s = np.ones(len(scores)) if weights is None else weights
    cuts = Cuts(scores, positive, s)
    n = len(cuts.values)
    at = np.unique(np.linspace(0, n - 1, min(n, MOST_THRESHOLDS)).round().astype(int))
    chosen = None
    values = cuts.values.copy()
    if own is not None:  # it replaces the threshold that separates the same rows
        above = int((np.unique(scores) > sign * own).sum())
        values[above] = sign * own
        at = np.union1d(at, [above])
        chosen = int(np.searchsorted(at, above))
    total = float(s[positive].sum())
    order = rank(positive, scores, np.array([False, True]), weights)
    return {
        "class": label,
        "sign": sign,
        "positives": total,
        "negatives": float(s[~positive].sum()),
        "values": (sign * values[at]).tolist(),
        "true_positives": (total - cuts.fn[at]).tolist(),
        "false_positives": cuts.fp[at].tolist(),
        "chosen": chosen,
        "all": n,
        **order,
    }


def _intervals(bundle: Bundle, training: Source | None) -> dict[str, Any]:
    """Return the coefficients with 95 % intervals, or a sentence on why there are none.

    Wald's intervals need a fit without a penalty; for the others, a bootstrap fits replicates.
    """
    model = bundle.estimator
    if not isinstance(model, LogisticRegression | LinearSVC):
        name = type(model).__name__
        return {"reason": f"Confidence intervals are not available for a {name}."}
    if training is None:
        return {
            "reason": "Confidence intervals need the training rows, and this data is not that of "
            "the training."
        }
    count = int(model.coef_.shape[0] * (model.coef_.shape[1] + 1))
    wald = isinstance(model, LogisticRegression) and np.isinf(model.C)
    if count > MOST_COEFFICIENTS or (not wald and count * len(training) > MOST_WORK):
        return {
            "reason": f"The report has confidence intervals for up to {MOST_COEFFICIENTS} "
            f"coefficients, and the bootstrap for up to {MOST_WORK:,} products of rows and "
            f"coefficients. This model has {count:,} coefficients, and {len(training):,} training "
            "rows. Use separatrix.confidence_intervals in Python."
        }
    method = "wald" if wald else "bootstrap"
    try:
        found = confidence_intervals(
            model,
            bundle.transform(training, []),
            training.y,
            training.weights,
            method=method,
            n_replicates=REPLICATES,
        )
    except (ValueError, TypeError) as error:
        return {"reason": f"There are no confidence intervals: {message_of(error)}"}
    names = found.names[: len(found.names) - model.coef_.shape[1]] + feature_names(bundle)
    return {
        "method": method,
        "level": found.level,
        "replicates": None if wald else REPLICATES,
        "rows": len(training),
        "names": names,
        "classes": found.classes,
        "estimate": found.estimate,
        "lower": found.lower,
        "upper": found.upper,
        "p_value": found.p_value,
    }


def _dataset(bundle: Bundle, rows: Source) -> Dataset:
    X: Any = bundle.transform(rows, [])
    if isinstance(X, BlockRows):
        found = X.dataset_of(bundle.classes_)
        assert found is not None  # every class has training rows
        return found
    assert rows.y is not None
    return Dataset.of(X, np.searchsorted(bundle.classes_, rows.y))


def _calibration(bundle: Bundle, rows: Source) -> Array | None:
    model = bundle.estimator
    if not hasattr(model, "predict_proba") or rows.y is None:
        return None
    P = np.asarray(model.predict_proba(bundle.transform(rows, [])), np.float64)
    if not np.isfinite(P).all():
        return None
    return calibrate(np.searchsorted(model.classes_, rows.y), P)


def _link(model: LinearClassifier) -> str:
    """Return the formula that gives the model's probabilities from its scores, if there is one."""
    if not hasattr(model, "predict_proba"):
        return ""
    X = np.eye(3, int(model.n_features_in_))
    Z = model.decision_function(X).reshape(3, -1).astype(np.float64)
    if Z.shape[1] < len(model.classes_):  # a first class without an output has the score 0
        Z = np.column_stack([np.zeros(3), Z])
    P = model.predict_proba(X)
    sigmoid = expit(Z)
    formulas = {"softmax": softmax(Z, axis=1), "sigmoid": sigmoid / sigmoid.sum(axis=1)[:, None]}
    return next((name for name, Q in formulas.items() if np.allclose(P, Q, atol=1e-5)), "")


def _coefficients(model: LinearClassifier) -> Array:
    coef = model.coef_
    return np.asarray(coef.toarray() if sp.issparse(coef) else coef, np.float64)
