"""The solvers that are measured, with the problems they solve and the way they are called.

Every peer gets X in its fastest layout, prepared before the measurement (nodes for LIBLINEAR,
columns for skglm), two threads if it can use them, and its own stopping rule at decreasing
tolerances. Separatrix gets X in the layout of the data set, and its time covers all of `fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from cases import Problem

Fitted = tuple[np.ndarray, "np.ndarray | float"]
LONG = 1_000_000  # iterations: the limit is never reached, the tolerance decides


@dataclass(frozen=True)
class Peer:
    """A solver: `fit(prepared, tol)` is timed, and `read` extracts the model from its result.

    `solves` lists (loss, penalty) pairs. The tolerances go from `first` to `last`, two per decade.
    `widest` limits columns times classes for solvers that do not scale further. `reference`, a
    tolerance far below `last`, is set for peers that may be used to find the optimum.
    """

    name: str
    module: str
    solves: frozenset[tuple[str, str]]
    biases: frozenset[str]
    fit: Callable[[Any, float], Any]
    prepare: Callable[[Problem], Any] = lambda problem: problem
    first: float = 1.0
    last: float = 1e-10
    widest: float = np.inf
    reference: float | None = None
    read: Callable[[Any], Fitted] = lambda model: (model.coef_, model.intercept_)

    def applies(self, problem: Problem) -> bool:
        wide = problem.X.shape[1] * (len(set(problem.y)) if problem.loss == "softmax" else 1)
        form = (problem.loss, problem.penalty)
        return form in self.solves and problem.bias in self.biases and wide <= self.widest

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None

    def tolerances(self) -> list[float]:
        steps = round(2 * np.log10(self.first / self.last)) + 1
        return [float(self.first * 10 ** (-k / 2)) for k in range(steps)]


def laid_out(layout: str) -> Callable[[Problem], Problem]:
    return lambda problem: problem.laid_out(layout)


def l1_ratio(problem: Problem) -> float:
    return 1.0 if problem.penalty == "l1" else 0.0


PROVEN = "separatrix, proven"


def separatrix() -> list[Peer]:
    """Return Separatrix, at the loosest sufficient tolerance and with a certified gap of 1e-6."""

    def logistic(problem: Problem, tol: float) -> Any:
        from separatrix import LogisticRegression

        free = problem.bias == "free"
        model = LogisticRegression(problem.C, l1_ratio=l1_ratio(problem), tol=tol)
        return model.set_params(fit_intercept=free).fit(problem.X, problem.y)

    def svc(problem: Problem, tol: float) -> Any:
        from separatrix import LinearSVC

        scaling = 1.0 if problem.bias == "feature" else None
        model = LinearSVC(problem.C, loss=problem.loss, intercept_scaling=scaling, tol=tol)
        return model.fit(problem.X, problem.y)

    logistics = frozenset({("logistic", "l2"), ("logistic", "l1"), ("softmax", "l2")})
    margins = frozenset({("hinge", "l2"), ("squared_hinge", "l2")})
    return [
        Peer(name, "separatrix", pairs, frozenset({"free", bias}), fit, first=first, last=1e-6)
        for name, first in (("separatrix", 0.1), (PROVEN, 1e-6))
        for pairs, bias, fit in ((logistics, "none", logistic), (margins, "feature", svc))
    ]


def logistic_peer(
    solver: str, layout: str, pairs: set[tuple[str, str]], package: str = "sklearn", **more: Any
) -> Peer:
    """Return LogisticRegression of scikit-learn or of Intel's extension, with one solver."""

    def fit(problem: Problem, tol: float) -> Any:
        if package == "sklearnex":
            from sklearnex.linear_model import LogisticRegression
        else:
            from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(
            C=problem.C,
            l1_ratio=l1_ratio(problem),
            solver=solver.split()[0],
            dual=solver == "liblinear dual",
            tol=tol,
            max_iter=LONG,
            fit_intercept=problem.bias != "none",
            random_state=0,
        )
        return model.fit(problem.X, problem.y)

    # with liblinear, scikit-learn adds a column of ones: the bias cannot be free
    biases = {"none"} if solver.startswith("liblinear") else {"free", "none"}
    name = f"{package} {solver}" + ("" if layout == "given" else f", {layout}")
    return Peer(name, package, frozenset(pairs), frozenset(biases), fit, laid_out(layout), **more)


def scikit_learn() -> list[Peer]:
    smooth, softmax = {("logistic", "l2"), ("softmax", "l2")}, {("softmax", "l2")}
    binary, sparse = {("logistic", "l2")}, {("logistic", "l1")}
    narrow = {"widest": 1000}
    return [
        logistic_peer("lbfgs", "given", smooth, first=1e-3),
        logistic_peer("lbfgs", "csr", softmax, first=1e-3),
        logistic_peer("newton-cg", "csr", softmax, first=1e-3),
        logistic_peer("newton-cg", "given", smooth, first=1e-3, reference=1e-9),
        logistic_peer("newton-cholesky", "given", smooth, first=1e-3, **narrow),
        logistic_peer("newton-cholesky", "dense", binary, first=1e-3, **narrow),
        logistic_peer("liblinear", "given", binary | sparse),
        logistic_peer("liblinear dual", "given", binary),
        logistic_peer("sag", "given", smooth),
        logistic_peer("saga", "given", smooth | sparse),
        logistic_peer("lbfgs", "dense", smooth, "sklearnex", first=10.0, last=1e-6, widest=10_000),
        *(svc_peer(dual) for dual in (False, True)),
    ]


def svc_peer(dual: bool) -> Peer:
    """Return scikit-learn's LinearSVC."""

    def fit(problem: Problem, tol: float) -> Any:
        from sklearn.svm import LinearSVC

        model = LinearSVC(C=problem.C, loss=problem.loss, dual=dual, tol=tol, max_iter=LONG)
        return model.set_params(random_state=0).fit(problem.X, problem.y)

    pairs = {("squared_hinge", "l2")} | ({("hinge", "l2")} if dual else set())
    name = "sklearn LinearSVC" + (" dual" if dual else "")
    tight = 1e-7 if dual else None
    return Peer(name, "sklearn", frozenset(pairs), frozenset({"feature"}), fit, reference=tight)


def liblinear_peer(
    number: int, pair: tuple[str, str], biases: set[str], reference: float | None = None
) -> Peer:
    """Return LIBLINEAR's `train` with -s number. Its nodes are built before the measurement."""
    flags = {"none": "", "feature": "-B 1", "free": "-B 1 -R"}

    def prepare(problem: Problem) -> tuple[Problem, Any]:
        from liblinear.liblinear import problem as nodes

        rows = problem.laid_out("csr")
        built = nodes(rows.y.astype(np.float64), rows.X)
        built.set_bias(-1 if problem.bias == "none" else 1)
        return problem, built

    def fit(prepared: tuple[Problem, Any], tol: float) -> Any:
        from liblinear.liblinearutil import parameter, train

        problem, built = prepared
        options = f"-s {number} -c {problem.C!r} -e {tol!r} -q {flags[problem.bias]}"
        return train(built, parameter(options))

    def read(model: Any) -> Fitted:
        w, b = model.get_decfun()
        sign = model.get_labels()[0]  # its scores belong to the first class in the data
        return sign * np.array(w), sign * b

    return Peer(
        f"LIBLINEAR -s {number}",
        "liblinear",
        frozenset({pair}),
        frozenset(biases),
        fit,
        prepare,
        reference=reference,
        read=read,
    )


def liblinear() -> list[Peer]:
    anyhow = {"free", "feature", "none"}
    return [
        liblinear_peer(0, ("logistic", "l2"), anyhow, reference=1e-10),
        liblinear_peer(7, ("logistic", "l2"), {"feature", "none"}),
        liblinear_peer(6, ("logistic", "l1"), {"free", "none"}, reference=1e-6),
        liblinear_peer(2, ("squared_hinge", "l2"), anyhow, reference=1e-10),
        liblinear_peer(1, ("squared_hinge", "l2"), {"feature", "none"}),
        liblinear_peer(3, ("hinge", "l2"), {"feature", "none"}),
    ]


def skglm() -> list[Peer]:
    def logistic(problem: Problem, tol: float) -> Any:
        from skglm import SparseLogisticRegression

        strength, free = 1 / (problem.C * len(problem.y)), problem.bias == "free"
        model = SparseLogisticRegression(strength, tol=tol, max_iter=1000, fit_intercept=free)
        return model.fit(problem.X, problem.y)

    def svc(problem: Problem, tol: float) -> Any:
        from skglm import LinearSVC

        return LinearSVC(problem.C, tol=tol, max_iter=1000).fit(problem.X, problem.y)

    def last_is_bias(model: Any) -> Fitted:
        w = np.ravel(model.coef_)
        return w[:-1], w[-1]

    sparse, hinge = frozenset({("logistic", "l1")}), frozenset({("hinge", "l2")})
    free_or_none = frozenset({"free", "none"})
    return [
        Peer(
            "skglm prox-Newton",
            "skglm",
            sparse,
            free_or_none,
            logistic,
            laid_out("csc"),
            first=1e-4,
            reference=1e-9,
        ),
        Peer(
            "skglm LinearSVC",
            "skglm",
            hinge,
            frozenset({"feature"}),
            svc,
            lambda problem: problem.laid_out("csc").with_ones(),
            read=last_is_bias,
        ),
    ]


def celer() -> list[Peer]:
    def fit(problem: Problem, tol: float) -> Any:
        from celer import LogisticRegression

        return LogisticRegression(C=problem.C, tol=tol, max_iter=1000).fit(problem.X, problem.y)

    return [Peer("celer", "celer", frozenset({("logistic", "l1")}), frozenset({"none"}), fit)]


def snapml() -> list[Peer]:
    def logistic(problem: Problem, tol: float) -> Any:
        from snapml import LogisticRegression

        dual = problem.penalty == "l2"
        model = LogisticRegression(
            regularizer=1 / problem.C,
            penalty=problem.penalty,
            dual=dual,
            tol=tol,
            max_iter=LONG,
            n_jobs=2,
            random_state=0,
        )
        return model.fit(problem.X, problem.y)

    def svc(problem: Problem, tol: float) -> Any:
        from snapml import SupportVectorMachine

        model = SupportVectorMachine(problem.loss, LONG, 1 / problem.C, tol=tol, n_jobs=2)
        model.set_params(fit_intercept=True, random_state=0)
        return model.fit(problem.X, problem.y)

    none, feature = frozenset({"none"}), frozenset({"feature"})
    margins = frozenset({("hinge", "l2"), ("squared_hinge", "l2")})
    l2, l1 = frozenset({("logistic", "l2")}), frozenset({("logistic", "l1")})
    return [
        Peer("snapml", "snapml", l2, none, logistic, laid_out("csr")),
        Peer("snapml", "snapml", l1, none, logistic, laid_out("csc")),
        Peer("snapml", "snapml", margins, feature, svc, laid_out("csr")),
    ]


OURS = separatrix()
PEERS = [*scikit_learn(), *liblinear(), *skglm(), *celer(), *snapml()]
PACKAGES = {
    "liblinear": "liblinear-official",
    "skglm": "skglm",
    "celer": "celer",
    "snapml": "snapml",
    "sklearnex": "scikit-learn-intelex",
}
