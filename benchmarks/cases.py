"""What is measured: data sets, and the objective that everybody is held to.

    P(W, b) = sum_i loss(y_i, W x_i + b) / n  +  |W|_1 / (C n)   or   |W|_2^2 / (2 C n)

Three kinds of bias, since solvers differ in it: "free" (b is not penalised), "feature" (b is the
weight of a column of ones, penalised like any other; LIBLINEAR's way) and "none" (b = 0). Two
results are comparable only where all of loss, penalty, C and bias agree.
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
TILT = 0.34  # how much a fifth of the words favour one class: held-out accuracy 0.9


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
        """P(W, b) in float64; W is (d,) or (1, d), for softmax (K, d)."""
        W = np.atleast_2d(np.asarray(W, dtype=np.float64))
        b = np.broadcast_to(np.ravel(np.asarray(b, dtype=np.float64)), len(W))
        if self.bias == "none" and b.any():
            raise ValueError("A bias was trained where the objective has none.")
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
        """The same with X as "csr", "csc" or "dense"; "given" leaves it alone."""
        if layout == "given":
            return self
        if layout == "dense":
            return replace(self, X=self.X.toarray() if sp.issparse(self.X) else self.X)
        return replace(self, X=(sp.csr_matrix if layout == "csr" else sp.csc_matrix)(self.X))

    def with_ones(self) -> Problem:
        """The bias as a feature, spelled out for solvers that know no bias."""
        ones = np.ones((self.X.shape[0], 1))
        stack = sp.hstack([self.X, ones], format=self.X.format)
        return replace(self, X=stack, bias="none")

    def small(self) -> Problem:
        """A few hundred rows of it, to load and compile everything before the clock runs."""
        step = max(1, len(self.y) // 400)
        return replace(self, X=self.X[::step], y=self.y[::step])


def score(model: Any, X: Any, y: np.ndarray) -> dict[str, float]:
    """A scorer for searches that gives away the objective, L2 logistic, on the rows it is given."""
    problem = Problem(X, y, "logistic", "l2", model.C, "free")
    return {
        "accuracy": model.score(X, y),
        "objective": problem.objective(model.coef_, model.intercept_),
    }


def folder() -> Path:
    """Where the data sets lie; raises FileNotFoundError with a sentence for the table."""
    if "SEPARATRIX_DATA" not in os.environ:
        raise FileNotFoundError("SEPARATRIX_DATA does not name a folder of data sets")
    return Path(os.environ["SEPARATRIX_DATA"])


def short_indices(X: sp.csr_matrix) -> sp.csr_matrix:
    """With 32-bit indices, the only ones that all peers take."""
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def a9a() -> Data:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(folder() / "libsvm" / "a9a"), n_features=123)
    return short_indices(X), y.astype(int)


def mnist() -> Data:
    """All 60,000 digits, pixels in [0, 1], dense."""

    def read(name: str, offset: int) -> np.ndarray:
        packed = (folder() / "mnist" / name).read_bytes()
        return np.frombuffer(gzip.decompress(packed), np.uint8, offset=offset)

    pixels = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)
    return pixels / 255.0, read("train-labels-idx1-ubyte.gz", 8).astype(int)


def polarity() -> Data:
    """TF-IDF of film review sentences, single words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    sentences, labels = [], []
    for name, label in (("pos", 1), ("neg", -1)):
        file = folder() / "text" / f"rt-polarity.{name}"
        # not splitlines(): in latin-1 some sentences hold a byte that it takes for a line's end
        lines = file.read_text(encoding="latin-1").strip().split("\n")
        sentences += lines
        labels += [label] * len(lines)
    return short_indices(TfidfVectorizer().fit_transform(sentences)), np.array(labels)


def text() -> Data:
    """Made-up documents of two classes: words by Zipf's law, a fifth of them tilted to a class.

    TF-IDF with rows of length one, columns in no order. Long and short documents as in life: the
    number of words is lognormal.
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
    """A thousand classes about centres of their own, 20,000 rows of 50 features, dense."""
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
    """Changes when the data does, so that no optimum of other data is trusted."""
    X, y = load(name)
    values = X.data if sp.issparse(X) else X
    seen = zlib.crc32(np.ascontiguousarray(values).view(np.uint8).ravel())
    return zlib.crc32(y.astype(np.int64).tobytes(), seen)


@dataclass(frozen=True)
class Case:
    """A line of the benchmark; `target` is the speed asked of us, in best peers."""

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
