"""Choose the best solver for a model and its data among the solvers that accept it.

Dual ascent is the first choice if there are more weights than rows, or if rows hardly interact. If
the choice turns out to be wrong, because the duality gap stops shrinking, a second solver takes
over.
"""

from __future__ import annotations

from typing import NamedTuple

from separatrix.data import Dataset
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.solvers import OPTIMISERS, Newton
from separatrix.solvers.dual import SHORT_PATIENCE, SHORTEST_PATIENCE, has_dual_form
from separatrix.solvers.dual_hardness import (
    DUAL_IS_EASY,
    HINGE_IS_EASY,
    HINGE_IS_HOPELESS,
    hardness,
    rows_are_nearly_orthogonal,
    typical_square,
)
from separatrix.solvers.interior import LARGEST_HESSIAN, VERY_LARGE_HESSIAN
from separatrix.solvers.newton import TINY_HESSIAN
from separatrix.solvers.optimiser import PATIENCE
from separatrix.training.legality import missing_needs, penalty_in_words


class SolverChoice(NamedTuple):
    """The solver for a model, the reason for the choice, and the solver to use if it stalls."""

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
) -> SolverChoice:
    """Return the solver that finds the optimum of a model, and the reason in one sentence.

    The choice depends on the model and its data only, never on the other models of a batch. So a
    model is solved in the same way alone and in a batch.

    >>> from separatrix.losses import LOSSES
    >>> data = Dataset.of([[0.0], [1.0]], [0, 1])
    >>> choose_solver(LOSSES["logistic"], 1, 0.0, 0.0, data).name in OPTIMISERS
    True
    """
    together = data.in_one_block
    choice = _best_solver(loss, n_outputs, l1, l2, data, factors)
    if not missing_needs(choice.name, loss, l1, l2, together):
        return choice._replace(why=f"{choice.name}: {choice.why}.")
    for name in OPTIMISERS:
        if not missing_needs(name, loss, l1, l2, together):
            return SolverChoice(name, f"{name}: it accepts this loss and penalty.")
    if not together and any(not missing_needs(name, loss, l1, l2) for name in OPTIMISERS):
        raise ParameterError(
            Message(
                "The optimum of loss '{loss}' {penalty} can only be found if all rows are in one "
                "block in memory. The data has {blocks:,} blocks. Use loss 'squared_hinge', whose "
                "optimum is found block by block.",
                loss=loss.name,
                penalty=penalty_in_words(l1, l2),
                blocks=len(data.facts.lengths),
            ),
            parameter="loss",
        )
    raise ParameterError(
        Message(
            "No solver finds the optimum of loss '{loss}' {penalty}: a loss with kinks needs "
            "l2 > 0 and l1 = 0. Use a smooth loss, such as 'squared_hinge', or a finite {C} "
            "without L1.",
            loss=loss.name,
            penalty=penalty_in_words(l1, l2),
            C=Parameter("C"),
        ),
        parameter="loss",
    )


def choose_device_solver(
    device: str, solver: str, loss: Loss, l1: float, l2: float
) -> SolverChoice:
    """Return the solver that finds the optimum on a device, or raise if it cannot be used."""
    name = "lbfgs"
    missing = missing_needs(name, loss, l1, l2)
    if solver not in ("auto", name) or missing:
        wrong = (
            f"loss '{loss.name}' {penalty_in_words(l1, l2)} lacks {missing[0]}"
            if missing
            else Message("{solver} was given", solver=Parameter("solver", solver))
        )
        raise ParameterError(
            Message(
                "{device} trains with the solver 'lbfgs', which needs a smooth loss and l1 = 0: "
                "{wrong}. Omit {omitted}, or change that.",
                device=Parameter("device", device),
                wrong=wrong,
                omitted=Parameter("device"),
            )
        )
    return SolverChoice(name, f"{name}: it is the solver for device='{device}'.")


def _best_solver(
    loss: Loss, n_outputs: int, l1: float, l2: float, data: Dataset, factors: Array | None
) -> SolverChoice:
    if not loss.compiled:
        return SolverChoice("lbfgs", "it needs no compiled kernel for the loss")
    if l1 > 0.0:
        return SolverChoice(
            "coordinate", "with an L1 penalty most weights are 0, and it computes only the others"
        )
    if not data.in_one_block:
        return _by_blocks(loss, n_outputs, data)
    if loss.smooth and l2 == 0.0:
        return SolverChoice(
            "newton", "without a penalty the problem may be ill-conditioned, so it uses the Hessian"
        )
    if l2 == 0.0:
        return SolverChoice("dual", "the loss has kinks")
    # The outputs of one-vs-rest share nothing: each is a separate problem.
    apart = isinstance(loss, OneVsRest)
    outputs = 1 if apart else n_outputs
    size = (data.n_features + 1) * outputs
    direct = "newton" if loss.smooth else "interior"
    wide = size >= data.n_samples and size > TINY_HESSIAN and has_dual_form(loss)
    small = size <= Newton.order
    # In a step of Newton's method few rows cross the kink of a squared hinge.
    squares = loss.smooth and loss.margin > 0.0
    if small and not (wide and (squares or rows_are_nearly_orthogonal(data, factors))):
        kind = "" if loss.smooth else "the loss is a hinge, and "
        why = f"{kind}{size} weights are few enough for an explicit Hessian"
        return SolverChoice(direct, why, "dual" if has_dual_form(loss) else None)
    hard = hardness(loss, n_outputs, l2, data, typical_square(data, factors))
    limit = DUAL_IS_EASY * outputs if loss.smooth else HINGE_IS_EASY
    largest = VERY_LARGE_HESSIAN if hard > HINGE_IS_HOPELESS else LARGEST_HESSIAN
    # Separate outputs have one Hessian each. Conjugate gradients need none.
    direct_pays = loss.smooth or size * (n_outputs if apart else 1) ** 0.5 < largest
    dual = SolverChoice("dual", "", direct, SHORT_PATIENCE if hard <= limit else SHORTEST_PATIENCE)
    if not direct_pays:
        dual = SolverChoice("dual", "")
    if wide:
        return dual._replace(why=f"there are at least as many weights ({size}) as rows")
    curvature = "curvature * " if loss.smooth else ""
    numbers = f"there are {size} weights, and C * {curvature}|x|^2 of a typical row is {hard:.2g}"
    if hard <= limit:
        return dual._replace(why=f"{numbers}, at most {limit:g}, so the dual problem is easy")
    if direct_pays:
        why = f"{numbers}, above {limit:g}, so the dual problem is hard"
        return SolverChoice(direct, why, "dual" if has_dual_form(loss) else None)
    return dual._replace(why="the loss has kinks, and the dual problem has none")


def _by_blocks(loss: Loss, n_outputs: int, data: Dataset) -> SolverChoice:
    """Return the solver for a smooth loss and rows that are not in one block in memory."""
    outputs = 1 if isinstance(loss, OneVsRest) else n_outputs
    size = (data.n_features + 1) * outputs
    if size <= Newton.order:
        return SolverChoice("newton", f"{size} weights are few enough for an explicit Hessian")
    return SolverChoice("newton", "its conjugate gradients need one pass over the blocks each")
