"""Check the regions of the optimum on many random problems in extended precision.

Each problem is small and generated from a seed: its rows, classes, loss, weights, class weights,
penalty factors, kind of bias, features far from zero, units, layout and type are random. Some rows
are columns of a kernel factor. The optimum is computed by Newton's method in extended precision
(`numpy.longdouble`, with a 64-bit mantissa on most machines), from formulas that share nothing with
the library. The region is computed at other weights, near or far, often for another strength of the
penalty. The optimum and its scores on other rows must be inside. One row of a problem is counted as
a violation if it is not.

Bounds on scores for all strengths of the penalty in an interval, which a certified search uses, are
checked in the same way at a random strength of the interval.

    python benchmarks/certified_bounds.py --problems 10000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from separatrix.data import Block, Dataset
from separatrix.losses import LOSSES, OneVsRest
from separatrix.matrix import Matrix
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.regions import ScoreBounds, optimum_region, score_bounds
from separatrix.verdict.regions.score_paths import PathRows, score_paths
from separatrix.verdict.regions.secant_curvature import has_one_peak

Extended = np.longdouble
STEPS = 300  # of damped Newton's method
BINARY = ("logistic", "squared_hinge", "modified_huber", "squared")
SEVERAL = (
    "softmax",
    "softmax_reference",
    "ovr logistic",
    "ovr squared_hinge",
    "squared",
    "squared_hinge",
)
BIASES = ("free", "penalised", "none")
SOLVED = 1e-16  # size of the gradient, relative to its terms, at which a problem counts as solved


@dataclass(frozen=True)
class Problem:
    """One convex problem; X (n, d) are the features of training rows, others of new rows."""

    name: str
    bias: str
    X: np.ndarray
    others: np.ndarray
    y: np.ndarray
    s: np.ndarray
    f: np.ndarray
    f_b: float
    l2: float
    layout: str
    n_classes: int

    @property
    def n_outputs(self) -> int:
        if self.n_classes == 2:
            return 1
        return self.n_classes - (self.name == "softmax_reference")


def draw(seed: int) -> Problem:
    """Return a random problem."""
    rng = np.random.default_rng(seed)
    several = bool(rng.integers(3) == 0)
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 6))
    C = int(rng.integers(3, 5)) if several else 2
    y = np.concatenate([np.arange(C), rng.integers(C, size=n - C)])
    X = (
        rng.normal(size=(n + 6, d))
        + rng.choice([0.3, 1.5, 4.0])
        * rng.normal(size=(C, d))[np.concatenate([y, rng.integers(C, size=6)])]
    )
    kind = rng.choice(["plain", "far", "units", "counts", "kernel"])
    if kind == "far":
        X = X + 10.0 ** rng.uniform(1, 8, size=d)
    elif kind == "units":
        X = X * 10.0 ** rng.uniform(-3, 3, size=d)
    elif kind == "counts":
        X = np.where(rng.random(X.shape) < 0.6, 0.0, np.round(3.0 * X))
    elif kind == "kernel":
        K = np.exp(-np.square(X[:, None] - X[None, :]).sum(axis=2) / X.shape[1])
        values, vectors = np.linalg.eigh(K[:n, :n])
        some = values > 1e-3 * values.max()
        X = K[:, :n] @ vectors[:, some][:, -6:] / np.sqrt(values[some][-6:])
    layout = str(rng.choice(["dense", "csr", "csc", "float32", "blocks"]))
    if layout == "float32":
        X = X.astype(np.float32)
    s = np.ones(n)
    if rng.integers(2):
        s = rng.choice([0.0, 0.5, 1.0, 3.7], size=n)
        s[:C] = 1.0
    if rng.integers(3) == 0:  # class weights
        s = s * rng.uniform(0.1, 5.0, size=C)[y]
    f = 10.0 ** rng.uniform(-1, 1, size=X.shape[1]) if rng.integers(2) else np.ones(X.shape[1])
    if kind == "units" and rng.integers(2):
        f = X.astype(float).std(axis=0)
    f = np.where(f > 0, f, 1.0)
    return Problem(
        name=str(rng.choice(SEVERAL if several else BINARY)),
        bias=str(rng.choice(BIASES, p=[0.6, 0.2, 0.2])),
        X=X[:n],
        others=X[n:],
        y=y,
        s=s,
        f=f,
        f_b=float(rng.choice([1.0, 0.2, 3.0])),
        l2=float(10.0 ** rng.uniform(-4, 1)),
        layout=layout,
        n_classes=C,
    )


def derivatives(name: str, y: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return loss (n,), gradient (n, K) and Hessian (n, K, K) at scores Z (n, K)."""
    n, K = Z.shape
    eye = np.eye(K)
    if name.startswith("softmax"):
        lifted = np.concatenate([np.zeros((n, 1), Z.dtype), Z], axis=1) if name != "softmax" else Z
        E = np.exp(lifted - lifted.max(axis=1, keepdims=True))
        P = E / E.sum(axis=1, keepdims=True)
        value = np.log(E.sum(axis=1)) + lifted.max(axis=1) - lifted[np.arange(n), y]
        G = P.copy()
        G[np.arange(n), y] = 0.0
        G[np.arange(n), y] = -G.sum(axis=1)
        H = P[:, :, None] * np.eye(P.shape[1]) - P[:, :, None] * P[:, None, :]
        first = lifted.shape[1] - K
        return value, G[:, first:], H[:, first:, first:]
    if name == "squared_hinge" and K > 1:  # Weston-Watkins
        own = np.eye(K, dtype=bool)[y]
        terms = np.where(own, 0.0, np.maximum(1.0 + Z - Z[np.arange(n), y][:, None], 0.0))
        G = 2.0 * terms
        G[np.arange(n), y] = -G.sum(axis=1)
        A = 2.0 * (terms > 0)
        H = A[:, :, None] * eye
        at = np.arange(n)
        H[at, y, :] -= A
        H[at, :, y] -= A
        H[at, y, y] = A.sum(axis=1)
        return (terms**2).sum(axis=1), G, H
    base = name.split()[-1]
    if base == "squared":
        T = (2.0 * y[:, None] - 1.0) if K == 1 else eye[y]
        return (0.5 * (Z - T) ** 2).sum(axis=1), Z - T, np.broadcast_to(eye, (n, K, K))
    sign = (2.0 * y[:, None] - 1.0) if K == 1 else 2.0 * eye[y] - 1.0
    m = sign * Z
    if base == "logistic":
        value = np.where(m > 0, np.log1p(np.exp(-np.abs(m))), -m + np.log1p(np.exp(-np.abs(m))))
        P = np.where(m > 0, np.exp(-np.abs(m)), 1.0) / (1.0 + np.exp(-np.abs(m)))
        return value.sum(axis=1), -sign * P, (P * (1.0 - P))[:, :, None] * eye
    t = np.maximum(1.0 - m, 0.0)
    if base == "modified_huber":
        t = np.minimum(t, 2.0)
        value = np.where(m >= -1.0, t**2, -4.0 * m)
        return value.sum(axis=1), -2.0 * sign * t, (2.0 * ((t > 0) & (t < 2)))[:, :, None] * eye
    return (t**2).sum(axis=1), -2.0 * sign * t, (2.0 * (t > 0))[:, :, None] * eye


def solve(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the origin, and the optimal W (d, K) and b (K,) for x - origin; None if not found."""
    X = problem.X.astype(Extended)
    d, K = X.shape[1], problem.n_outputs
    origin = X.mean(axis=0) if problem.bias == "free" else np.zeros(d, Extended)
    unit = problem.f.astype(Extended)
    A = (X - origin) / unit
    if problem.bias != "none":
        one = 1.0 if problem.bias == "free" else 1.0 / problem.f_b
        A = np.concatenate([A, np.full((len(A), 1), one, Extended)], axis=1)
    pen = np.full(A.shape[1], Extended(problem.l2))
    if problem.bias == "free":
        pen[-1] = 0.0
    s = problem.s.astype(Extended) / problem.s.sum(dtype=Extended)
    V = np.zeros((A.shape[1], K), Extended)
    shift = problem.name == "softmax" and problem.bias == "free"

    def objective(V):
        return (s * derivatives(problem.name, problem.y, A @ V)[0]).sum() + 0.5 * (
            pen[:, None] * V**2
        ).sum()

    for _ in range(STEPS):
        _, G, H = derivatives(problem.name, problem.y, A @ V)
        g = A.T @ (s[:, None] * G) + pen[:, None] * V
        size = np.abs(A.T) @ (s[:, None] * np.abs(G)) + pen[:, None] * np.abs(V)
        if (np.abs(g) <= SOLVED * size.max()).all():
            break
        weights = (s[:, None, None] * H).astype(float)
        M = np.einsum("ia,ib,ikl->akbl", A.astype(float), A.astype(float), weights)
        M = M.reshape(V.size, V.size) + np.diag(np.repeat(pen.astype(float), K))
        if shift:
            M[-K:, -K:] += 1.0 / K
        M += 1e-14 * np.eye(len(M)) * np.trace(M) / len(M)
        step = np.linalg.solve(M, (g.astype(float)).ravel()).reshape(V.shape)
        here, t = objective(V), 1.0
        slope = float((g * step).sum())
        if slope > 1e-13 * float(abs(here)):
            while objective(V - t * step) > here - 0.1 * t * slope and t > 1e-8:
                t *= 0.5
        V = V - t * step
    else:
        if not (np.abs(g) <= 1e4 * np.finfo(Extended).eps * size.max()).all():
            return None
    if problem.bias == "none":
        return origin, V / unit[:, None], np.zeros(K, Extended)
    b = V[-1] if problem.bias == "free" else V[-1] / problem.f_b
    if shift:
        b = b - b.mean()
    return origin, V[:-1] / unit[:, None], b


def objective_of(problem: Problem) -> Objective:
    """Return the library's objective for a problem."""
    blocks = [slice(None)]
    if problem.layout == "blocks":
        middle = len(problem.y) // 2
        blocks = [slice(0, middle), slice(middle, None)]
    loss = (
        LOSSES[problem.name]
        if not problem.name.startswith("ovr")
        else OneVsRest(LOSSES[problem.name.split()[1]])
    )
    parts = [
        Block.of(_laid_out(problem, problem.X[rows]), problem.y[rows], problem.s[rows])
        for rows in blocks
    ]
    penalty = ElasticNet(
        0.0, problem.l2, problem.f, problem.f_b if problem.bias == "penalised" else 0.0
    )
    data = Dataset(parts, np.arange(problem.n_classes))
    return Objective(data, loss, penalty, bias=problem.bias != "none")


def _laid_out(problem: Problem, X: np.ndarray) -> object:
    if problem.layout in ("csr", "csc"):
        return sp.csr_array(X) if problem.layout == "csr" else sp.csc_array(X)
    return X


@dataclass(frozen=True)
class Finding:
    """How far the optimum is outside (positive) or inside the region, as a share of the width."""

    problem: Problem
    excess: float
    radius: float
    distance: float
    finite: bool


def check(seed: int) -> Finding | None:
    """Check the region of one problem; None if the optimum was not found."""
    problem = draw(seed)
    found = solve(problem)
    if found is None:
        return None
    origin, W, b = found
    rng = np.random.default_rng(seed + 10**9)
    # Weights at which the region is computed: near the optimum, or anywhere.
    size = 10.0 ** rng.uniform(-14, 0.5) if rng.integers(5) else 0.0
    W0 = (W * (1.0 + size * rng.normal(size=W.shape))).astype(float)
    b0 = (b - origin @ W).astype(float) * (1.0 + 0.1 * size * rng.normal())
    if problem.bias == "free":
        b0 = (
            b * (1.0 + 0.3 * size * rng.normal(size=b.shape)) - origin @ W0.astype(Extended)
        ).astype(float)
    if problem.bias == "none":
        b0 = 0.0 * b0
    model = Model(np.ascontiguousarray(W0[:, None, :]), b0[None])
    objective = objective_of(problem)
    region = optimum_region(objective, model)
    if region is None:
        return None
    f, centre = problem.f.astype(Extended), region.ball.centre
    off = f[:, None] * (W - centre.W[:, 0].astype(Extended))
    moved = b + (region.origin.astype(Extended) - origin) @ W  # the bias for x - region.origin
    if problem.bias == "penalised":
        off = np.concatenate([off, problem.f_b * (b - centre.b[0].astype(Extended))[None]])
    radius = region.ball.radius[0]
    far = (
        np.sqrt((off**2).sum(axis=0))
        if len(radius) > 1 or W.shape[1] == 1
        else np.sqrt((off**2).sum())
    )
    excess = [float(np.max(far / radius)) if np.isfinite(radius).all() else 0.0]
    rows = np.concatenate([problem.others, problem.X])
    scores = (rows.astype(Extended) - region.origin.astype(Extended)) @ W + moved
    bounds = score_bounds(region, objective.loss, Matrix(_laid_out(problem, rows)))
    low, high = bounds.low, bounds.high
    scores = _decision(problem, scores)
    finite = bool(np.isfinite(low).all() and np.isfinite(high).all())
    if finite:
        middle, width = 0.5 * (low[:, 0] + high[:, 0]), 0.5 * (high[:, 0] - low[:, 0])
        excess.append(float(np.max(np.abs(scores - middle) / np.where(width > 0.0, width, 1.0))))
    inside = (scores >= low[:, 0]) & (scores <= high[:, 0])
    excess.append(2.0 if not inside.all() else 0.0)
    excess.append(2.0 if _contradicts(problem, objective, bounds, scores) else 0.0)
    if region.pairs is not None and np.isfinite(region.pairs).all():
        lifted = _decision(problem, (moved - centre.b[0])[None])[0]
        pairs = np.abs(lifted[:, None] - lifted)
        excess.append(2.0 if (pairs > region.pairs[0]).any() else 0.0)
    elif problem.bias == "free" and region.pairs is None:
        excess.append(
            0.0 if (moved >= region.low[0]).all() and (moved <= region.high[0]).all() else 2.0
        )
    return Finding(problem, max(excess) - 1.0, float(radius.max()), float(np.max(far)), finite)


def check_path(seed: int) -> Finding | None:
    """Check the bounds of one problem at another strength of its penalty; None if it has none."""
    rng = np.random.default_rng(seed + 2 * 10**9)
    problem = draw(seed)
    objective = objective_of(problem)
    if not has_one_peak(objective.loss, problem.n_outputs):
        return None
    near = solve(problem)
    far = replace(problem, l2=problem.l2 * float(np.exp(rng.uniform(-1.0, 1.0))))
    found = solve(far)
    if near is None or found is None:
        return None
    origin, W, b = near
    size = 10.0 ** rng.uniform(-14, -1) if rng.integers(5) else 0.0
    W0 = (W * (1.0 + size * rng.normal(size=W.shape))).astype(float)
    b0 = 0.0 * b.astype(float)
    if problem.bias == "free":
        b0 = (b - origin @ W0.astype(Extended)).astype(float) + 0.3 * size * rng.normal()
    elif problem.bias == "penalised":
        b0 = b.astype(float) * (1.0 + size * rng.normal())
    model = Model(np.ascontiguousarray(W0[:, None, :]), np.ascontiguousarray(b0[None]))
    rows = PathRows.of(objective, problem.bias == "free")
    numbers = np.arange(len(problem.y))
    other, l2 = None, problem.l2
    if rng.integers(2):  # with the reference of another strength
        wider = [(0.3 * l2, 3.0 * l2)]
        other = score_paths(objective, model, rows, wider, [(numbers, rows)], [None])[0][1]
    reach = [(min(l2, far.l2), max(l2, far.l2))]
    path, _ = score_paths(objective, model, rows, reach, [(numbers, rows)], [other])[0]
    origin, W, b = found
    scores = (problem.X.astype(Extended) - origin) @ W + b
    low, high = path.bounds(far.l2)
    finite = bool(np.isfinite(low).all())
    inside = (scores >= low) & (scores <= high)
    share = 0.0
    if finite:
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        share = float(np.max(np.abs(scores - middle) / np.where(half > 0.0, half, 1.0)))
    excess = (share if inside.all() else max(share, 2.0)) - 1.0
    return Finding(problem, excess, 0.0, 0.0, finite)


def _contradicts(
    problem: Problem, objective: Objective, bounds: ScoreBounds, Z: np.ndarray
) -> bool:
    """Return whether a certain class or a bound on a probability is wrong at scores Z (n, C)."""
    n, C = len(Z), problem.n_classes
    wide = np.concatenate([0.0 * Z, Z], axis=1) if Z.shape[1] == 1 else Z
    for c in range(C):
        certain = bounds.leads(np.full((n, 1), c))[:, 0] > 0.0
        if (wide[certain].argmax(axis=1) != c).any():
            return True
    P = bounds.probabilities()
    if P is None:
        return False
    if problem.name == "modified_huber":
        second = (np.clip(Z, -1.0, 1.0) + 1.0) / 2.0
        exact = np.concatenate([1.0 - second, second], axis=1)
    elif problem.name.startswith("ovr"):
        alone = 1.0 / (1.0 + np.exp(-Z))
        exact = alone / alone.sum(axis=1, keepdims=True)
    else:
        E = np.exp(wide - wide.max(axis=1, keepdims=True))
        exact = E / E.sum(axis=1, keepdims=True)
    return bool(((exact < P[0][:, 0]) | (exact > P[1][:, 0])).any())


def _decision(problem: Problem, Z: np.ndarray) -> np.ndarray:
    """Return scores of all classes; softmax scores have the mean 0."""
    if problem.name == "softmax_reference":
        return np.concatenate([np.zeros_like(Z[:, :1]), Z], axis=1)
    return Z - Z.mean(axis=1, keepdims=True) if problem.name == "softmax" else Z


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    numbers = range(asked.first, asked.first + asked.problems)
    report("Regions of the optimum", check, numbers)
    report("Scores for an interval of strengths", check_path, numbers)


def report(title: str, check: Callable[[int], Finding | None], seeds: range) -> None:
    """Check all problems, and print what was found."""
    began, violations, unsolved, unbounded, used = time.perf_counter(), [], 0, 0, []
    for seed in seeds:
        found = check(seed)
        if found is None:
            unsolved += 1
            continue
        unbounded += not found.finite
        used.append(found.excess + 1.0)
        if found.excess > 0.0:
            violations.append(
                (seed, found.excess, found.problem.name, found.problem.bias, found.problem.layout)
            )
    print(f"{title}: {len(seeds)} problems in {time.perf_counter() - began:.0f} s")
    print(f"{len(violations)} violations")
    print(f"{unsolved} without bounds or without a reference optimum")
    print(f"{unbounded} with an infinite score interval")
    if used:
        print(
            f"largest distance as a share of the bound: median {np.median(used):.2g}, "
            f"maximum {max(used):.4g}"
        )
    for violation in violations[:20]:
        print(violation)


if __name__ == "__main__":
    main()
