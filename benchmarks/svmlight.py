"""Measure the speed of reading svmlight files, compared with scikit-learn's load_svmlight_file.

    SEPARATRIX_DATA=folder python benchmarks/svmlight.py [megabytes]

The file is LIBSVM's a9a, repeated to 200 MB. Without the data folder, similar rows are generated.
The best of several runs counts, all in this process. The two matrices are compared.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from separatrix import get_threads, set_threads
from separatrix.readers.svmlight import read_svmlight


def rows() -> bytes:
    """Return the text of a9a, or as many random rows with 14 ones among 123 features."""
    folder = os.environ.get("SEPARATRIX_DATA")
    if folder:
        return (Path(folder) / "libsvm" / "a9a").read_bytes()
    rng = np.random.default_rng(0)
    places = np.sort(rng.permuted(np.tile(np.arange(1, 124), (32561, 1)), axis=1)[:, :14])
    labels = rng.choice(["+1", "-1"], len(places))
    lines = [f"{y} " + " ".join(f"{j}:1" for j in row) for y, row in zip(labels, places)]
    return "\n".join(lines).encode() + b"\n"


def best(read: Callable[[], Any], times: int) -> tuple[float, Any]:
    """Return the time of the fastest run in seconds, and the result of the last run."""
    seconds, found = [], None
    for _ in range(times):
        del found
        start = time.perf_counter()
        found = read()
        seconds.append(time.perf_counter() - start)
    return min(seconds), found


def main(megabytes: int) -> None:
    """Write the file, read it with both readers, and print the speeds."""
    text = rows()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        with path.open("wb") as file:
            for _ in range(max(megabytes * 1_000_000 // len(text), 1)):
                file.write(text)
        size = path.stat().st_size / 1e6
        print(f"{size:.0f} MB")
        slow, (X, y) = best(lambda: load_svmlight_file(str(path)), 2)
        print(f"{'scikit-learn':28} {slow:8.3f} s {size / slow:8.0f} MB/s")
        for threads in sorted({1, get_threads()}):
            set_threads(threads)
            seconds, found = best(lambda: read_svmlight(path), 7)
            name = f"separatrix, {threads} thread{'s' * (threads > 1)}"
            rate = f"{size / seconds:8.0f} MB/s {slow / seconds:6.0f} times as fast"
            print(f"{name:28} {seconds:8.3f} s {rate}")
            same = all(
                np.array_equal(ours, theirs)
                for ours, theirs in [
                    (found.X.indptr, X.indptr),
                    (found.X.indices, X.indices),
                    (found.X.data, X.data),
                    (found.y, y),
                ]
            )
            print(f"{'':28} the same matrix: {'yes' if same else 'NO'}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
