"""Solvers, which minimise the objective: one file for each."""

from separatrix.solvers.coordinate import Coordinate
from separatrix.solvers.dual import Dual
from separatrix.solvers.gradient import RULES, SCHEDULES, Gradient
from separatrix.solvers.interior import Interior
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.newton import Newton
from separatrix.solvers.optimiser import Optimiser
from separatrix.solvers.perceptron import PerceptronRule
from separatrix.solvers.protocol import Solver

SOLVERS: dict[str, type[Solver]] = {
    "coordinate": Coordinate,
    "dual": Dual,
    "gradient": Gradient,
    "interior": Interior,
    "lbfgs": LBFGS,
    "newton": Newton,
    "perceptron": PerceptronRule,
}
# The solvers that find the optimum.
OPTIMISERS: dict[str, type[Optimiser]] = {
    name: kind for name, kind in SOLVERS.items() if issubclass(kind, Optimiser)
}

__all__ = [
    "LBFGS",
    "OPTIMISERS",
    "RULES",
    "SCHEDULES",
    "SOLVERS",
    "Coordinate",
    "Dual",
    "Gradient",
    "Interior",
    "Newton",
    "PerceptronRule",
    "Solver",
]
