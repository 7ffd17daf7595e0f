"""Which configuration of a study is best, and which ones are as good.

Candidates are the configurations that did not diverge and are not significantly less accurate than
the most accurate one. The best is the candidate with the lowest validation loss. If a paired t-test
cannot separate other candidates from it, the simplest of them is chosen: converged before
unconverged, then fewer epochs, a smaller learning rate, less momentum, a stronger penalty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import bdtr, stdtr

from separatrix.matrix import Array
from separatrix.study.results.facts import Comparison, Row
from separatrix.text import percent

LEVEL = 0.05  # significance level of all tests
FEW_ROWS = 60  # up to which the smallest significant difference is more than 10 points
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


@dataclass(frozen=True, eq=False)
class Choice:
    """The best configuration and how the others compare with it.

    Attributes
    ----------
    best : the configuration that the rule chooses
    measure : the measure that decided: "val_loss", "val_log_loss", "val_accuracy", "train_loss" or
        "train_accuracy"
    comparisons : one for each other configuration that did not diverge
    lowest : the candidate with the lowest loss, if it is another one
    simpler_by : the properties, in order, by which the best is the simplest of those as good
    """

    best: FinishedConfiguration
    measure: str
    comparisons: list[Comparison] = field(default_factory=list)
    lowest: FinishedConfiguration | None = None
    simpler_by: list[str] = field(default_factory=list)


def choose(finished: Sequence[FinishedConfiguration]) -> Choice | None:
    """Choose the best configuration by the rule above; None if every configuration diverged."""
    usable = [one for one in finished if not one.row.diverged and _is_measured(one)]
    if not usable:
        return None
    measure = _measure(usable)
    if usable[0].right is None:
        return Choice(
            min(usable, key=lambda one: (_size(one, measure), *_complexity(one))), measure
        )
    most_accurate = min(usable, key=lambda one: (-_accuracy(one), _size(one, measure)))
    p_below = {id(one): _p_accuracy(most_accurate, one) for one in usable}
    candidates = [one for one in usable if not _less_accurate(one, most_accurate, p_below[id(one)])]
    lowest = min(candidates, key=lambda one: (_size(one, measure), *_complexity(one)))
    level = [one for one in candidates if _is_level(lowest, one, measure)]
    simplest = sorted(level, key=_complexity)
    best = next((one for one in simplest if not _any_better(level, one, measure)), lowest)
    rivals = simplest[simplest.index(best) + 1 :]
    comparisons, as_good = [], []
    for one in usable:
        if one is best:
            continue
        excluded = _less_accurate(one, most_accurate, p_below[id(one)])
        found = compare_configurations(best, one, measure, excluded)
        if not found.by and found.p_loss is not None and one not in rivals:
            # It differs from the lowest loss, or from another one that is as good.
            found = replace(found, by="loss")
        comparisons.append(found)
        if not found.by:
            as_good.append(one)
    if best is lowest:
        return Choice(best, measure, comparisons)
    return Choice(best, measure, comparisons, lowest, _simpler_by(best, as_good))


def compare_configurations(
    best: FinishedConfiguration,
    other: FinishedConfiguration,
    measure: str = "val_loss",
    excluded: bool = False,
) -> Comparison:
    """Test whether the validation rows separate the best configuration from another one.

    By accuracy: an exact sign test on the rows that one classifies correctly in more seeds than the
    other (McNemar's test for one seed). By loss: a paired t-test on the losses of the rows.
    `excluded` means that it is significantly less accurate than the most accurate configuration.
    """
    p_accuracy, p_loss = _p_accuracy(best, other), _p_loss(best, other, measure)
    by = ""
    if excluded or _less_accurate(other, best, p_accuracy):
        by = "accuracy"
    elif _is_significant(p_loss) and _size(other, measure) > _size(best, measure):
        by = "loss"
    return Comparison(other.row.number, by, p_accuracy, p_loss)


def _is_level(lowest: FinishedConfiguration, one: FinishedConfiguration, measure: str) -> bool:
    """Whether a candidate is as good as the one with the lowest loss."""
    if row_losses(one, measure) is None or is_too_short(one):
        return _size(one, measure) == _size(lowest, measure)
    return not _is_significant(_p_loss(lowest, one, measure))


def is_too_short(one: FinishedConfiguration) -> bool:
    """Whether there are too few validation rows for any test."""
    return one.right is not None and len(one.right) < MIN_ROWS


def _is_measured(one: FinishedConfiguration) -> bool:
    names = ("train_loss",) if one.right is None else ("val_accuracy", "val_loss")
    return all(one.kept.get(name) is not None for name in names)


def _measure(usable: Sequence[FinishedConfiguration]) -> str:
    """The measure that is comparable between all configurations."""
    same_loss = len({one.loss for one in usable}) == 1
    if usable[0].right is None:
        return "train_loss" if same_loss else "train_accuracy"
    if same_loss:
        return "val_loss"
    with_probabilities = all(one.log_losses is not None for one in usable)
    return "val_log_loss" if with_probabilities else "val_accuracy"


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
        value = math.inf if found is None else found if measure == "train_loss" else -found
    return value if math.isfinite(value) else math.inf


def _accuracy(one: FinishedConfiguration) -> float:
    return 0.0 if one.right is None else float(one.right.mean())


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
        float(one.row.number),
    )


_PROPERTIES = (
    "convergence",
    "number of epochs",
    "learning rate",
    "momentum",
    "L2 penalty",
    "penalty",
    "L1 penalty",
    "order in the grid",
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
    return (
        f"With {n} validation rows, accuracies must differ by at least {MIN_ROWS} rows "
        f"({percent(MIN_ROWS / n, 0)}) to be significantly different."
    )


def _number(one: FinishedConfiguration, name: str) -> float:
    value: Any = one.row.parameters.get(name)
    return float(value) if is_number(value) else 0.0


def is_number(value: Any) -> bool:
    """Whether a value of a parameter is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _less_accurate(one: FinishedConfiguration, other: FinishedConfiguration, p: float) -> bool:
    return _is_significant(p) and _accuracy(one) < _accuracy(other)


def _any_better(
    others: Sequence[FinishedConfiguration], one: FinishedConfiguration, measure: str
) -> bool:
    """Whether another one is significantly more accurate or has a significantly lower loss."""
    return any(
        _less_accurate(one, other, _p_accuracy(other, one))
        or (
            _size(other, measure) < _size(one, measure)
            and _is_significant(_p_loss(other, one, measure))
        )
        for other in others
        if other is not one
    )


def _is_significant(p: float | None) -> bool:
    return p is not None and p <= LEVEL


def _p_accuracy(a: FinishedConfiguration, b: FinishedConfiguration) -> float:
    assert a.right is not None
    assert b.right is not None
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
