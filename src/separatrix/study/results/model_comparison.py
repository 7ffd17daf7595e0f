"""The best of several unlike models, by the rule that chooses the best configuration of a study."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from separatrix.study.results.comparison import (
    FinishedConfiguration,
    choose,
    is_too_short,
    smallest_difference,
)
from separatrix.study.results.facts import Row
from separatrix.text import counted, listed, percent


def judge_models(
    validation: Mapping[str, Mapping[str, Any]], unconverged: Collection[str] = ()
) -> dict[str, Any]:
    """Choose the best model, and name those with the same accuracy and those that are as good.

    Parameters
    ----------
    validation : by the name of a model, "right" (n,): whether it classifies each validation row
        correctly, and "log_loss" (n,), or None if it has no probabilities. With sample weights
        also "weighted_accuracy"
    unconverged : names of models whose training did not converge

    >>> import numpy as np
    >>> right = np.ones(25, bool)
    >>> found = judge_models({name: {"right": right, "log_loss": None} for name in ("a", "b")})
    >>> found["best"], found["as_good"]
    ('a', ['b'])
    """
    names = list(validation)
    choice = choose(
        [
            FinishedConfiguration(
                row=Row(number, {}, "done"),
                kept={"val_accuracy": float(found["right"].mean()), "val_loss": 0.0},
                spread={},
                right=found["right"].astype(float),
                losses=None,
                loss=name,  # the losses of different models cannot be compared
                unconverged="not_converged" if name in unconverged else "",
                log_losses=found["log_loss"],
            )
            for number, (name, found) in enumerate(validation.items())
        ]
    )
    if choice is None:
        return {"best": None, "ties": [], "as_good": [], "comparison": [], "differences": []}
    best = names[choice.best.row.number]
    right, log_loss = validation[best]["right"], validation[best]["log_loss"]
    as_good = [names[c.number] for c in choice.comparisons if not c.by]
    # Nothing separates these from the best: they are equally accurate and share no other measure.
    ties = [
        name
        for name in as_good
        if (log_loss is None or validation[name]["log_loss"] is None)
        and (name in unconverged) == (best in unconverged)
        and validation[name]["right"].sum() == right.sum()
    ]
    rows = counted(len(right), "validation row")
    weighted = validation[best].get("weighted_accuracy")
    share = (
        f"{percent(float(right.mean()))} of {rows} correct"
        if weighted is None
        else f"weighted accuracy {percent(weighted)} on {rows}"
    )
    loss = "" if log_loss is None else f", log-loss {log_loss.mean():.4g}"
    sentences = [
        f"Best: {listed([best, *ties])}, each with {share}."
        if ties
        else f"Best: {best}, {share}{loss}."
    ]
    if choice.lowest is not None:
        lowest = names[choice.lowest.row.number]
        sentences.append(
            f"The log-loss of {lowest} is lower, but not significantly, and {lowest} did not "
            "converge."
        )
    if len(choice.kinds) > 1 and "val_log_loss" in choice.kinds:
        sentences.append(
            "Models with probabilities were compared by log-loss, and the best of them with the "
            "others by accuracy."
        )
    others = [name for name in as_good if name not in ties]
    if len(names) > 1 and is_too_short(choice.best):
        sentences.append(f"{rows} cannot show any difference between models.")
    elif others:
        sentences.append(f"Not significantly different at the 5 % level (○): {listed(others)}.")
    for by, words, test in (
        ("accuracy", "less accurate", "exact McNemar test"),
        ("loss", "higher log-loss", "paired t-test"),
    ):
        worse = [c for c in choice.comparisons if c.by == by and not c.behind]
        than = "" if all(c.is_direct() for c in worse) else " than another model"
        if worse:
            named = listed(names[c.number] for c in worse)
            sentences.append(f"Significantly {words}{than} ({test}): {named}.")
    behind = [names[c.number] for c in choice.comparisons if c.behind]
    if behind:
        sentences.append(f"No better than one of these: {listed(behind)}.")
    if choice.comparisons and not is_too_short(choice.best):
        sentences += filter(None, [smallest_difference(len(right))])
    differences = [
        {
            "model": names[c.number],
            "by": c.by,
            "behind": c.behind,
            "p_accuracy": c.p_accuracy,
            "p_loss": c.p_loss,
        }
        for c in choice.comparisons
    ]
    return {
        "best": best,
        "ties": ties,
        "as_good": as_good,
        "comparison": sentences,
        "differences": differences,
    }
