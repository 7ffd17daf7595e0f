"""The verdict of a study in sentences: the best configuration, those as good, what to try next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.study.results.advice import extend_words, worth_extending
from separatrix.study.results.comparison import (
    MIN_ROWS,
    Choice,
    FinishedConfiguration,
    choose,
    is_number,
    is_too_short,
    row_losses,
    smallest_difference,
)
from separatrix.study.results.facts import Comparison, StudyVerdict, configuration_words
from separatrix.text import counted, describe_configuration, listed, number, percent, value_words
from separatrix.verdict.rate_limits import rounded_down

MOST_VALUES = 6  # of a parameter in a sentence


def judge(
    finished: Sequence[FinishedConfiguration],
    grid: Mapping[str, list[Any]],
    seeds: int,
    waiting: int,
) -> StudyVerdict:
    """Compare all finished configurations; `waiting` is the number of unfinished ones."""
    diverged = [one for one in finished if one.row.diverged]
    runs, diverged_runs = seeds * len(finished), sum(one.row.diverged for one in diverged)
    choice = choose(finished)
    if choice is None:
        sentences = [_nothing_usable(finished, grid)]
        return StudyVerdict(None, "val_accuracy", sentences, [], {}, diverged_runs, runs)
    best = choice.best
    edges = worth_extending(choice, finished, grid)
    sentences = [
        f"Best: {configuration_words(best.row.parameters, grid)}.",
        _score(choice, seeds),
        *_no_better_than_guessing(best),
        *_rule(choice),
        *_as_good(choice),
        *_best_unconverged(choice, finished),
        *(extend_words(best, name, side) for name, side in edges.items()),
        *_overfitting(best),
        *_diverged(finished, runs, seeds),
        *_unconverged(finished),
    ]
    if waiting:
        verb = "is" if waiting == 1 else "are"
        sentences.append(
            f"{counted(waiting, 'configuration')} {verb} not finished: this verdict is preliminary."
        )
    return StudyVerdict(
        best.row.number, choice.measure, sentences, choice.comparisons, edges, diverged_runs, runs
    )


def _nothing_usable(
    finished: Sequence[FinishedConfiguration], grid: Mapping[str, list[Any]]
) -> str:
    if not finished:
        return "No verdict yet: no configuration has finished."
    lower = _lower(finished) if "learning_rate" in grid else ""
    if len(finished) == 1:
        return f"The only finished configuration diverged.{lower}"
    return f"All {len(finished):,} finished configurations diverged.{lower}"


def _lower(diverged: Sequence[FinishedConfiguration]) -> str:
    """The remedy for runs that diverged: a rate that is stable for all of them, if it is known."""
    limits = [one.row.safe_rate for one in diverged]
    known = [limit for limit in limits if limit is not None]
    limit = f" to {rounded_down(min(known))} or less" if len(known) == len(limits) else ""
    return f" Lower the learning rate{limit}."


def _score(choice: Choice, seeds: int) -> str:
    best = choice.best
    kept, spread = best.kept, best.spread
    over = f" (mean ± standard deviation over {seeds} seeds)" if seeds > 1 else ""
    if best.right is None:
        loss = _number(kept["train_loss"], spread.get("train_loss"))
        return (
            f"Training loss {loss}{over}. Without validation rows it is unknown how well it "
            "predicts new data."
        )
    n = len(best.right)
    accuracy = kept["val_accuracy"] or 0.0
    share = percent(accuracy)
    if "val_accuracy" in spread:
        share = f"{100.0 * accuracy:.1f} ± {100.0 * spread['val_accuracy']:.1f} %"
    rows = counted(n, "row")
    count = f" ({int(best.right.sum()):,} of {rows})" if seeds == 1 else f" of {rows}"
    # With sample weights, the accuracy is not the share of the rows.
    weighted = not math.isclose(accuracy, best.right.mean(), abs_tol=1e-9)
    measured = "Weighted validation accuracy" if weighted else "Validation accuracy"
    losses = row_losses(best, choice.measure)
    if choice.measure == "val_log_loss" and losses is not None:
        return f"{measured} {share}{count}, log-loss {number(losses.mean())}{over}."
    loss = _number(kept["val_loss"], spread.get("val_loss"))
    return f"{measured} {share}{count}, loss {loss}{over}."


def _no_better_than_guessing(best: FinishedConfiguration) -> list[str]:
    """Say that the best is no more accurate than predicting the most frequent class always."""
    if best.right is None or best.guessed is None or best.right.mean() > best.guessed + 1e-9:
        return []
    worse = "less" if best.right.mean() < best.guessed - 1e-9 else "no more"
    return [
        f"This is {worse} accurate than always predicting the most frequent class of these rows "
        f"({percent(best.guessed)})."
    ]


def _number(value: float | None, spread: float | None) -> str:
    text = "unknown" if value is None else number(value)
    return text if spread is None else f"{text} ± {spread:.2g}"


def _as_good(choice: Choice) -> list[str]:
    """How many others are as good, why this one was chosen, and what the rows can show at all."""
    best, comparisons = choice.best, choice.comparisons
    if not comparisons or best.right is None:
        return []
    n = len(best.right)
    if is_too_short(best):
        return [
            f"{counted(n, 'validation row')} cannot show any difference between configurations: "
            f"the tests need at least {MIN_ROWS}. Use more data, or cross-validation."
        ]
    same = sum(not c.by for c in comparisons)
    loss = _loss_word(choice) if len(choice.kinds) == 1 else "loss"
    out, test = [], _sign_test(comparisons, best)
    if same:
        others = "1 other configuration is" if same == 1 else f"{same:,} other configurations are"
        out.append(f"{others} as good: no significant difference in {_compared(choice)}.")
    out += _simplest(choice)
    named = [
        *_worse(comparisons, "accuracy", ("is", "are"), f"less accurate{{}} (exact {test} test)"),
        *_worse(comparisons, "loss", ("has", "have"), f"a higher {loss}{{}} (paired t-test)"),
    ]
    if named:
        start = "Of the others, " if same else "No other configuration is as good: "
        behind = sum(c.behind for c in comparisons)
        more = f"; {behind:,} more {_verb(behind, 'is', 'are')} no better than one of these"
        text = f"{start}{' and '.join(named)}, at the 5 % level{more if behind else ''}."
        out.append(text[0].upper() + text[1:])
    return [*out, *filter(None, [smallest_difference(n)])]


def _rule(choice: Choice) -> list[str]:
    """How losses of several kinds were compared."""
    if len(choice.kinds) == 1:
        return []
    if "val_log_loss" in choice.kinds:
        how = (
            "Configurations with probabilities were compared by log-loss, others by their own "
            "loss, and the best of each kind by accuracy."
        )
    else:
        how = "The losses differ: each was compared by itself, and the best of each by accuracy."
    tied = f" Equally accurate ones were ranked by {listed(choice.tied_by)}."
    return [how + (tied if choice.tied_by else "")]


_UNCONVERGED = {
    "not_converged": "it was still changing",
    "noisy": "its mini-batches were noisy",
    "oscillating": "it oscillated",
    "ended_higher": "it ended above its start",
    "separable": "it has no finite optimum",
    "stopped_early": "it was stopped early",
}


def _best_unconverged(choice: Choice, finished: Sequence[FinishedConfiguration]) -> list[str]:
    """That the best did not converge, and whether any that is as good did."""
    best = choice.best
    if not best.unconverged or len(finished) == 1:
        return []
    text = f"The best configuration did not converge ({_UNCONVERGED[best.unconverged]})"
    same = {c.number for c in choice.comparisons if not c.by}
    slow = [bool(one.unconverged) for one in finished if one.row.number in same]
    if not slow or not all(slow):
        return [f"{text}."]
    others = "the other one that is" if len(slow) == 1 else f"any of the {len(slow)} that are"
    return [f"{text}, and neither did {others} as good."]


def _compared(choice: Choice) -> str:
    """In what the configurations that are as good were compared with the best."""
    by_loss = {c.p_loss is not None for c in choice.comparisons if not c.by}
    if by_loss == {True, False}:
        return "accuracy, or in loss where it can be compared"
    return f"accuracy or {_loss_word(choice)}" if by_loss == {True} else "accuracy"


def _loss_word(choice: Choice) -> str:
    return "log-loss" if choice.measure == "val_log_loss" else "loss"


def _worse(
    comparisons: Sequence[Comparison], by: str, verbs: tuple[str, str], words: str
) -> list[str]:
    """How many are worse by a measure, and whether than the best or than another one as good."""
    theirs = [c for c in comparisons if c.by == by and not c.behind]
    if not theirs:
        return []
    direct = [c.is_direct() for c in theirs]
    than = "" if all(direct) else f" than {'this or ' if any(direct) else ''}another one"
    said = words.format(than)
    return [f"{len(theirs):,} {_verb(len(theirs), *verbs)} {said}"]


def _simplest(choice: Choice) -> list[str]:
    """Why the best is this one of those as good: by its loss, by its simplicity, or by both."""
    loss = _loss_word(choice)
    kind = " of its kind" if len(choice.kinds) > 1 else ""
    simple = f"is the simplest of these, by {listed(choice.simpler_by)}"
    lowest = choice.lowest
    if lowest is None:
        if all(c.by or c.p_loss is None for c in choice.comparisons):
            return []  # no other one of its kind is as good
        also = f" and {simple}" if choice.simpler_by else ""
        return [f"The configuration above has the lowest {loss}{kind}{also}."]
    value = _loss_value(lowest, choice.measure)
    named = describe_configuration(lowest.row.parameters)
    start = f"The lowest {loss}{kind}{value and f', {value},'} is that of {named}"
    if {c.number: c.by for c in choice.comparisons}[lowest.row.number]:
        return [f"{start}, which is significantly less accurate than another one."]
    if value and value == _loss_value(choice.best, choice.measure):
        return [f"The configuration above {simple}."]
    return [f"{start}, but the difference is not significant. The configuration above {simple}."]


def _loss_value(one: FinishedConfiguration, measure: str) -> str:
    losses = row_losses(one, measure)
    return "" if losses is None else number(losses.mean())


def _sign_test(comparisons: Sequence[Comparison], best: FinishedConfiguration) -> str:
    whole = best.right is not None and bool(np.isin(best.right, (0.0, 1.0)).all())
    return "McNemar" if whole else "sign"


def _verb(count: int, one: str, several: str) -> str:
    return one if count == 1 else several


def _overfitting(best: FinishedConfiguration) -> list[str]:
    if not best.overfits:
        return []
    at = best.row.best_epoch
    since = "" if at is None else f": its validation loss was lowest at epoch {at:,}"
    # Models that are trained to their optimum have the parameter C.
    remedy = (
        "Lower C" if "C" in best.row.parameters else "Use early stopping (patience) or raise l2"
    )
    return [f"The best configuration overfits{since}. {remedy}."]


def _diverged(finished: Sequence[FinishedConfiguration], runs: int, seeds: int) -> list[str]:
    """How many diverged, what they have in common, and which rates are stable for them."""
    diverged = [one for one in finished if one.row.diverged]
    if not diverged:
        return []
    failed = sum(one.row.diverged for one in diverged)
    of_runs = f" ({failed:,} of {counted(runs, 'run')})" if seeds > 1 else ""
    common = _where(diverged, finished)
    where = f", with {common}" if common else ""
    total = counted(len(finished), "configuration")
    return [f"{len(diverged):,} of {total} diverged{of_runs}{where}.{_stable_words(diverged)}"]


def _where(
    diverged: Sequence[FinishedConfiguration], finished: Sequence[FinishedConfiguration]
) -> str:
    """What the configurations that diverged have in common, and others have not.

    If that is not enough to tell them apart, it is said for each of their learning rates.
    """
    common = _in_common(diverged, finished)
    names = [name for name in diverged[0].row.parameters if name in common]
    values = {name: [one.row.parameters.get(name) for one in diverged] for name in names}
    alike = [
        one
        for one in finished
        if all(one.row.parameters.get(name) in known for name, known in values.items())
    ]
    rates = sorted(filter(is_number, _unique(map(_rate, diverged))))
    if len(alike) == len(diverged) or not 0 < len(rates) <= MOST_VALUES:
        return listed(common.values())
    parts = []
    for rate in rates:
        some, every = (
            [one for one in group if _rate(one) == rate] for group in (diverged, finished)
        )
        only = listed(_in_common(some, every).values())
        parts.append(f"{rate:g} ({only})" if only else f"{rate:g}")
    return f"learning rate {_or(parts)}"


def _rate(one: FinishedConfiguration) -> Any:
    return one.row.parameters.get("learning_rate")


def _in_common(
    some: Sequence[FinishedConfiguration], finished: Sequence[FinishedConfiguration]
) -> dict[str, str]:
    """The parameters that take fewer values in some configurations than in all, in words."""
    out = {}
    for name in some[0].row.parameters:
        theirs, every = (
            _unique(one.row.parameters.get(name) for one in group) for group in (some, finished)
        )
        if len(theirs) < len(every) and len(theirs) <= MOST_VALUES:
            if all(map(is_number, theirs)):
                theirs.sort()
            values = _or([value_words(name, value) for value in theirs])
            out[name] = f"{name.replace('_', ' ')} {values}"
    return out


def _or(words: Sequence[str]) -> str:
    """List alternatives.

    >>> _or(["0.1", "1 (l2 3)", "10"])
    '0.1, 1 (l2 3) or 10'
    """
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _unique(values: Iterable[Any]) -> list[Any]:
    """Return the different values in their order; they may be mappings."""
    out: list[Any] = []
    for value in values:
        out += [] if value in out else [value]
    return out


def _stable_words(diverged: Sequence[FinishedConfiguration]) -> str:
    """The remedy for configurations that diverged, if a stable rate is known for all of them."""
    limits = [one.row.safe_rate for one in diverged]
    known = [limit for limit in limits if limit is not None]
    rates = list(map(_rate, diverged))
    if len(known) < len(limits) or not all(is_number(r) and r > min(known) for r in rates):
        return ""
    return f" For them, learning rates up to {rounded_down(min(known))} are stable."


def _unconverged(finished: Sequence[FinishedConfiguration]) -> list[str]:
    """How many did not converge, and why; those that diverged have a sentence of their own."""
    slow = [one for one in finished if one.unconverged == "not_converged"]
    times = [one.needs for one in slow if one.needs is not None and not one.overfits]
    need = f" ({_need(times, len(slow))})" if times else ""
    kinds = Counter(one.unconverged for one in finished)
    whys = {
        "not_converged": f"still changing{need}",
        "noisy": "with noisy mini-batches",
        "oscillating": "oscillating",
        "ended_higher": f"ended above {'its' if kinds['ended_higher'] == 1 else 'their'} start",
        "separable": "without a finite optimum",
        "stopped_early": "stopped early",
    }
    count = sum(kinds[kind] for kind in whys)
    if not count:
        return []
    parts = [
        f"{kinds[kind] if kinds[kind] < count else ''} {why}".strip()
        for kind, why in whys.items()
        if kinds[kind]
    ]
    total = counted(len(finished), "configuration")
    return [f"{count:,} of {total} did not converge: {', '.join(parts)}."]


def _need(times: Sequence[float], slow: int) -> str:
    """How many times the epochs the slow configurations need, where that is known."""
    about = f"{np.median(times):.2g} times as many epochs"
    if slow == 1:
        return f"it needs about {about}"
    if len(times) == 1:
        return f"1 of them needs about {about}"
    who = "they need" if len(times) == slow else f"{len(times)} of them need"
    return f"{who} a median of {about}"
