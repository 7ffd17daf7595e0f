"""Which solver a model is trained by: what is legal, and what is best for its data.

Dual ascent is the first choice where there are more weights than rows, or where rows hardly disturb
each other. C times the square of a typical row measures how much they do: typical, because a few
outlier rows say nothing about the others; and without the features that dominate all rows, such as
a length beside the words of a text, because the solver treats those apart. Where the choice turns
out to be wrong, because the duality gap stops shrinking, a second solver takes over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.data import Dataset
from separatrix.errors import ParameterError
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array, Matrix, squared_norm, squares_of_sample
from separatrix.solvers import SOLVERS, Newton, Solver
from separatrix.solvers.dual import has_dual_form
from separatrix.training.legality import illegal, penalty_in_words

# Solvers that reach an optimum, the most generally useful first.
OPTIMISERS = ("newton", "lbfgs", "interior", "dual", "coordinate")
# What the dual can do in float32: the tolerance, how hard the problem, how large the entries.
SINGLE_TOL, SINGLE_HARDNESS, MODERATE = 1e-6, 1e3, 1e20
DUAL_IS_EASY = 25.0  # C * curvature * |x|^2 for each output, up to which dual steps pay
# The same for a hinge, and the most weights of a Hessian that is worth its while above it, and
# where the dual all but stands still.
HINGE_IS_EASY, LARGEST_HESSIAN = 100.0, 2000
HINGE_IS_HOPELESS, VERY_LARGE_HESSIAN = 1e4, 6000
FALLBACK_HESSIAN = 1000  # the most weights of a Hessian that is written out after a stall
TINY_HESSIAN = 200  # weights up to which a Hessian costs next to nothing, however few the rows
# Steps of the dual without progress after which it gives up, if nobody else could go on and if
# another solver can, early where that is likely. In all it makes four times as many steps.
PATIENCE, SHORT_PATIENCE, SHORTEST_PATIENCE = 100, 8, 5
# Strong features: their share of the squares of the rows that have them, the share of the rows that
# do, how many times as large as a typical entry's their squares are, how often the rest is looked
# at again, and how many there may be.
STRONG, OFTEN, LARGE, ROUNDS, MOST_STRONG = 0.3, 0.02, 10.0, 8, 32


class Choice(NamedTuple):
    """The solver for a model, why it was chosen, and which one takes over if it stalls."""

    name: str
    why: str
    fallback: str | None = None
    patience: int = PATIENCE


def choose_solver(
    loss: Loss,
    n_outputs: int,
    l1: float,
    l2: float,
    data: Dataset,
    factors: Array | None = None,
) -> Choice:
    """The solver for a model that is to be brought to its optimum, and why, in one sentence.

    It depends on the model and its data alone, never on the other models of a batch: a model is
    solved in the same way alone and in a batch.

    >>> from separatrix.losses import LOSSES
    >>> data = Dataset.of([[0.0], [1.0]], [0, 1])
    >>> choose_solver(LOSSES["logistic"], 1, 0.0, 0.0, data).name in OPTIMISERS
    True
    """
    choice = _best_solver(loss, n_outputs, l1, l2, data, factors)
    if not illegal(choice.name, loss, l1, l2):
        return choice._replace(why=f"{choice.name}: {choice.why}.")
    for name in OPTIMISERS:
        if not illegal(name, loss, l1, l2):
            return Choice(name, f"{name}: it accepts this loss and penalty.")
    raise ParameterError(
        f"No solver brings loss '{loss.name}' {penalty_in_words(l1, l2)} to its optimum: a loss "
        "with kinks needs l2 > 0 and l1 = 0. Use a smooth loss, such as 'squared_hinge', or a "
        "finite C without L1."
    )


def make_solver(
    name: str,
    seed: int = 0,
    *,
    single: bool = False,
    tol: float | None = None,
    patience: int = PATIENCE,
) -> Solver:
    """One of the optimisers; what else is given is for the dual.

    That is the seed, whether to work in float32, the relative gap that will be asked for, and after
    how many steps without progress it gives up.
    """
    kind: Any = SOLVERS[name]
    if name != "dual":
        return kind()
    options = {} if tol is None else {"goal": tol}
    return kind(seed=seed, single=single, patience=patience, **options)


def make_fallback(name: str) -> Solver:
    """The solver that takes over from one that has stalled, as on data in mixed units.

    Conjugate gradients can be slow there too: newton writes out larger Hessians than usual.
    """
    return Newton(order=FALLBACK_HESSIAN) if name == Newton.name else make_solver(name)


def single_is_enough(
    loss: Loss,
    n_outputs: int,
    l2: float,
    data: Dataset,
    tol: float,
    factors: Array | None = None,
) -> bool:
    """Whether the dual reaches a tolerance in float32, for which it reads half as much memory."""
    square = _mean_square(data, factors)
    return (
        loss.smooth
        and tol >= SINGLE_TOL
        and l2 > 0.0
        and _hardness(loss, n_outputs, l2, data, square) <= SINGLE_HARDNESS
        and 1.0 / MODERATE < square < MODERATE
    )


def _best_solver(
    loss: Loss, n_outputs: int, l1: float, l2: float, data: Dataset, factors: Array | None
) -> Choice:
    if not loss.compiled:
        return Choice("lbfgs", "it needs no compiled kernel of the loss")
    if l1 > 0.0:
        return Choice(
            "coordinate", "an L1 penalty leaves few weights that are not 0, and it finds them"
        )
    if loss.smooth and l2 == 0.0:
        return Choice("newton", "without a penalty only second derivatives tell the curvature")
    if l2 == 0.0:
        return Choice("dual", "the loss has kinks")
    # The outputs of one-vs-rest share nothing: each is a problem of its own.
    apart = isinstance(loss, OneVsRest)
    outputs = 1 if apart else n_outputs
    size = (data.n_features + 1) * outputs
    direct = "newton" if loss.smooth else "interior"
    wide = size >= data.n_samples and size > TINY_HESSIAN and has_dual_form(loss)
    small = size <= Newton.order
    # Newton's method changes the sides of few rows in a step where squares of hinges are mixed.
    squares = loss.smooth and loss.margin > 0.0
    if small and not (wide and (squares or rows_are_apart(data, factors))):
        kind = "" if loss.smooth else "a hinge, and "
        why = f"{kind}{size} weights are few enough for an explicit Hessian"
        return Choice(direct, why, "dual" if has_dual_form(loss) else None)
    hardness = _hardness(loss, n_outputs, l2, data, typical_square(data, factors))
    limit = DUAL_IS_EASY * outputs if loss.smooth else HINGE_IS_EASY
    largest = VERY_LARGE_HESSIAN if hardness > HINGE_IS_HOPELESS else LARGEST_HESSIAN
    # Outputs that are apart have a Hessian each. Conjugate gradients need none.
    direct_pays = loss.smooth or size * (n_outputs if apart else 1) ** 0.5 < largest
    dual = Choice("dual", "", direct, SHORT_PATIENCE if hardness <= limit else SHORTEST_PATIENCE)
    if not direct_pays:
        dual = Choice("dual", "")
    if wide:
        return dual._replace(why=f"there are at least as many weights, {size}, as rows")
    curvature = "curvature * " if loss.smooth else ""
    numbers = (
        f"there are {size} weights, and C * {curvature}|x|^2 of a typical row is {hardness:.2g}"
    )
    if hardness <= limit:
        return dual._replace(why=f"{numbers}, at most {limit:g}, so that the dual problem is easy")
    if direct_pays:
        why = f"{numbers}, above {limit:g}, so that the dual problem is hard"
        return Choice(direct, why, "dual" if has_dual_form(loss) else None)
    return dual._replace(why="the loss has kinks, and the dual problem has none")


def _hardness(loss: Loss, n_outputs: int, l2: float, data: Dataset, square: float) -> float:
    """C L |x/f|^2 with C = 1 / (l2 n): how much a row's dual variable depends on the others."""
    curvature = loss.curvature_of(n_outputs) or 1.0
    return curvature * square / (l2 * data.n_samples)


def _mean_square(data: Dataset, factors: Array | None) -> float:
    """|x/f|^2 of the mean row."""
    return sum(squared_norm(block.X, factors) for block in data.blocks()) / data.n_samples


def typical_square(data: Dataset, factors: Array | None = None) -> float:
    """|x/f|^2 of a typical row, without the features that dominate the rows.

    >>> words, lengths = np.eye(6), np.arange(1.0, 7.0)[:, None]
    >>> rows = np.hstack([words, 1000.0 * lengths])
    >>> rows[0] *= 1e6
    >>> typical_square(Dataset.of(rows, [0, 1, 0, 1, 0, 1]))
    1.0
    """
    rests = [_weak_features(block.X, factors)[0] for block in data.blocks()]
    return float(np.median(np.concatenate(rests)))


def rows_are_apart(data: Dataset, factors: Array | None = None) -> bool:
    """Whether rows have so little in common that each finds its dual variable all but alone.

    No feature dominates them, and they are at most as many as the features that they spread over,
    d = 1 / sum_j share_j^2, the share being that of a feature in the squares of the rows.

    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 100)), np.arange(50) % 2
    >>> rows_are_apart(Dataset.of(X, y)), rows_are_apart(Dataset.of(X * 10.0 ** np.arange(100), y))
    (True, False)
    """
    for block in data.blocks():
        _, shares = _weak_features(block.X, factors)
        if not (shares > 0.0).all() or data.n_samples * np.square(shares).sum() > 1.0:
            return False
    return True


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _weak_features(X: Matrix, factors: Array | None) -> tuple[Array, Array]:
    """The squares of some rows without the features that dominate them, and the shares of features.

    The share (d,) of a feature that dominates the rows is 0.

    As in cpp/core/dual_strong.hpp: a feature is strong that has a large share of the squares of the
    rows that have it. Without the strongest features others may be strong.
    """
    squares, d = squares_of_sample(X), X.shape[1]
    steps = np.ones(d) if factors is None else 1.0 / np.square(factors)
    weak = np.ones(d, bool)
    seen = (
        np.count_nonzero(squares, axis=0)
        if not X.is_sparse
        else np.bincount(squares.indices[squares.data > 0.0], minlength=d)
    )
    entries = squares.multiply(steps).data if X.is_sparse else squares * steps
    middle = np.median(entries[entries > 0.0]) if (entries > 0.0).any() else 0.0
    large = (squares.sum(axis=0) * steps > LARGE * middle * seen) & (seen > 0)
    for _ in range(ROUNDS):
        rests = squares @ (steps * weak)
        inverse = np.where(rests > 0.0, 1.0 / rests, 0.0)
        shares = weak * (squares.T @ inverse) * steps
        strong = large & (shares > STRONG * seen) & (seen > OFTEN * len(rests))
        if not strong.any():
            break
        weak &= ~strong
    if np.count_nonzero(~weak) > min(MOST_STRONG, d // 2):
        weak[:] = True
    return np.asarray(squares @ (steps * weak)), np.where(weak, shares / len(rests), 0.0)
