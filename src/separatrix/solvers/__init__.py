"""How the objective is minimised: solvers, and the one loop that runs them."""

from separatrix.solvers.coordinate import Coordinate
from separatrix.solvers.dual import Dual
from separatrix.solvers.epochs import Epoch, OnEpoch
from separatrix.solvers.gradient import RULES, SCHEDULES, Gradient
from separatrix.solvers.history import History
from separatrix.solvers.interior import Interior
from separatrix.solvers.lbfgs import LBFGS
from separatrix.solvers.loop import Interrupted, Progress, run
from separatrix.solvers.newton import Newton
from separatrix.solvers.perceptron import PerceptronRule
from separatrix.solvers.protocol import Solver, State
from separatrix.solvers.result import Result
from separatrix.solvers.stop import Stop

SOLVERS: dict[str, type[Solver]] = {
    "coordinate": Coordinate,
    "dual": Dual,
    "gradient": Gradient,
    "interior": Interior,
    "lbfgs": LBFGS,
    "newton": Newton,
    "perceptron": PerceptronRule,
}

__all__ = [
    "LBFGS",
    "RULES",
    "SCHEDULES",
    "SOLVERS",
    "Coordinate",
    "Dual",
    "Epoch",
    "Gradient",
    "History",
    "Interior",
    "Interrupted",
    "Newton",
    "OnEpoch",
    "PerceptronRule",
    "Progress",
    "Result",
    "Solver",
    "State",
    "Stop",
    "run",
]
