"""Check the certificates of many random fits in extended precision.

Each problem is small and generated from a seed. Rows, classes, loss, penalty, sample weights, units
and solver are random; some problems are separable or almost unpenalised. After a fit, Newton's
method continues from its weights in extended precision (`numpy.longdouble`, with a 64-bit mantissa
on most machines). The lower bound of the certificate must not exceed the objective of any point
found in this way, and the reported objective must be the objective of the weights.

    python benchmarks/certificates.py --problems 10000
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix import LinearSVC, LogisticRegression

Extended = np.longdouble
STEPS = 12  # of Newton's method in extended precision
MISREPORT = 1e-9  # relative error of the objective that may be rounding
ROUNDING = 64 * float(np.finfo(Extended).eps)  # relative rounding error of the check


@dataclass(frozen=True)
class Fit:
    """A fitted estimator and its problem; y (n,) are class numbers."""

    estimator: Any
    X: np.ndarray
    y: np.ndarray
    s: np.ndarray


@dataclass(frozen=True)
class Check:
    """The numbers of a certificate, and the numbers found in extended precision."""

    fit: Fit
    bound: float  # the lower bound
    reported: float
    gap: float
    objective: float  # of the returned weights
    lowest: float  # lowest objective found

    @property
    def excess(self) -> float:
        """The relative amount by which the bound exceeds the lowest objective; 0 if it holds."""
        if self.bound <= self.lowest:
            return 0.0
        return (self.bound - self.lowest) / self.lowest if self.lowest > 0.0 else np.inf

    @property
    def misreport(self) -> float:
        """The relative error of the reported objective, beyond the duality gap.

        The gap allows for rounding: an objective close to zero has no correct digits.
        """
        off = max(abs(self.reported - self.objective) - self.gap, 0.0)
        return off / max(self.objective, np.finfo(float).tiny)


def draw_fit(seed: int) -> Fit:
    """Fit a random small problem."""
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(4, 40)), int(rng.integers(1, 6)), int(rng.integers(2, 5))
    y = np.concatenate([np.arange(K), rng.integers(0, K, max(n - K, 0))])[: max(n, K)]
    X = rng.normal(size=(len(y), d)) + rng.choice([0.0, 1.0, 10.0]) * rng.normal(size=(K, d))[y]
    X = X * 10.0 ** rng.choice([0.0, rng.uniform(-4, 4)], d)
    X = X + rng.choice([0.0, 1.0, 1e3, 1e6], p=[0.7, 0.1, 0.1, 0.1]) * rng.normal(size=d)
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = 10.0 ** rng.uniform(0, 13)  # one value in every row
    C = 10.0 ** rng.uniform(-3, rng.choice([3, 8, 14, 30]))
    s = rng.integers(1, 5, len(y)).astype(float) if rng.random() < 0.3 else np.ones(len(y))
    tol = 10.0 ** rng.uniform(-10, -3)
    kind = rng.choice(["logistic", "squared_hinge"], p=[0.8, 0.2])
    smooth = {"C": C, "tol": tol, "fit_intercept": bool(rng.random() < 0.8)}
    solver = str(rng.choice(["auto", "newton", "lbfgs", "dual"]))
    make = LogisticRegression if kind == "logistic" else LinearSVC
    estimator = make(**smooth, solver=solver, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y, sample_weight=s)
    return Fit(estimator, X, y, s)


def check(fit: Fit) -> Check:
    """Compare the certificate of a fit with the result of Newton's method in long double."""
    estimator, certificate = fit.estimator, fit.estimator.certificate_
    one_by_one = isinstance(estimator, LinearSVC)
    W = np.concatenate([estimator.coef_, estimator.intercept_[:, None]], axis=1).astype(Extended)
    problem = _Problem(fit, one_by_one)
    objective = problem.value(W)
    lowest = objective
    for _ in range(STEPS):
        W, value = problem.step(W, lowest)
        if not value < lowest:
            break
        lowest = value
    bound = -np.inf if certificate.dual is None else certificate.dual
    gap = 0.0 if certificate.gap is None else certificate.gap
    return Check(fit, bound, certificate.primal, gap, float(objective), float(lowest))


class _Problem:
    """The objective of weights (K, d + 1), bias last, in extended precision."""

    def __init__(self, fit: Fit, one_by_one: bool) -> None:
        estimator = fit.estimator
        n, K = len(fit.y), len(estimator.classes_)
        self.A = np.concatenate([fit.X, np.ones((n, 1))], axis=1).astype(Extended)
        self.own = np.arange(K) == fit.y[:, None]
        self.share = (fit.s / fit.s.sum()).astype(Extended)
        l2 = Extended(1.0) / (Extended(estimator.C) * Extended(fit.s.sum()))
        self.l2 = np.append(np.full(fit.X.shape[1], l2), Extended(0.0))
        self.free = bool(estimator.fit_intercept)
        self.hinge, self.binary = one_by_one, K == 2

    def value(self, W: np.ndarray) -> Any:
        loss, _, _ = self._rows(W)
        return (self.share * loss).sum() + 0.5 * (self.l2 * W * W).sum()

    def step(self, W: np.ndarray, value: Any) -> tuple[np.ndarray, Any]:
        """Make a Newton step, halved until the objective falls."""
        _, U, H = self._rows(W)
        K, D = W.shape
        gradient = (self.share[:, None] * U).T @ self.A + self.l2 * W
        hessian = np.einsum("i,ikl,ip,iq->kplq", self.share, H, self.A, self.A)
        matrix = hessian.reshape(K * D, K * D) + np.diag(np.tile(self.l2, K))
        matrix = matrix + np.diag(np.full(K * D, ROUNDING * np.diag(matrix).max()))
        g = gradient.reshape(-1)
        if not self.free:
            fixed = np.tile(np.arange(D) == D - 1, K)
            matrix[fixed], matrix[:, fixed], g[fixed] = 0.0, 0.0, 0.0
            matrix[fixed, fixed] = 1.0
        direction = solve(matrix, g).reshape(K, D)
        for halvings in range(30):
            there = W - direction / 2**halvings
            new = self.value(there)
            if new < value:
                return there, new
        return W, value

    def _rows(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the loss (n,), gradient (n, K) and second derivative (n, K, K) of each row."""
        Z = self.A @ W.T
        if self.hinge:
            t = np.where(self.own[:, 1:] if self.binary else self.own, 1.0, -1.0)
            short = np.maximum(0.0, 1.0 - t * Z)
            H = np.einsum("ik,kl->ikl", 2.0 * (short > 0.0), np.eye(Z.shape[1]))
            return (short**2).sum(axis=1), -2.0 * t * short, H
        if self.binary:
            Z = np.concatenate([np.zeros_like(Z), Z], axis=1)
        above = Z - Z[self.own][:, None]
        top = np.maximum(above.max(axis=1), 0.0)[:, None]
        E = np.where(self.own, 0.0, np.exp(above - top))
        loss = np.where(
            top[:, 0] > 0.0,
            top[:, 0] + np.log(E.sum(axis=1) + np.exp(-top[:, 0])),
            np.log1p(E.sum(axis=1)),
        )
        P = E / (E.sum(axis=1) + np.exp(-top[:, 0]))[:, None]
        U = np.where(self.own, -P.sum(axis=1)[:, None], P)
        true = np.where(self.own, 1.0 - P.sum(axis=1)[:, None], P)
        H = np.einsum("ik,kl->ikl", true, np.eye(Z.shape[1])) - true[:, :, None] * true[:, None]
        return (loss, U[:, 1:], H[:, 1:, 1:]) if self.binary else (loss, U, H)


def solve(matrix: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Solve a linear system in the precision of its arrays, by Gauss-Jordan elimination."""
    A = np.concatenate([matrix, g[:, None]], axis=1).copy()
    m = len(g)
    for k in range(m):
        pivot = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, pivot]] = A[[pivot, k]]
        if A[k, k] == 0.0:
            return np.zeros(m, A.dtype)
        A[k] /= A[k, k]
        others = np.arange(m) != k
        A[others] -= A[others, k, None] * A[k]
    return A[:, -1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began, worst, wrong, off = time.perf_counter(), 0.0, 0, 0
    for number in range(given.problems):
        found = check(draw_fit(given.seed + number))
        if found.excess > ROUNDING:
            wrong += 1
            print(f"seed {given.seed + number}: {found.fit.estimator}: the lower bound exceeds")
            print(f"  the objective {found.lowest:.3e} of a point by {found.excess:.2e} (relative)")
        if found.misreport > MISREPORT:
            off += 1
            print(
                f"seed {given.seed + number}: {found.fit.estimator} reports {found.reported:.9e}, "
                f"but its weights have {found.objective:.9e}"
            )
        worst = max(worst, found.excess)
    print(
        f"{given.problems:,} fits in {time.perf_counter() - began:.0f} s: {wrong} bounds are wrong "
        f"(worst excess {worst:.1e}), {off} objectives differ from the reported ones."
    )


if __name__ == "__main__":
    main()
