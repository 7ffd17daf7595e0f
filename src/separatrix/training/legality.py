"""Check which solvers accept a loss and a penalty, and say what is missing if one does not."""

from __future__ import annotations

from collections.abc import Iterable

from separatrix.errors import ParameterError
from separatrix.losses import Loss
from separatrix.solvers import SOLVERS


def refuse_illegal(
    solver: str, loss: Loss, l1: float, l2: float, among: Iterable[str] = SOLVERS
) -> None:
    """Raise if a solver does not accept a loss and penalty, naming the ones `among` that do."""
    missing = missing_needs(solver, loss, l1, l2)
    if not missing:
        return
    others = [name for name in among if not missing_needs(name, loss, l1, l2)]
    raise ParameterError(
        f"Loss '{loss.name}' {penalty_in_words(l1, l2)} cannot be used with solver '{solver}': "
        f"{solver} needs {missing[0]}. Solvers that accept it: {', '.join(others) or 'none'}.",
        parameter="solver",
    )


def penalty_in_words(l1: float, l2: float) -> str:
    """Describe a penalty by l1 and l2; estimators compute these from C and l1_ratio."""
    kinds = [name for name, strength in (("L1", l1), ("L2", l2)) if strength > 0.0]
    if not kinds:
        return "without a penalty"
    return f"with an {' and an '.join(kinds)} penalty (l1={l1:g}, l2={l2:g})"


def missing_needs(solver: str, loss: Loss, l1: float, l2: float) -> list[str]:
    """Return, in words, what a solver needs and a loss and penalty lack; empty if nothing."""
    return [need.words for need in SOLVERS[solver].needs if not need.is_met(loss, l1, l2)]
