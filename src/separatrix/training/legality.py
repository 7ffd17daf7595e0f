"""Check which solvers accept a loss, penalty and data, and say what is missing if one does not."""

from __future__ import annotations

from collections.abc import Iterable

from separatrix.errors import ParameterError
from separatrix.losses import Loss
from separatrix.solvers import SOLVERS

SMOOTH_INSTEAD = " Or use loss 'squared_hinge', whose optimum newton and lbfgs find block by block."


def refuse_illegal(
    solver: str,
    loss: Loss,
    l1: float,
    l2: float,
    among: Iterable[str] = SOLVERS,
    *,
    in_one_block: bool = True,
) -> None:
    """Raise if a solver does not accept a loss, penalty and data, naming the ones that do.

    Only solvers `among` the given ones are named. `in_one_block` says whether all rows are in one
    block in memory.
    """
    missing = missing_needs(solver, loss, l1, l2, in_one_block)
    if not missing:
        return
    others = [name for name in among if not missing_needs(name, loss, l1, l2, in_one_block)]
    where = "" if in_one_block else " on data in several blocks"
    instead = SMOOTH_INSTEAD if not in_one_block and not loss.smooth else ""
    raise ParameterError(
        f"Loss '{loss.name}' {penalty_in_words(l1, l2)} cannot be used with solver '{solver}'"
        f"{where}: {solver} needs {missing[0]}. Solvers that accept it: "
        f"{', '.join(others) or 'none'}.{instead}",
        parameter="solver",
    )


def penalty_in_words(l1: float, l2: float) -> str:
    """Describe a penalty by l1 and l2; estimators compute these from C and l1_ratio."""
    kinds = [name for name, strength in (("L1", l1), ("L2", l2)) if strength > 0.0]
    if not kinds:
        return "without a penalty"
    return f"with an {' and an '.join(kinds)} penalty (l1={l1:g}, l2={l2:g})"


def missing_needs(
    solver: str, loss: Loss, l1: float, l2: float, in_one_block: bool = True
) -> list[str]:
    """Return, in words, what a solver needs and a loss, penalty and data lack; empty if nothing."""
    needs = SOLVERS[solver].needs
    return [need.words for need in needs if not need.is_met(loss, l1, l2, in_one_block)]
