"""The search for the best C of an interval, with a proof that no other C is much better."""

from __future__ import annotations

import time
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.checks.validation import (
    as_float,
    as_list,
    require_choice,
    require_count,
    require_number,
)
from separatrix.model import Model
from separatrix.model_selection.certified.fold_models import FoldModels, FoldPoint
from separatrix.model_selection.certified.gaps import Gap
from separatrix.model_selection.certified.result import CertifiedSearch
from separatrix.model_selection.certified.row_measures import MEASURES
from separatrix.training import Interrupted
from separatrix.training.recording.progress import TrainingCounter
from separatrix.verdict.regions.score_paths import References

FIRST_SPACING = 0.8  # of log C, at the start
SCORES_AT_ONCE = 1 << 24  # of all models of a batch


@dataclass(frozen=True)
class SearchProgress:
    """What a callback receives after every batch.

    Attributes
    ----------
    proven : share of the interval, on a logarithmic scale, in which no C is better than the best
        by more than epsilon
    n_points : number of values of C that were trained
    C, error : the best value so far, and its measure
    """

    proven: float
    n_points: int
    C: float
    error: float


def certified_search(
    X: Any,
    y: Any,
    estimator: Any = None,
    *,
    C: Sequence[float] = (1e-3, 1e3),
    epsilon: float = 0.005,
    cv: Any = 5,
    measure: str = "error",
    sample_weight: Any = None,
    max_points: int = 1000,
    on_progress: Callable[[SearchProgress], None] | None = None,
) -> CertifiedSearch:
    """Find the best C of an interval by cross-validation, and prove that no C is much better.

    The folds are trained at some values of C. From each, bounds on the scores at the optima for all
    values nearby follow, and from these a lower bound on the cross-validation error. Further values
    are placed where this bound is too low, until it is at least the best error minus `epsilon` in
    the whole interval.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Training data, with up to 500 columns; fewer with several classes.
    y : array-like of shape (n,)
        Class labels.
    estimator : estimator, default=None
        LogisticRegression (None), LinearSVC with the squared hinge, or KernelClassifier with the
        loss "logistic" or "squared_hinge"; alone or after a StandardScaler in a pipeline. Several
        classes need one-vs-rest. Its C is ignored.
    C : pair of floats, default=(1e-3, 1e3)
        Ends of the interval.
    epsilon : float, default=0.005
        How much better than the best found another C may be: for `measure="error"`, 0.005 is half
        a percent of the rows.
    cv : int, splitter or list of splits, default=5
        Folds, as in scikit-learn.
    measure : {"error", "log_loss"}, default="error"
        Share of test rows that are predicted wrongly, or the mean of minus the logarithm of the
        probability of the true class; averaged over the folds.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, in training and in the measure.
    max_points : int, default=1000
        Largest number of values of C.
    on_progress : callable, default=None
        Function to call with a `SearchProgress` after every batch. If it raises `Interrupted`, the
        search ends with what is proven so far.

    Returns
    -------
    found : CertifiedSearch
        The best C, its error, the lower bound, and the values of C that were trained.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import certified_search
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = certified_search(scale(X), y, C=(0.01, 1.0), epsilon=0.01)
    >>> found.complete, found.lower_bound >= found.error - 0.01
    (True, True)
    """
    low, high = _interval(C)
    require_number("epsilon", epsilon, open_low=True)
    require_choice("measure", measure, MEASURES)
    if measure == "error" and epsilon >= 1.0:
        raise ParameterError(
            Message(
                "{epsilon:subject} must be below 1 for the error, which is a share: 0.02 is 2 %. "
                "Got {given!r} instead.",
                epsilon=Parameter("epsilon"),
                given=epsilon,
            ),
            parameter="epsilon",
        )
    require_count("max_points", max_points, low=2)
    began, counter = time.perf_counter(), TrainingCounter()
    fits = FoldModels.of(estimator, X, y, sample_weight, cv, measure)
    search = _Search(fits, low, high, float(epsilon), int(max_points))
    try:
        search.run(on_progress)
    except Interrupted:
        search.interrupted = True
    return search.result(counter, time.perf_counter() - began)


def _interval(C: Any) -> tuple[float, float]:
    ends = [as_float(end) for end in as_list("C", C, "a pair of numbers")]
    if len(ends) != 2 or not 0.0 < ends[0] < ends[1] < np.inf:
        raise ParameterError(
            Message(
                "{C:subject} must be a pair of finite numbers > 0, the smallest and the largest C "
                "of the interval. Got {given!r} instead.",
                C=Parameter("C"),
                given=C,
            ),
            parameter="C",
        )
    return ends[0], ends[1]


class _Search:
    """The values of C that were trained, in increasing order, and the gaps between them."""

    def __init__(
        self, fits: FoldModels, low: float, high: float, epsilon: float, max_points: int
    ) -> None:
        self.fits, self.low, self.high = fits, low, high
        self.epsilon, self.max_points = epsilon, max_points
        self.points: list[FoldPoint] = []
        self.gaps: list[Gap] = []
        self.interrupted = False
        models = fits.data.n_samples * len(fits.folds) * fits.tasks[0].n_outputs
        self.at_once = max(1, SCORES_AT_ONCE // models)

    def run(self, on_progress: Callable[[SearchProgress], None] | None) -> None:
        """Train values of C until everything is proven, or nothing more can be."""
        count = max(2, int(np.ceil(self.width / FIRST_SPACING)) + 1)
        waiting = np.geomspace(self.low, self.high, min(count, self.max_points)).tolist()
        waiting[0], waiting[-1] = self.low, self.high
        while waiting and len(self.points) < self.max_points:
            room = self.max_points - len(self.points)
            self._train(sorted(waiting[:room]))
            waiting = [C for gap in self.gaps for C in gap.next_values(self.target)]
            self._forget_references()
            if on_progress is not None:
                best = self.best
                on_progress(SearchProgress(self.proven, len(self.points), best.C, best.value))

    @property
    def best(self) -> FoldPoint:
        """The point with the lowest measure; if tied, the one with the smallest C."""
        return min(self.points, key=lambda point: (point.value, point.C))

    @property
    def target(self) -> float:
        return self.best.value - self.epsilon

    @property
    def width(self) -> float:
        """The length of the interval on a logarithmic scale."""
        return float(np.log(self.high) - np.log(self.low))

    @property
    def proven(self) -> float:
        """The share of the interval that is proven."""
        done = [gap.is_proven(self.target) for gap in self.gaps]
        if all(own.all() for own in done):
            return 1.0
        total = sum(
            float(np.diff(np.log(gap.edges))[own].sum()) for gap, own in zip(self.gaps, done)
        )
        return min(1.0, total / self.width)

    def _train(self, Cs: list[float]) -> None:
        """Train some values of C, and compute the bounds of the gaps around them."""
        known, before = [point.C for point in self.points], self.points
        every = sorted({*known, *Cs})
        Cs = [C for C in every if C not in set(known)]
        new: list[FoldPoint] = []
        for start in range(0, len(Cs), self.at_once):
            some = Cs[start : start + self.at_once]
            starts = [self._start(C, known) for C in some]
            reach = [
                (every[max(0, every.index(C) - 1)], every[min(len(every) - 1, every.index(C) + 1)])
                for C in some
            ]
            nothing: list[References | None] = [None] * len(self.fits.folds)
            references = [
                nothing if not known else before[self._nearest(C, known)].references for C in some
            ]
            new += self.fits.train(some, reach, starts, references)
        old = {(float(gap.edges[0]), float(gap.edges[-1])): gap for gap in self.gaps}
        self.points = sorted([*before, *new], key=lambda point: point.C)
        self.gaps = [
            old.get((left.C, right.C)) or Gap.between(self.fits, left, right)
            for left, right in zip(self.points, self.points[1:])
        ]

    def _forget_references(self) -> None:
        """Free what only bounds of new values nearby would use, where everything is proven."""
        done = [bool(gap.is_proven(self.target).all()) for gap in self.gaps]
        nothing: list[References | None] = [None] * len(self.fits.folds)
        self.points = [
            replace(point, references=nothing) if before and after else point
            for point, before, after in zip(self.points, [True, *done], [*done, True])
        ]

    def _nearest(self, C: float, known: list[float]) -> int:
        return int(np.abs(np.log(np.array(known) / C)).argmin())

    def _start(self, C: float, known: list[float]) -> Model | None:
        """Return the weights between those of the two neighbours."""
        if not known:
            return None
        at = bisect(known, C)
        left, right = self.points[at - 1], self.points[at]
        share = np.log(C / left.C) / np.log(right.C / left.C)
        F = len(self.fits.folds)
        return left.models.times(np.full(F, 1.0 - share)).plus(
            right.models.times(np.full(F, share))
        )

    def result(self, counter: TrainingCounter, seconds: float) -> CertifiedSearch:
        """Return what was found."""
        best = self.best
        edges = np.concatenate([[self.low], *(gap.edges[1:] for gap in self.gaps)])
        low = np.concatenate([gap.low for gap in self.gaps])
        return CertifiedSearch(
            C=best.C,
            error=best.value,
            lower_bound=float(low.min()),
            epsilon=self.epsilon,
            measure=self.fits.measure,
            proven=self.proven,
            complete=bool((low >= self.target).all()),
            interrupted=self.interrupted,
            points=np.array([point.C for point in self.points]),
            errors=np.array([point.value for point in self.points]),
            fold_errors=np.stack([point.fold_values for point in self.points]),
            edges=edges,
            low=low,
            high=np.concatenate([gap.high for gap in self.gaps]),
            n_folds=len(self.fits.folds),
            n_batches=counter.n_batches(),
            n_passes=counter.n_passes(self.fits.data.n_samples),
            seconds=seconds,
        )
