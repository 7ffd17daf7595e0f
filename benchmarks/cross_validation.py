"""Compare the speed of cross-validation with scikit-learn: `make bench`.

L2 logistic regression with a free bias: 5 folds x 5 values of C and the refit, with the same folds
for all. scikit-learn's LogisticRegressionCV and GridSearchCV use two jobs and every applicable
solver. Everyone runs at the loosest tolerance at which the worst of the 26 fits is within 1e-6 of
its optimum (see measure.py). `proven` is Separatrix at tol=1e-6, with a certified gap. All must
choose the same C.

liblinear is left out: in scikit-learn it penalises the bias, which is another objective.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from cases import Case, Problem, fingerprint, score
from measure import (
    ACCURACY,
    Outcome,
    Send,
    Values,
    climb,
    contest,
    in_child,
    known,
    last_tolerance,
    remember,
    timed,
)
from peers import LONG, PEERS, PROVEN
from sklearn.model_selection import StratifiedKFold

import separatrix._core as _core
from separatrix import get_threads

CS = [0.01, 0.1, 1.0, 10.0, 100.0]
FOLDS = 5
DATA = ["a9a", "rt-polarity", "text"]
ASKED = {"LogisticRegressionCV": 8.0, "GridSearchCV": 15.0}
TOLERANCES = [float(10 ** (-k / 2)) for k in range(6, 20)]  # 1e-3 to 3e-10
OURS = {"separatrix": TOLERANCES[:7], PROVEN: [ACCURACY]}
NARROW = 1000  # largest number of columns for newton-cholesky


def training_sets(problem: Problem) -> Iterator[Problem]:
    """Yield the training rows of each fold, then all rows."""
    X, y = problem.X, problem.y
    for rows, _ in StratifiedKFold(FOLDS).split(X, y):
        yield Problem(X[rows], y[rows], "logistic", "l2", problem.C, "free")
    yield problem


def with_c(problem: Problem, C: float) -> Problem:
    return Problem(problem.X, problem.y, "logistic", "l2", C, "free")


def find_optima(send: Send, case: Case) -> None:
    """In a child process: find the optimum of each fold and of all rows, for every C in CS."""
    exact = [peer for peer in PEERS if peer.reference and peer.installed]
    for problem in training_sets(case.problem()):
        peer = next(peer for peer in reversed(exact) if peer.applies(problem))
        for C in CS:
            one = with_c(problem, C)
            model = peer.fit(peer.prepare(one), peer.reference or 0.0)
            send(one.objective(*peer.read(model)))


def optima(case: Case, limit: float) -> np.ndarray:
    """Return the optima, shape (folds + 1, values of C)."""
    key = f"optima of {case.data}, {FOLDS} folds, C in {CS} {fingerprint(case.data):08x}"
    if key not in known():
        found = [one for one in in_child(find_optima, (case,), limit) if isinstance(one, float)]
        remember(key, found)
    return np.reshape(known()[key], (FOLDS + 1, len(CS)))


def search(package: str, kind: str, solver: str, tol: float, **more: Any) -> Any:
    """Return the search whose `fit` is timed."""
    if package in OURS:
        from separatrix import GridSearchCV, LogisticRegression, LogisticRegressionCV

        if kind == "GridSearchCV":
            return GridSearchCV(LogisticRegression(tol=tol), {"C": CS}, cv=FOLDS, **more)
        return LogisticRegressionCV(Cs=CS, cv=FOLDS, tol=tol)

    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
    from sklearn.model_selection import GridSearchCV

    how = {"solver": solver, "tol": tol, "max_iter": LONG}
    if kind == "GridSearchCV":
        return GridSearchCV(LogisticRegression(**how), {"C": CS}, cv=FOLDS, n_jobs=2, **more)
    how |= {"scoring": "accuracy", "l1_ratios": (0.0,), "use_legacy_attributes": False}
    return LogisticRegressionCV(Cs=CS, cv=FOLDS, n_jobs=2, **how)


def fold_objectives(kind: str, searched: Any, again: Any, problem: Problem) -> np.ndarray:
    """Return the objectives of the models of the folds, shape (folds, values of C).

    A grid search does not keep its models. It is run `again`, outside the measurement, with a
    scorer that computes the objective on the training rows.
    """
    if kind == "GridSearchCV":
        again.fit(problem.X, problem.y)
        columns = [again.cv_results_[f"split{k}_train_objective"] for k in range(FOLDS)]
        return np.array(columns)
    paths = np.reshape(searched.coefs_paths_, (FOLDS, len(CS), -1))
    rows = list(training_sets(problem))[:FOLDS]
    return np.array(
        [
            [with_c(one, C).objective(w[:-1], w[-1]) for C, w in zip(CS, path)]
            for one, path in zip(rows, paths)
        ]
    )


def compete(
    send: Send, case: Case, contestant: tuple[str, str, str], start: float, repeats: int
) -> None:
    """In a child process: run one contestant at decreasing tolerances."""
    package, kind, solver = contestant
    problem, best = case.problem(), optima(case, 0.0)
    small = problem.small()
    search(package, kind, solver, 1e-2).fit(small.X, small.y)
    send(None)  # from here on its seconds count

    def run(tol: float) -> tuple[float, Values, str]:
        model = search(package, kind, solver, tol)
        seconds, model = timed(lambda: model.fit(problem.X, problem.y))
        grid = kind == "GridSearchCV"
        C = model.best_params_["C"] if grid else float(np.ravel(model.C_)[0])
        last = model.best_estimator_ if grid else model
        again = {"scoring": score, "refit": "accuracy", "return_train_score": True}
        again = search(package, kind, solver, tol, **again) if grid else None
        worst = (fold_objectives(kind, model, again, problem) / best[:FOLDS]).max()
        refit = with_c(problem, C).objective(last.coef_, last.intercept_)
        worst = max(worst, refit / best[FOLDS, CS.index(C)])
        return seconds, [float(worst)], f", C={C:g}"

    climb(send, run, OURS.get(package, TOLERANCES), start, [1.0], repeats)


def contestants(case: Case) -> Iterator[tuple[str, str, str]]:
    """Package, kind of search and solver of everybody who takes part."""
    solvers = ["lbfgs", "newton-cg"]
    if case.problem().X.shape[1] <= NARROW:
        solvers.append("newton-cholesky")
    for kind in ASKED:
        for ours in OURS:
            yield ours, kind, ""
        for solver in solvers:
            yield "sklearn", kind, solver


def race(case: Case, contestant: tuple[str, str, str], given: argparse.Namespace) -> Outcome:
    name = " ".join(contestant).strip()
    key = f"{name}, {case.data}"
    arguments = (case, contestant, last_tolerance(key, TOLERANCES[0]), given.repeats)
    outcome = contest(name, compete, arguments, given.limit)
    there = outcome.best([1.0])
    if there is not None:
        remember(f"tolerance of {key}", there.tol)
    print(f"    {name:<48}{outcome.line([1.0])}", flush=True)
    return outcome


def report(name: str, given: argparse.Namespace) -> list[str]:
    """Print the times of all contestants. Return one line of the table per kind of search."""
    case = Case(name, "logistic", "l2", 1.0, "free", 1.0)
    optima(case, 3600.0)
    print(f"\n{name}, {FOLDS} folds x C in {CS} and refit", flush=True)
    outcomes = {one: race(case, one, given) for one in contestants(case)}
    lines = []
    for kind, asked in ASKED.items():
        own, proven = (outcomes[ours, kind, ""].best([1.0]) for ours in OURS)
        peers = [one for key, one in outcomes.items() if key[1] == kind and key[0] == "sklearn"]
        runs = [(run.seconds, peer.name, run.said) for peer in peers if (run := peer.best([1.0]))]
        fastest = min(runs, default=None)
        ratio = f"{fastest[0] / own.seconds:.1f}x" if fastest and own else "-"
        agree = "" if not (fastest and own) else "yes" if fastest[2] == own.said else "NO"
        lines.append(
            f"{name:<14}{fastest[1] if fastest else 'none':<44}"
            f"{f'{fastest[0]:.2f}' if fastest else '-':>9}{f'{own.seconds:.3f}' if own else '-':>9}"
            f"{f'{proven.seconds:.3f}' if proven else '-':>9}{ratio:>9}{f'{asked:g}x':>8}{agree:>8}"
        )
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", nargs="*", default=DATA, choices=DATA, help="data sets")
    options.add_argument("--repeats", type=int, default=2, help="number of runs (the best counts)")
    options.add_argument(
        "--limit", type=float, default=300.0, help="time limit per contestant in seconds"
    )
    options.add_argument("--quick", action="store_true", help="one run each, at most 30 seconds")
    given = options.parse_args()
    if given.quick:
        given.repeats, given.limit = 1, 30.0
    print(
        f"{get_threads()} threads, {_core.instruction_set()}; seconds with the worst fit at a "
        f"relative suboptimality of {ACCURACY:g}, best of {given.repeats}"
    )
    lines = []
    for name in given.rows:
        try:
            lines += report(name, given)
        except FileNotFoundError as error:
            print(f"Skipped {name}: {error}.")
    print(f"\n{'':<14}{'best peer':<44}{'seconds':>9}{'ours':>9}{'proven':>9}", end="")
    print(f"{'ratio':>9}{'asked':>8}{'same C':>8}")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
