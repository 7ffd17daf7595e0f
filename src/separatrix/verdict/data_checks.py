"""Check the data of a fit: feature scales, rare classes and linearly separable classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from separatrix.data import Block, Dataset
from separatrix.errors import Message, Parameter
from separatrix.losses import OneVsRest
from separatrix.matrix import Array, column_moments
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.verdict.diagnosis import Column, Diagnosis
from separatrix.verdict.separability import Separation, measure_separations, separating_directions

SCALE_RATIO = 1e3  # largest standard deviation of a feature over the smallest
CONSTANT = 1e-12  # a standard deviation below this fraction of the mean is rounding
RARE_SHARE, RARE_COUNT, RARE_FROM = 0.01, 3, 20  # limits for a class with very few samples


def check_rows(
    data: Dataset, n_models: int, check: Callable[[Dataset], Diagnosis | None]
) -> list[Diagnosis | None]:
    """Run a check for every model, once for all models that have the same rows and weights."""
    first = data.first_alike(n_models).tolist()
    said = {m: check(data.select(np.array([m]))) for m in set(first)}
    return [said[m] for m in first]


def check_scales(data: Dataset, features: Sequence[str] = ()) -> Diagnosis | None:
    spreads = _spreads(data)
    moving = np.flatnonzero(spreads > 0.0)
    if len(moving) < 2:
        return None
    wide, narrow = moving[np.argmax(spreads[moving])], moving[np.argmin(spreads[moving])]
    if spreads[wide] <= SCALE_RATIO * spreads[narrow]:
        return None
    return Diagnosis(
        "scales",
        Message(
            "The features are on very different scales: {wide} has a standard deviation of "
            "{most:.3g}, {narrow} has {least:.3g}. No single learning rate suits both.",
            wide=_column(wide, features),
            most=float(spreads[wide]),
            narrow=_column(narrow, features),
            least=float(spreads[narrow]),
        ),
        "Standardise the features first, for example with scikit-learn's StandardScaler.",
    )


def check_rare_class(data: Dataset) -> Diagnosis | None:
    counts = data.class_counts()
    total, rarest = int(counts.sum()), int(counts.argmin())
    few = counts[rarest]
    if total < RARE_FROM or few >= max(RARE_COUNT, RARE_SHARE * total):
        return None
    if not few:
        return Diagnosis(
            "rare_class",
            f"No training row of class {data.classes[rarest]!s} has a positive weight.",
            Message(
                "Give its rows a positive weight ({weight}, {class_weight}), or leave the "
                "class out.",
                weight=Parameter("sample_weight"),
                class_weight=Parameter("class_weight"),
            ),
        )
    return Diagnosis(
        "rare_class",
        f"Class {data.classes[rarest]!s} has only {few:,} of {total:,} training rows.",
        Message(
            "Give its samples more weight ({weight}), collect more, or merge it with another "
            "class.",
            weight=Parameter("sample_weight"),
        ),
    )


def check_separable(
    objective: Objective, models: Sequence[Model], features: Sequence[str] = ()
) -> list[Diagnosis | None]:
    out: list[Diagnosis | None] = [None] * len(models)
    l1, l2 = objective.strengths(len(models))
    free = np.flatnonzero((l1 == 0.0) & (l2 == 0.0))
    if len(free):
        theirs = Model.stack([models[m] for m in free.tolist()])
        found = separating_directions(objective.select(free), theirs)
        some = [k for k, direction in enumerate(found) if direction is not None]
        directions = [direction for direction in found if direction is not None]
        apart = measure_separations(objective, free[some], directions)
        for m, direction, each in zip(free[some].tolist(), directions, apart):
            out[m] = _diagnose_separable(objective, direction, each, features)
    return out


def check_zero_optimum(objective: Objective, m: int, n_models: int) -> Diagnosis | None:
    loss = objective.loss.base if isinstance(objective.loss, OneVsRest) else objective.loss
    l1, l2 = (strength[m] for strength in objective.strengths(n_models))
    if loss.name != "perceptron" or l1 == l2 == 0.0:
        return None
    return Diagnosis(
        "zero_optimum",
        f"With a penalty (l1={l1:g}, l2={l2:g}) the optimum is W = 0: both the penalty and the "
        "perceptron loss, which has no margin, are 0 there. The weights of this fit are only what "
        "the penalty has not yet shrunk.",
        "Use loss='hinge', whose margin prevents this, or set l1 and l2 to 0.",
    )


@np.errstate(over="ignore", invalid="ignore")
def _spreads(data: Dataset) -> Array:
    """Return the weighted standard deviation of every column over all blocks; 0 for constants."""
    share, means, spreads = (np.stack(part) for part in zip(*data.of_model(_moments_of_columns)))
    share = share[:, None] / (share.sum() or 1.0)
    mean = (share * means).sum(axis=0)
    pooled = np.sqrt((share * (spreads**2 + (means - mean) ** 2)).sum(axis=0))
    return np.where(pooled > CONSTANT * np.abs(mean), pooled, 0.0)


def _moments_of_columns(block: Block) -> tuple[Array, Array, Array]:
    """Return the weight of the rows, and mean and standard deviation (d,) of every column."""
    s = block.weights.reshape(len(block.y))
    return s.sum(), *column_moments(block.X, s)


def _diagnose_separable(
    objective: Objective, direction: Model, apart: Separation, features: Sequence[str]
) -> Diagnosis:
    if apart.complete:
        seen = (
            "The classes are linearly separable: without a penalty the loss keeps falling as the "
            "weights grow, and there is no finite optimum."
        )
    else:
        seen = Message(
            "The classes are partly separable: as the weights grow in one direction, the loss of "
            "{falling:,} of {rows:,} rows keeps falling, and the loss of no row rises. Without a "
            "penalty there is no finite optimum{how}.",
            falling=apart.falling,
            rows=apart.rows,
            how=_separation_words(objective, direction, apart, features),
        )
    return Diagnosis(
        "separable",
        seen,
        "Add a penalty (l2) or use early stopping (patience).",
        direction=(np.ascontiguousarray(direction.W[:, 0].T), direction.b[0].copy()),
        complete=apart.complete,
    )


def _separation_words(
    objective: Objective, direction: Model, apart: Separation, features: Sequence[str]
) -> str:
    """Name the classes that are separated from the others, or the one feature that separates."""
    names = [str(objective.data.classes[k]) for k in apart.classes]
    if len(names) == 1:
        return f" (class {names[0]} is separated from the others)"
    if names:
        return f" (classes {', '.join(names)} are separated from all others)"
    used = np.flatnonzero(direction.W.any(axis=(1, 2)))
    if len(used) != 1:
        return ""
    return Message(" (by {one} alone)", one=_column(used[0], features))


def _column(number: int, features: Sequence[str]) -> Column | str:
    return features[number] if len(features) else Column(int(number))
