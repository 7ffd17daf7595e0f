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
        correctly, and "log_loss" (n,), or None if it has no probabilities
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
        return {"best": None, "ties": [], "as_good": [], "comparison": []}
    best, right = names[choice.best.row.number], choice.best.right
    assert right is not None
    as_good = [names[c.number] for c in choice.comparisons if not c.by]
    ties = [name for name in as_good if validation[name]["right"].sum() == right.sum()]
    if choice.measure != "val_accuracy":
        ties = []
    rows = counted(len(right), "validation row")
    share = f"{percent(float(right.mean()))} of {rows} correct"
    decided = choice.measure == "val_log_loss" and choice.lowest is None
    sentences = [
        f"Best: {listed([best, *ties])}, each with {share}."
        if ties
        else f"Best: {best}, {share}{', lowest log-loss' if decided else ''}."
    ]
    what = "accuracy" if choice.measure == "val_accuracy" else "accuracy or log-loss"
    others = [name for name in as_good if name not in ties]
    if is_too_short(choice.best) and len(names) > 1:
        sentences.append(f"{rows} cannot show any difference between models.")
    elif others:
        sentences.append(
            f"Not significantly different in {what} at the 5 % level (○): {listed(others)}."
        )
    elif choice.comparisons and not ties:
        sentences.append(f"Every other model is significantly worse in {what} at the 5 % level.")
    if choice.comparisons and not is_too_short(choice.best):
        sentences += filter(None, [smallest_difference(len(right))])
    return {"best": best, "ties": ties, "as_good": as_good, "comparison": sentences}
