"""The benchmark's data sets, and the objective that all solvers minimise.

    P(W, b) = sum_i loss(y_i, W x_i + b) / n  +  |W|_1 / (C n)   or   |W|_2^2 / (2 C n)

Solvers treat the bias in three ways: "free" (b is not penalised), "feature" (b is the weight of a
column of ones, penalised like all weights, as in LIBLINEAR) and "none" (b = 0). Two results are
comparable only if loss, penalty, C and bias agree.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

Data = tuple["np.ndarray | sp.csr_matrix", np.ndarray]

ROWS, WORDS = 25_000, 75_000
DOCUMENT = 151  # median number of words of a document: 3.4 million entries in all
TILT = 0.34  # how strongly a fifth of the words favour one class: held-out accuracy 0.9


@dataclass(frozen=True)
class Problem:
    """One objective: the data, the loss, the penalty and how the bias is treated."""

    X: np.ndarray | sp.csr_matrix
    y: np.ndarray
    loss: str
    penalty: str
    C: float
    bias: str

    def objective(self, W: np.ndarray, b: np.ndarray | float) -> float:
        """Return P(W, b) in float64. W has shape (d,) or (1, d), or (K, d) for softmax."""
        W = np.atleast_2d(np.asarray(W, dtype=np.float64))
        b = np.broadcast_to(np.ravel(np.asarray(b, dtype=np.float64)), len(W))
        if self.bias == "none" and b.any():
            raise ValueError("The model has a bias, but the objective does not.")
        size = np.abs(W).sum() if self.penalty == "l1" else (W * W).sum() / 2
        if self.bias == "feature":
            size += (b * b).sum() / 2
        return float(self._losses(self.X @ W.T + b).mean() + size / (self.C * len(self.y)))

    def _losses(self, Z: np.ndarray) -> np.ndarray:
        if self.loss == "softmax":
            return logsumexp(Z, axis=1) - Z[np.arange(len(Z)), self.y]
        margins = self.y * Z[:, 0]
        if self.loss == "logistic":
            return np.logaddexp(0.0, -margins)
        short = np.maximum(0.0, 1.0 - margins)
        return short if self.loss == "hinge" else short * short

    def laid_out(self, layout: str) -> Problem:
        """Return the problem with X as "csr", "csc" or "dense"; "given" keeps X unchanged."""
        if layout == "given":
            return self
        if layout == "dense":
            return replace(self, X=self.X.toarray() if sp.issparse(self.X) else self.X)
        return replace(self, X=(sp.csr_matrix if layout == "csr" else sp.csc_matrix)(self.X))

    def with_ones(self) -> Problem:
        """Return the problem with a column of ones, for solvers without a bias."""
        ones = np.ones((self.X.shape[0], 1))
        stack = sp.hstack([self.X, ones], format=self.X.format)
        return replace(self, X=stack, bias="none")

    def small(self) -> Problem:
        """Return a few hundred rows, to load and compile everything before the measurement."""
        step = max(1, len(self.y) // 400)
        return replace(self, X=self.X[::step], y=self.y[::step])


def score(model: Any, X: Any, y: np.ndarray) -> dict[str, float]:
    """Score a model by its accuracy and its L2 logistic objective on the given rows."""
    problem = Problem(X, y, "logistic", "l2", model.C, "free")
    return {
        "accuracy": model.score(X, y),
        "objective": problem.objective(model.coef_, model.intercept_),
    }


def folder() -> Path:
    """Return the folder of the data sets. Raises FileNotFoundError if it is not set."""
    if "SEPARATRIX_DATA" not in os.environ:
        raise FileNotFoundError("SEPARATRIX_DATA does not name a folder of data sets")
    return Path(os.environ["SEPARATRIX_DATA"])


def short_indices(X: sp.csr_matrix) -> sp.csr_matrix:
    """Convert to 32-bit indices, the only type that all peers accept."""
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def a9a() -> Data:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(folder() / "libsvm" / "a9a"), n_features=123)
    return short_indices(X), y.astype(int)


def mnist() -> Data:
    """Return all 60,000 digits, dense, with pixels in [0, 1]."""

    def read(name: str, offset: int) -> np.ndarray:
        packed = (folder() / "mnist" / name).read_bytes()
        return np.frombuffer(gzip.decompress(packed), np.uint8, offset=offset)

    pixels = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)
    return pixels / 255.0, read("train-labels-idx1-ubyte.gz", 8).astype(int)


def polarity() -> Data:
    """Return the TF-IDF of sentences from film reviews, single words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    sentences, labels = [], []
    for name, label in (("pos", 1), ("neg", -1)):
        file = folder() / "text" / f"rt-polarity.{name}"
        # not splitlines(): it would split at some latin-1 characters in the sentences
        lines = file.read_text(encoding="latin-1").strip().split("\n")
        sentences += lines
        labels += [label] * len(lines)
    return short_indices(TfidfVectorizer().fit_transform(sentences)), np.array(labels)


def text() -> Data:
    """Generate documents of two classes.

    The words follow Zipf's law, and a fifth of them are more frequent in one class. The number of
    words per document is lognormal. Returns TF-IDF with rows of norm 1 and columns in random order.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    rng = np.random.default_rng(0)
    share = (np.arange(WORDS) + 4.0) ** -1.1
    tilt = TILT * rng.standard_normal(WORDS) * (rng.random(WORDS) < 0.2)
    y = np.where(rng.random(ROWS) < 0.5, 1, -1)
    lengths = np.maximum(5, rng.lognormal(np.log(DOCUMENT), 0.6, ROWS).astype(int))
    words = np.empty(lengths.sum(), dtype=np.int64)
    for label in (-1, 1):
        up_to = np.cumsum(share * np.exp(label * tilt))
        drawn = np.repeat(y == label, lengths)
        words[drawn] = np.searchsorted(up_to, rng.random(drawn.sum()) * up_to[-1])
    rows = np.repeat(np.arange(ROWS), lengths)
    columns = rng.permutation(WORDS)[np.minimum(words, WORDS - 1)]
    counts = sp.csr_matrix((np.ones(len(words)), (rows, columns)), (ROWS, WORDS))
    counts.sum_duplicates()
    return short_indices(TfidfTransformer(sublinear_tf=True).fit_transform(counts)), y


def classes() -> Data:
    """Generate 20,000 dense rows of 50 features in a thousand classes with separate centres."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((1000, 50))
    y = rng.integers(0, 1000, 20_000)
    return centres[y] + rng.standard_normal((20_000, 50)), y


DATA: dict[str, Callable[[], Data]] = {
    "a9a": a9a,
    "MNIST": mnist,
    "rt-polarity": polarity,
    "text": text,
    "classes": classes,
}


@cache
def load(name: str) -> Data:
    return DATA[name]()


@cache
def fingerprint(name: str) -> int:
    """Return a checksum of the data, so that optima of other data are not reused."""
    X, y = load(name)
    values = X.data if sp.issparse(X) else X
    seen = zlib.crc32(np.ascontiguousarray(values).view(np.uint8).ravel())
    return zlib.crc32(y.astype(np.int64).tobytes(), seen)


@dataclass(frozen=True)
class Case:
    """A case of the benchmark. `target` is the required speed relative to the best peer."""

    data: str
    loss: str
    penalty: str
    C: float
    bias: str
    target: float

    @property
    def key(self) -> str:
        return f"{self.data} {self.penalty} {self.loss} C={self.C:g} bias={self.bias}"

    def problem(self) -> Problem:
        X, y = load(self.data)
        return Problem(X, y, self.loss, self.penalty, self.C, self.bias)


CASES = [
    Case("a9a", "logistic", "l2", 1.0, "free", 10.0),
    Case("a9a", "logistic", "l2", 1.0, "none", 10.0),
    Case("a9a", "logistic", "l1", 1.0, "free", 10.0),
    Case("a9a", "logistic", "l1", 1.0, "none", 10.0),
    Case("a9a", "squared_hinge", "l2", 1.0, "free", 1.0),
    Case("a9a", "squared_hinge", "l2", 1.0, "feature", 1.0),
    Case("MNIST", "softmax", "l2", 0.01, "free", 10.0),
    Case("classes", "softmax", "l2", 1.0, "free", 2.0),
    Case("rt-polarity", "logistic", "l2", 10.0, "free", 1.0),
    Case("rt-polarity", "logistic", "l2", 10.0, "none", 1.0),
    Case("text", "logistic", "l2", 10.0, "free", 4.0),
    Case("text", "logistic", "l2", 10.0, "none", 4.0),
    Case("text", "logistic", "l1", 10.0, "free", 4.0),
    Case("text", "logistic", "l1", 10.0, "none", 4.0),
    Case("text", "hinge", "l2", 1.0, "feature", 1.3),
    Case("text", "squared_hinge", "l2", 1.0, "free", 1.3),
    Case("text", "squared_hinge", "l2", 1.0, "feature", 1.3),
]
