"""Which configuration of a study is best, and which ones are as good.

Candidates are the configurations that did not diverge and are not significantly less accurate than
the most accurate one. The best is the candidate with the lowest validation loss. If a paired t-test
cannot separate other candidates from it, the simplest of them is chosen: converged before
unconverged, then fewer epochs, a smaller learning rate, less momentum, a stronger penalty, and of
equally simple ones the one with the lower loss.

If the losses differ, configurations with probabilities are compared by log-loss, and all others
with those of the same loss. The best of all is the most accurate of these firsts, or the simplest
one if several are equally accurate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import bdtr, stdtr

from separatrix.matrix import Array
from separatrix.study.results.facts import LEVEL, Comparison, Row
from separatrix.text import percent

WEAK_ROWS = 30  # fewer rows are weak evidence, even for significant differences
FEW_ROWS = 60  # up to which the smallest significant difference is more than 10 points
EQUAL = 1e-4  # relative difference of training losses that are equal; there are no tests for them
MIN_ROWS = 6  # fewer rows cannot give a significant exact test: 2 / 2^5 > 0.05


@dataclass(frozen=True, eq=False)
class FinishedConfiguration:
    """A configuration whose runs are all finished, with the measures for comparing it.

    Attributes
    ----------
    row : its row of the table, without a mark
    kept : measures of the kept weights, as means over the seeds
    spread : their standard deviations, empty for one seed
    right : (n,), the share of seeds that classify each validation row correctly; None without
        validation rows
    losses : (n,), the mean loss of each validation row over the seeds
    log_losses : (n,), the same for the log-loss of the predicted probabilities; None if the model
        has no probabilities
    loss : name of the loss function
    unconverged : why it did not converge, for the first seed that did not; "" if all converged
    needs : number of epochs until convergence, as a multiple of the epochs trained, if known
    overfits : whether the validation loss rose in a seed while the training loss fell
    endless : whether its objective has no minimum, so that more epochs never converge
    guessed : the share of the validation rows in their most frequent class, if it is known
    """

    row: Row
    kept: Mapping[str, float | None]
    spread: Mapping[str, float]
    right: Array | None
    losses: Array | None
    loss: str
    unconverged: str = ""
    needs: float | None = None
    log_losses: Array | None = None
    overfits: bool = False
    endless: bool = False
    guessed: float | None = None


@dataclass(frozen=True, eq=False)
class Choice:
    """The best configuration and how the others compare with it.

    Attributes
    ----------
    best : the configuration that the rule chooses
    measure : the loss by which the best was compared with others of its kind: "val_loss",
        "val_log_loss" or "train_loss"
    comparisons : one for each other configuration that did not diverge
    lowest : the candidate with the lowest loss, if it is another one
    simpler_by : the properties, in order, by which the best is the simplest of those as good
    kinds : the measure of each kind of loss; the bests of several kinds are compared by accuracy
    tied_by : the properties, in order, by which the best precedes equally accurate ones of other
        kinds
    """

    best: FinishedConfiguration
    measure: str
    comparisons: list[Comparison] = field(default_factory=list)
    lowest: FinishedConfiguration | None = None
    simpler_by: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    tied_by: list[str] = field(default_factory=list)


def choose(finished: Sequence[FinishedConfiguration]) -> Choice | None:
    """Choose the best configuration by the rule above; None if every configuration diverged."""
    usable = [one for one in finished if not one.row.diverged and _is_measured(one)]
    if not usable:
        return None
    kind_of = _kinds(usable)
    most_accurate = min(usable, key=lambda one: (-_accuracy(one), _size(one, kind_of[one].measure)))
    excluded = _less_accurate(usable, most_accurate)
    firsts: dict[_Kind, _First] = {}
    for kind in dict.fromkeys(kind_of.values()):
        candidates = [one for one in usable if kind_of[one] == kind and one not in excluded]
        if candidates:
            firsts[kind] = _first_of_kind(candidates, kind.measure)
    ahead = min(
        firsts.values(), key=lambda first: (-_accuracy(first.best), *_order(first.best, ""))
    )
    best, kind = ahead.best, kind_of[ahead.best]
    comparisons = []
    for one in usable:
        if one is best or best.right is None:
            continue
        measure = kind.measure if kind_of[one] == kind else ""
        found = compare_configurations(best, one, measure, one in excluded)
        if not found.by:
            found = replace(found, by=firsts[kind_of[one]].worse.get(one, ""))
        if found.by:
            by = _proven(one, [most_accurate, best], firsts.get(kind_of[one]), kind_of[one].measure)
            found = replace(found, by=by or found.by, behind=not by)
        comparisons.append(found)
    equal = [first.best for first in firsts.values() if _accuracy(first.best) == _accuracy(best)]
    return Choice(
        best,
        kind.measure,
        comparisons,
        None if best is ahead.lowest else ahead.lowest,
        _simpler_by(best, [one for one in ahead.as_good if one is not best]),
        [each.measure for each in dict.fromkeys(kind_of.values())],
        _simpler_by(best, equal) or (["order in the grid"] if len(equal) > 1 else []),
    )


@dataclass(frozen=True)
class _Kind:
    """Configurations whose losses can be compared: by `measure`, of the loss function `loss`."""

    measure: str
    loss: str = ""


@dataclass(frozen=True, eq=False)
class _First:
    """The best of one kind, the one with the lowest loss, and those as good.

    `worse` has the measure, "accuracy" or "loss", by which others are worse than one as good.
    """

    best: FinishedConfiguration
    lowest: FinishedConfiguration
    as_good: list[FinishedConfiguration]
    worse: dict[FinishedConfiguration, str]


def _kinds(usable: Sequence[FinishedConfiguration]) -> dict[FinishedConfiguration, _Kind]:
    """Group the configurations by what their losses can be compared with."""
    own = "train_loss" if usable[0].right is None else "val_loss"
    if len({one.loss for one in usable}) == 1:
        return dict.fromkeys(usable, _Kind(own))
    return {
        one: _Kind(own, one.loss) if one.log_losses is None else _Kind("val_log_loss")
        for one in usable
    }


def _first_of_kind(candidates: Sequence[FinishedConfiguration], measure: str) -> _First:
    """Choose between configurations whose losses can be compared."""
    lowest = min(candidates, key=lambda one: (_size(one, measure), *_order(one, measure)))
    level = _level(candidates, lowest, measure)
    level.sort(key=lambda one: _order(one, measure))
    found = ((one, _worse_than_any(one, level, measure)) for one in level)
    best = next((one for one, by in found if not by), lowest)
    worse = {}
    for one in candidates:
        if one is not best and not is_too_short(one):
            by = compare_configurations(best, one, measure).by
            if not by and one not in level:
                by = "loss"
            elif not by and level.index(one) < level.index(best):
                by = _worse_than_any(one, level, measure)
            worse[one] = by
    as_good = [one for one in level if not worse.get(one)]
    return _First(best, lowest, as_good, worse)


def compare_configurations(
    best: FinishedConfiguration,
    other: FinishedConfiguration,
    measure: str = "val_loss",
    excluded: bool = False,
) -> Comparison:
    """Test whether the validation rows separate the best configuration from another one.

    By accuracy: an exact sign test on the rows that one classifies correctly in more seeds than the
    other (McNemar's test for one seed). By loss: a paired t-test on the losses of the rows.
    Without a `measure` the losses cannot be compared, and accuracy alone decides. `excluded` means
    that it is significantly less accurate than the most accurate configuration.
    """
    by = "accuracy" if excluded else _worse_than_any(other, [best], measure)
    p_accuracy, p_loss = _p_accuracy(best, other), _p_loss(best, other, measure)
    return Comparison(other.row.number, by, p_accuracy, p_loss)


def _less_accurate(
    usable: Sequence[FinishedConfiguration], most_accurate: FinishedConfiguration
) -> set[FinishedConfiguration]:
    """Return those significantly less accurate than the most accurate one, or not above them."""
    worse = {one for one in usable if _is_less_accurate(one, most_accurate)}
    bar = max(map(_accuracy, worse), default=-math.inf)
    return worse | {one for one in usable if _accuracy(one) <= bar}


def _level(
    candidates: Sequence[FinishedConfiguration], lowest: FinishedConfiguration, measure: str
) -> list[FinishedConfiguration]:
    """Return those whose loss is not significantly above the lowest, nor above one that is.

    Without the second condition a noisy loss could be called as good as the lowest, while a lower
    loss is not.
    """
    worse = {one for one in candidates if not _is_level(lowest, one, measure)}
    bar = min((_size(one, measure) for one in worse), default=math.inf)
    return [one for one in candidates if _size(one, measure) < bar]


def _is_level(lowest: FinishedConfiguration, one: FinishedConfiguration, measure: str) -> bool:
    """Whether a candidate is as good as the one with the lowest loss."""
    if one.right is None:
        return math.isclose(_size(one, measure), _size(lowest, measure), rel_tol=EQUAL)
    if row_losses(one, measure) is None or is_too_short(one):
        return _size(one, measure) == _size(lowest, measure)
    return not _is_significant(_p_loss(lowest, one, measure))


def _proven(
    one: FinishedConfiguration,
    leaders: Sequence[FinishedConfiguration],
    first: _First | None,
    measure: str,
) -> str:
    """The measure by which a test separates one from the leaders or from the first of its kind."""
    own = [] if first is None else [first.lowest, first.best, *first.as_good]
    if any(_is_less_accurate(one, other) for other in leaders):
        return "accuracy"
    return _worse_than_any(one, own, measure)


def is_too_short(one: FinishedConfiguration) -> bool:
    """Whether there are too few validation rows for any test."""
    return one.right is not None and len(one.right) < MIN_ROWS


def _is_measured(one: FinishedConfiguration) -> bool:
    names = ("train_loss",) if one.right is None else ("val_accuracy", "val_loss")
    return all(one.kept.get(name) is not None for name in names)


def row_losses(one: FinishedConfiguration, measure: str) -> Array | None:
    """The losses (n,) of the validation rows by a measure; None if accuracy alone is comparable."""
    return {"val_loss": one.losses, "val_log_loss": one.log_losses}.get(measure)


def _size(one: FinishedConfiguration, measure: str) -> float:
    """The number to be minimised, inf if it is not finite."""
    losses = row_losses(one, measure)
    if losses is not None:
        value = float(losses.mean())
    else:
        found = one.kept.get(measure)
        value = math.inf if found is None else found
    return value if math.isfinite(value) else math.inf


def _accuracy(one: FinishedConfiguration) -> float:
    if one.right is None:
        return one.kept.get("train_accuracy") or 0.0
    return float(one.right.mean())


def _complexity(one: FinishedConfiguration) -> tuple[float, ...]:
    """A key that sorts the simplest configuration first."""
    return (
        float(one.unconverged != ""),
        _number(one, "epochs"),
        _number(one, "learning_rate"),
        _number(one, "momentum"),
        -_number(one, "l2"),
        _number(one, "C"),
        -_number(one, "l1"),
    )


def _order(one: FinishedConfiguration, measure: str) -> tuple[float, ...]:
    """A key that sorts the simplest first, and of equally simple ones the lowest loss first."""
    return (*_complexity(one), _size(one, measure), one.row.number)


_PROPERTIES = (
    "convergence",
    "number of epochs",
    "learning rate",
    "momentum",
    "L2 penalty",
    "penalty",
    "L1 penalty",
)


def _simpler_by(best: FinishedConfiguration, others: Sequence[FinishedConfiguration]) -> list[str]:
    """Return the properties that distinguish the best from less simple ones, in their order."""
    own, found = _complexity(best), []
    for k, name in enumerate(_PROPERTIES):
        equal = [one for one in others if _complexity(one)[k] == own[k]]
        if len(equal) < len(others):
            found.append(name)
        others = equal
    return found


def smallest_difference(n: int) -> str:
    """Return which difference in accuracy n validation rows can show, "" if there are many rows."""
    if n >= FEW_ROWS:
        return ""
    found = (
        f"With {n} validation rows, accuracies must differ by at least {MIN_ROWS} rows "
        f"({percent(MIN_ROWS / n, 0)}) to be significantly different."
    )
    weak = " So few rows are weak evidence: use more data, or cross-validation."
    return found + weak if n < WEAK_ROWS else found


def _number(one: FinishedConfiguration, name: str) -> float:
    value: Any = one.row.parameters.get(name)
    return float(value) if is_number(value) else 0.0


def is_number(value: Any) -> bool:
    """Whether a value of a parameter is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_less_accurate(one: FinishedConfiguration, other: FinishedConfiguration) -> bool:
    """Whether one is significantly less accurate than another one."""
    return _accuracy(one) < _accuracy(other) and _is_significant(_p_accuracy(one, other))


def _has_higher_loss(
    one: FinishedConfiguration, other: FinishedConfiguration, measure: str
) -> bool:
    """Whether one has a significantly higher loss than another one."""
    return _size(one, measure) > _size(other, measure) and _is_significant(
        _p_loss(other, one, measure)
    )


def _worse_than_any(
    one: FinishedConfiguration, others: Sequence[FinishedConfiguration], measure: str
) -> str:
    """By what one is significantly worse than any of the others: "accuracy", "loss" or ""."""
    if any(_is_less_accurate(one, other) for other in others):
        return "accuracy"
    return "loss" if any(_has_higher_loss(one, other, measure) for other in others) else ""


def _is_significant(p: float | None) -> bool:
    return p is not None and p <= LEVEL


def _p_accuracy(a: FinishedConfiguration, b: FinishedConfiguration) -> float:
    if a.right is None or b.right is None:
        return 1.0
    ahead, behind = int((a.right > b.right).sum()), int((a.right < b.right).sum())
    return float(min(1.0, 2.0 * bdtr(min(ahead, behind), ahead + behind, 0.5)))


def _p_loss(a: FinishedConfiguration, b: FinishedConfiguration, measure: str) -> float | None:
    """The p-value of a paired t-test; None if the losses cannot be compared."""
    of_a, of_b = row_losses(a, measure), row_losses(b, measure)
    if of_a is None or of_b is None or is_too_short(a):
        return None
    difference = of_a - of_b
    if not np.isfinite(difference).all():
        return None if not np.isfinite(of_a).all() else 0.0
    error = difference.std(ddof=1) / math.sqrt(len(difference))
    if error == 0.0:  # the same difference in every row
        return 1.0 if difference[0] == 0.0 else 0.0
    return float(2.0 * stdtr(len(difference) - 1, -abs(difference.mean() / error)))
