"""Compute fingerprints of fits, to verify that a code change leaves all results bit-identical.

    python benchmarks/bits.py before.json                      write the fingerprints
    python benchmarks/bits.py after.json --same before.json    write them and compare

Covers every estimator and solver on Iris, Wine, breast cancer and digits, and on a5a and
rt-polarity if SEPARATRIX_DATA names their folder. A fingerprint covers the coefficients,
intercepts, certificate, history and stop reason of a fit; the scores of a search; or the table of a
study. Bits are the same only on the same type of machine, so compare files from one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_svmlight_file,
    load_wine,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer

import separatrix as sx
from separatrix.solvers.gradient import RULES

SOLVERS = ("auto", "newton", "lbfgs", "interior", "dual", "coordinate")
ITERATIONS = 20  # long enough for a history, short enough to run quickly


def data_sets(small: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, X and y of every available data set, or only of the small ones."""
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        yield load.__name__.removeprefix("load_"), X, y
    if small:
        return
    folder = os.environ.get("SEPARATRIX_DATA")
    if folder is None:
        print("SEPARATRIX_DATA is not set: a5a and rt-polarity are skipped.")
        return
    X, y = load_svmlight_file(str(Path(folder, "libsvm", "a5a")))
    yield "a5a", X, y
    texts, labels = [], []
    for label, ending in enumerate(("neg", "pos")):
        lines = Path(folder, "text", f"rt-polarity.{ending}").read_text("latin-1").splitlines()
        texts += lines
        labels += [label] * len(lines)
    yield "rt-polarity", TfidfVectorizer(min_df=3).fit_transform(texts), np.array(labels)


def estimators(n_features: int) -> Iterator[tuple[str, Any]]:
    """Yield the name and the estimator of every kind of fit."""
    wide = n_features > 1000
    limits = {"max_iter": ITERATIONS, "tol": 1e-6}
    for solver in SOLVERS:
        for C in (0.1, 10.0):
            for form in ("auto", "ovr"):
                yield (
                    f"logistic {form} {solver} C={C}",
                    sx.LogisticRegression(C, multiclass=form, solver=solver, **limits),
                )
        for ratio in (0.5, 1.0):
            yield (
                f"logistic l1_ratio={ratio} {solver}",
                sx.LogisticRegression(l1_ratio=ratio, solver=solver, **limits),
            )
        yield f"logistic C=inf {solver}", sx.LogisticRegression(np.inf, solver=solver, **limits)
        for loss in ("hinge", "squared_hinge"):
            for form in ("ovr", "crammer_singer", "weston_watkins"):
                yield (
                    f"{loss} {form} {solver}",
                    sx.LinearSVC(loss=loss, multiclass=form, solver=solver, **limits),
                )
            yield (
                f"{loss} scaled intercept {solver}",
                sx.LinearSVC(loss=loss, intercept_scaling=1.0, solver=solver, **limits),
            )
    yield "svc probability", sx.LinearSVC(probability=3, **limits)
    for rule in RULES:
        for batch in (None, 32):
            yield (
                f"gradient {rule} batch={batch}",
                sx.GradientDescentClassifier(rule=rule, batch_size=batch, epochs=15, init="random"),
            )
    for loss in sx.LOSSES:
        yield f"gradient {loss}", sx.GradientDescentClassifier(loss=loss, l2=1e-3, epochs=15)
    yield "perceptron", sx.Perceptron()
    if not wide:
        yield "kernel", sx.KernelClassifier(rank=40, max_iter=ITERATIONS)


def fingerprint(*parts: Any) -> str:
    """Return a hash of arrays and plain values."""
    found = hashlib.sha256()
    for part in parts:
        if hasattr(part, "toarray"):
            part = part.toarray()
        if isinstance(part, np.ndarray) and part.dtype != object:
            found.update(str((part.dtype, part.shape)).encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(repr(part).encode())
    return found.hexdigest()[:16]


def of_fit(model: Any) -> str:
    """Return the fingerprint of a fitted estimator."""
    history, certificate = model.history_, model.certificate_
    return fingerprint(
        model.coef_,
        model.intercept_,
        certificate.primal,
        certificate.dual,
        certificate.relative_gap,
        certificate.kind,
        history["objective"],
        history["train_accuracy"],
        model.stop_reason_,
        model.n_iter_,
        [diagnosis.kind for diagnosis in model.diagnoses_],
    )


def fits(X: Any, y: Any) -> Iterator[tuple[str, str]]:
    """Yield the fingerprints of fits, searches, paths and confidence intervals."""
    for name, estimator in estimators(X.shape[1]):
        try:
            yield name, of_fit(estimator.fit(X, y))
        except ValueError as error:
            yield name, type(error).__name__
    grid = {"C": [0.01, 1.0, 100.0], "l1_ratio": [0.0, 1.0]}
    search = sx.GridSearchCV(sx.LogisticRegression(max_iter=ITERATIONS), grid, cv=3).fit(X, y)
    table = {k: v for k, v in search.cv_results_.items() if "time" not in k and k != "params"}
    numbers = [np.asarray(table[k], dtype=float) for k in sorted(table) if k.endswith("score")]
    yield "grid search", fingerprint(*numbers, of_fit(search.best_estimator_))
    for kind in (sx.LogisticRegressionCV, sx.LinearSVCCV):
        model = kind(Cs=5, cv=3, max_iter=ITERATIONS).fit(X, y)
        yield kind.__name__, fingerprint(of_fit(model), model.C_)
    path = sx.regularization_path(X, y, l1_ratio=1.0, Cs=10)
    yield "path", fingerprint(np.asarray(path.coefs), np.asarray(path.intercepts))
    rows = 400
    model = sx.LogisticRegression(C=0.1).fit(X[:rows:2], y[:rows:2]) if _has_two(y, rows) else None
    if model is not None and X.shape[1] < 100:
        for method in ("wald", "bootstrap"):
            try:
                found = sx.confidence_intervals(model, X[:rows:2], y[:rows:2], method=method)
            except ValueError as error:
                yield f"intervals {method}", type(error).__name__
                continue
            yield f"intervals {method}", fingerprint(found.lower, found.upper)


def _has_two(y: Any, rows: int) -> bool:
    return len(np.unique(y[:rows:2])) > 1


def study(X: Any, y: Any) -> str:
    """Return the fingerprint of the table of a study."""
    order = np.random.default_rng(0).permutation(len(y))
    half = len(y) // 2
    grid = [
        {
            "rule": ["plain", "momentum", "adam"],
            "learning_rate": [0.1, 0.01, 60.0],
            "epochs": [9, 30],
        },
        {"batch_size": 20, "learning_rate": [0.1, 0.01], "l2": [0.0, 0.1], "epochs": 20},
    ]
    with tempfile.TemporaryDirectory() as folder:
        made = sx.Study(
            "bits",
            sx.GradientDescentClassifier(),
            grid,
            seeds=2,
            store=Path(folder, "studies.db"),
        )
        made.run(X[order[:half]], y[order[:half]], X[order[half:]], y[order[half:]])
        rows = [{k: v for k, v in row.items() if "second" not in k} for row in made.table()]
    return fingerprint(rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("file", type=Path, help="output file for the fingerprints")
    options.add_argument("--same", type=Path, help="fingerprints to compare with")
    options.add_argument(
        "--small", action="store_true", help="use only the data sets of scikit-learn"
    )
    given = options.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    found: dict[str, str] = {}
    for data, X, y in data_sets(given.small):
        for name, bits in fits(X, y):
            found[f"{data}: {name}"] = bits
        if X.shape[1] < 1000:
            found[f"{data}: study"] = study(X, y)
        print(f"{data}: done, {len(found)} fingerprints so far", flush=True)
    given.file.write_text(json.dumps(found, indent=1))
    if given.same is None:
        return
    before = json.loads(given.same.read_text())
    changed = [name for name in before.keys() | found.keys() if before.get(name) != found.get(name)]
    print(f"{len(found) - len(changed)} of {len(found)} fingerprints are the same.")
    for name in sorted(changed):
        print(f"  changed: {name}")
    if changed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
