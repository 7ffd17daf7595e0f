"""Which configuration of a study is best, and which cannot be told apart from it, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, stdtr

from separatrix.matrix import Array
from separatrix.study.results.facts import Comparison, Row, StudyVerdict
from separatrix.text import counted, describe_configuration, percent, value_words
from separatrix.verdict.rate_limits import rounded_down

LEVEL = 0.05  # of the tests
# Values beyond which nothing lies, so that being there asks for no wider grid.
ENDS: dict[str, tuple[float, ...]] = {
    "momentum": (0.0,),
    "l1": (0.0,),
    "l1_ratio": (0.0, 1.0),
    "l2": (0.0,),
    "batch_size": (1,),
    "decay": (0.0,),
    "epochs": (1,),
}


@dataclass(frozen=True, eq=False)
class FinishedConfiguration:
    """A configuration all of whose runs are finished, as it is compared with others.

    Attributes
    ----------
    row : its line of the table, not yet marked
    kept : means over the seeds of the measures of the weights kept
    spread : their standard deviations, empty for one seed
    right, losses : (n,), of every validation row the share of seeds that predict it right, and the
        mean of its losses; None without validation rows
    loss : the name of the loss
    unconverged : why it has not converged, in the first seed that has not; "" if all have
    """

    row: Row
    kept: Mapping[str, float | None]
    spread: Mapping[str, float]
    right: Array | None
    losses: Array | None
    loss: str
    unconverged: str = ""
    needs: float | None = None  # times its epochs, until it would have converged


def judge(
    finished: Sequence[FinishedConfiguration],
    grid: Mapping[str, list[Any]],
    seeds: int,
    waiting: int,
) -> StudyVerdict:
    """Compare all finished configurations; `waiting` is the number of the others."""
    fit = [one for one in finished if not one.row.diverged and _merit(one) is not None]
    runs, diverged = seeds * len(finished), sum(one.row.diverged for one in finished)
    if not fit:
        sentences = (
            ["No configuration is done yet."] if not finished else [_all_diverged(finished, grid)]
        )
        return StudyVerdict(None, "val_accuracy", sentences, [], {}, diverged, runs)
    # Values of different losses say nothing about each other.
    by_loss = len({one.loss for one in fit}) == 1
    best = max(fit, key=lambda one: _merit(one, by_loss) or ())
    others = [one for one in fit if one is not best]
    comparisons = (
        [compare_configurations(best, one) for one in others] if best.right is not None else []
    )
    same = {c.number for c in comparisons if not c.by}
    edges = _edges(best, grid)
    sentences = [
        f"Best: {describe_configuration(best.row.parameters) or 'the only configuration'}.",
        _score(best, seeds),
        *_significance_sentences(comparisons, best),
        *_edge_sentences(best, [one for one in others if one.row.number in same], edges, grid),
        *_diverged(diverged, runs, finished),
        *_unconverged(finished),
    ]
    if waiting:
        more = f"{counted(waiting, 'configuration')} {_are(waiting)} not done yet"
        sentences.append(f"{more}: this is the verdict so far.")
    score = "train_loss" if best.right is None else "val_accuracy"
    return StudyVerdict(best.row.number, score, sentences, comparisons, edges, diverged, runs)


def compare_configurations(best: FinishedConfiguration, other: FinishedConfiguration) -> Comparison:
    """Whether the validation rows tell the best configuration from another one.

    By accuracy: an exact sign test on the rows that one predicts right in more seeds than the other
    (with one seed, McNemar's test). Else by loss: a t-test on the differences of the rows' losses,
    where both minimise the same one and the best has the lower mean.
    """
    assert best.right is not None
    assert other.right is not None
    ahead, behind = int((best.right > other.right).sum()), int((best.right < other.right).sum())
    p_accuracy = float(min(1.0, 2.0 * bdtr(min(ahead, behind), ahead + behind, 0.5)))
    p_loss = _p_of_losses(best, other)
    by = ""
    if p_accuracy <= LEVEL and ahead > behind:
        by = "accuracy"
    elif p_loss is not None and p_loss <= LEVEL and _mean(best.losses) < _mean(other.losses):
        by = "loss"
    return Comparison(other.row.number, by, p_accuracy, p_loss)


def _p_of_losses(best: FinishedConfiguration, other: FinishedConfiguration) -> float | None:
    if best.loss != other.loss or best.losses is None or other.losses is None:
        return None
    gap = best.losses - other.losses
    if len(gap) < 2 or not np.isfinite(gap).all():
        return None
    error = gap.std(ddof=1) / math.sqrt(len(gap))
    if error == 0.0:  # no spread: the same on every row, or shifted by as much
        return 1.0 if gap[0] == 0.0 else 0.0
    return float(2.0 * stdtr(len(gap) - 1, -abs(gap.mean() / error)))


def _mean(a: Array | None) -> float:
    return math.nan if a is None else float(a.mean())


def _merit(one: FinishedConfiguration, by_loss: bool = True) -> tuple[float, ...] | None:
    """What is to be as large as possible: accuracy, then loss; without validation, loss alone."""
    accuracy, loss = one.kept.get("val_accuracy"), one.kept.get("val_loss")
    if one.right is None:
        loss = one.kept.get("train_loss")
        return None if loss is None or not math.isfinite(loss) else (-loss,)
    if accuracy is None or loss is None:
        return None
    # An earlier configuration is better than an equal later one.
    lower = -loss if by_loss and math.isfinite(loss) else -math.inf
    return accuracy, lower, -float(one.row.number)


def _score(best: FinishedConfiguration, seeds: int) -> str:
    kept, spread = best.kept, best.spread
    over = f" (mean and deviation over {seeds} seeds)" if seeds > 1 else ""
    if best.right is None:
        loss = _number(kept["train_loss"], spread.get("train_loss"))
        return (
            f"Training loss {loss}{over}. There are no validation rows: whether it predicts well "
            "is not known."
        )
    n = len(best.right)
    accuracy = kept["val_accuracy"] or 0.0
    share = percent(accuracy)
    if "val_accuracy" in spread:
        share = f"{100.0 * accuracy:.1f} ± {100.0 * spread['val_accuracy']:.1f} %"
    rows = counted(n, "row")
    count = f" ({int(best.right.sum())} of {rows})" if seeds == 1 else f" of {rows}"
    loss = _number(kept["val_loss"], spread.get("val_loss"))
    return f"Validation accuracy {share}{count}, loss {loss}{over}."


def _number(value: float | None, spread: float | None) -> str:
    text = "unknown" if value is None else f"{value:.4g}"
    return text if spread is None else f"{text} ± {spread:.2g}"


def _significance_sentences(
    comparisons: Sequence[Comparison], best: FinishedConfiguration
) -> list[str]:
    if not comparisons:
        return []
    same = sum(not c.by for c in comparisons)
    by = {name: sum(c.by == name for c in comparisons) for name in ("accuracy", "loss")}
    n = 0 if best.right is None else len(best.right)
    words = {
        0: "No other configuration is as good, as far as",
        1: "One other configuration cannot be told apart from it, as far as",
    }.get(same, f"{same} others cannot be told apart from it, as far as")
    rows = f"{counted(n, 'validation row')} tell{'s' if n == 1 else ''}"
    tests = {"accuracy": "exact McNemar or sign test", "loss": "paired t-test"}
    worse = [(by[name], f"by {name} ({test})") for name, test in tests.items() if by[name]]
    if not worse:
        return [f"{words} {rows}."]
    (first, how), *rest = worse
    others = "".join(f" and {count} {how}" for count, how in rest)
    return [f"{words} {rows}; {first} {_are(first)} worse {how}{others}, at the 5 % level."]


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _edges(best: FinishedConfiguration, grid: Mapping[str, list[Any]]) -> dict[str, str]:
    """The parameters whose best value is the smallest or the largest that was tried."""
    out = {}
    for name, values in grid.items():
        value = best.row.parameters.get(name)
        numbers = [v for v in values if _is_number(v)]
        if len(numbers) < 2 or not _is_number(value) or value in ENDS.get(name, ()):
            continue
        if value == max(numbers):
            out[name] = "high"
        elif value == min(numbers):
            out[name] = "low"
    return out


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _edge_sentences(
    best: FinishedConfiguration,
    same: Sequence[FinishedConfiguration],
    edges: Mapping[str, str],
    grid: Mapping[str, list[Any]],
) -> list[str]:
    out = []
    for name, side in edges.items():
        values = [v for v in grid[name] if _is_number(v)]
        word, way = ("largest", "upwards") if side == "high" else ("smallest", "downwards")
        limit = _limit(best) if name == "learning_rate" and side == "high" else ""
        inner = {
            one.row.parameters[name]
            for one in same
            if _is_number(one.row.parameters.get(name))
            and min(values) < one.row.parameters[name] < max(values)
        }
        also = ""
        if inner:
            listed = ", ".join(value_words(name, v) for v in sorted(inner))
            also = f"; {listed}, inside the grid, cannot be told apart from it"
        shown = "number of epochs" if name == "epochs" else name.replace("_", " ")
        value = value_words(name, best.row.parameters[name])
        out.append(
            f"The best {shown}, {value}, is the {word} tried: extend the grid {way}{limit}{also}."
        )
    return out


def _limit(best: FinishedConfiguration) -> str:
    """What is known of larger rates."""
    stable, rate = best.row.stable_rate, best.row.parameters["learning_rate"]
    if not stable:
        return ""
    if rate < stable:
        return f" (stable up to about {rounded_down(stable)})"
    return f" (with care: beyond {rounded_down(stable)} stability is not certain)"


def _diverged(diverged: int, runs: int, finished: Sequence[FinishedConfiguration]) -> list[str]:
    if not diverged:
        return []
    rates = [
        one.row.parameters["learning_rate"]
        for one in finished
        if one.row.diverged and _is_number(one.row.parameters.get("learning_rate"))
    ]
    above = f", at rates of {min(rates):g} and more" if rates else ""
    return [f"{diverged} of {counted(runs, 'run')} diverged ({diverged / runs:.0%}){above}."]


def _all_diverged(finished: Sequence[FinishedConfiguration], grid: Mapping[str, list[Any]]) -> str:
    L = next((one.row.smoothness for one in finished if one.row.smoothness), None)
    limit = f" to 2/L = {rounded_down(2.0 / L)} or less" if L else ""
    lower = f": lower the learning rate{limit}" if "learning_rate" in grid else ""
    if len(finished) == 1:
        return f"The only configuration that is done diverged{lower}."
    return f"All {len(finished):,} configurations that are done diverged{lower}."


def _unconverged(finished: Sequence[FinishedConfiguration]) -> list[str]:
    """How many have not converged, and why; those that diverged have a sentence of their own."""
    slow, swing, high = (
        [one for one in finished if one.unconverged == kind]
        for kind in ("not_converged", "oscillating", "ended_higher")
    )
    count = len(slow) + len(swing) + len(high)
    if not count:
        return []
    times = [one.needs for one in slow if one.needs is not None]
    need = f" ({_need(times, len(slow))})" if times else ""
    whys = {
        f"still on the way{need}": len(slow),
        "oscillating": len(swing),
        f"ended above {'its' if len(high) == 1 else 'their'} start": len(high),
    }
    told = [f"{n if n < count else ''} {why}".strip() for why, n in whys.items() if n]
    verb = "has" if count == 1 else "have"
    total = counted(len(finished), "configuration")
    return [f"{count} of {total} {verb} not converged: {', '.join(told)}."]


def _need(times: Sequence[float], slow: int) -> str:
    """How many times their epochs those need of which that can be told, of so many slow ones."""
    about = f"about {np.median(times):.2g} times the epochs"
    if slow == 1:
        return f"it needs {about}"
    if len(times) == 1:
        return f"one of them needs {about}"
    who = "they" if len(times) == slow else f"{len(times)} of them"
    return f"{who} need {about}, in the median"
