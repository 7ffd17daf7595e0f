"""Compare `solver="auto"` with every single solver on random problems with unscaled features.

    python benchmarks/unscaled.py [--problems 96] [--seed 0] [--repeats 3] [--limit 10]

Generates the problems of the tests (tests/support/unscaled_problems.py) with other seeds: outlier
rows, mixed units, text next to numbers, nearly identical columns; n and d up to 400. A solver
counts if it certifies a relative gap of 1e-4 within the limit. Times are the best of several runs.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from separatrix.data import Dataset
from separatrix.losses import LOSSES
from separatrix.solvers import OPTIMISERS
from separatrix.training import Result, Stop, train
from separatrix.training.legality import missing_needs
from separatrix.training.solver_choice import SolverChoice, choose_solver
from separatrix.training.task import Task

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.unscaled_problems import Problem, draw_problems

TOL = 1e-4


def fit(problem: Problem, name: str, limit: float) -> tuple[float, Result]:
    """Fit a problem with one solver or `auto`. Return the seconds and the result."""
    began = time.perf_counter()
    data, loss = Dataset.of(problem.X, problem.y), LOSSES[problem.loss]
    outputs, l2 = loss.n_outputs(len(data.classes)), 1.0 / (problem.C * len(problem.y))
    choice = SolverChoice(name, "")
    if name == "auto":
        choice = choose_solver(loss, outputs, 0.0, l2, data)
    task = Task(
        loss,
        outputs,
        OPTIMISERS[choice.name].for_task(tol=TOL, patience=choice.patience),
        Stop(epochs=((10_000,),), tol=np.array([TOL]), time_limit=limit),
        l2=l2,
        precise=True,
        fallback=choice.fallback,
    )
    found = train([task], data)[0]
    return time.perf_counter() - began, found


def best_time(problem: Problem, name: str, limit: float, repeats: int) -> float:
    """Return the shortest time in which a solver certifies a problem; infinity if it fails."""
    times = []
    for _ in range(repeats):
        seconds, found = fit(problem, name, limit)
        if found.stop_reason != "tol":
            return np.inf
        times.append(seconds)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=96)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=10.0, help="time limit per fit in seconds")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, winners = [], Counter()
    for problem in draw_problems(given.problems, given.seed):
        l2 = 1.0 / (problem.C * len(problem.y))
        named = [
            name for name in OPTIMISERS if not missing_needs(name, LOSSES[problem.loss], 0.0, l2)
        ]
        times = {name: best_time(problem, name, given.limit, given.repeats) for name in named}
        ours = best_time(problem, "auto", given.limit, given.repeats)
        winner = min(times, key=times.get)
        winners[winner] += 1
        rows.append((ours / times[winner], ours, times[winner], winner, str(problem)))
    ratios, ours, best = (np.array([row[k] for row in rows]) for k in range(3))
    print(f"certified by auto: {np.isfinite(ours).sum()} of {len(rows)}")
    print(f"by the best named solver: {np.isfinite(best).sum()}", dict(winners))
    print(f"auto / best: median {np.median(ratios):.2f}, 90 % below {np.quantile(ratios, 0.9):.2f}")
    print(f"all together: {ours.sum():.2f} s / {best.sum():.2f} s = {ours.sum() / best.sum():.2f}")
    print(f"above 3: {(ratios > 3.0).sum()}, of these by more than 10 ms: ", end="")
    print(((ratios > 3.0) & (ours - best > 0.01)).sum())
    for ratio, mine, least, winner, name in sorted(rows, reverse=True)[:8]:
        print(f"  {ratio:5.1f}  {1e3 * mine:7.1f} ms  {winner} {1e3 * least:7.1f} ms  {name}")


if __name__ == "__main__":
    main()
