"""Measure the time and memory of reading a CSV file, compared with pandas and scikit-learn.

    python benchmarks/csv_files.py [megabytes] [--repeats 5]

The file has eight columns of numbers, three of categories, one of dates and a label. Both sides
parse the numbers and dates and split the rows 80/10/10, stratified by label. Every run is a new
process. Its time is without imports; its peak memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import Send, in_child, resident

LIMIT = 600.0  # seconds per run


def write_file(path: Path, megabytes: int) -> None:
    """Write random rows, about 106 bytes each."""
    rng = np.random.default_rng(0)
    n = megabytes * 1_000_000 // 106
    days = (np.datetime64("2015-01-01") + rng.integers(0, 3000, n)).astype(str)
    towns = np.array([f"town {k}" for k in range(200)])
    columns = [
        *(np.char.mod("%.6f", 100.0 * rng.standard_normal(n)) for _ in range(5)),
        *(rng.integers(0, 100_000, n).astype(str) for _ in range(3)),
        rng.choice(np.array(["clerk", "smith", "farmer", "baker", "nurse"]), n),
        rng.choice(towns, n),
        rng.choice(np.array(["red", "green", "blue"]), n),
        days,
        rng.choice(np.array(["yes", "no"]), n),
    ]
    names = [*(f"x{k}" for k in range(8)), "job", "town", "colour", "day", "label"]
    with path.open("w") as file:
        file.write(",".join(names) + "\n")
        file.writelines(",".join(row) + "\n" for row in zip(*columns))


def read_here(path: Path) -> Callable[[], object]:
    from separatrix import load

    return lambda: load(path)


def read_with_pandas(path: Path) -> Callable[[], object]:
    import pandas as pd
    from sklearn.model_selection import train_test_split

    def read() -> object:
        frame = pd.read_csv(path, parse_dates=["day"])
        y = frame.pop("label")
        train, rest = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=0)
        held_out = train_test_split(rest, test_size=0.5, stratify=y.iloc[rest], random_state=0)
        return frame, y, train, held_out

    return read


READERS = {"separatrix": read_here, "pandas, scikit-learn": read_with_pandas}


def measure(send: Send, name: str, path: Path) -> None:
    """In a child process: send the time and the peak memory of a run."""
    read = READERS[name](path)
    start = time.perf_counter()
    found = read()
    send((time.perf_counter() - start, resident("VmHWM")))
    del found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("megabytes", type=int, nargs="?", default=46)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_file(path, given.megabytes)
        print(f"{path.stat().st_size / 1e6:.0f} MB, best of {given.repeats} runs")
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in READERS}
        for _ in range(given.repeats):  # in turns, because the speed of a machine varies
            for name in READERS:
                runs[name] += in_child(measure, (name, path), LIMIT)
        for name, found in runs.items():
            seconds, peaks = zip(*found)
            print(f"{name:22} {min(seconds):7.2f} s {min(peaks):7.0f} MiB")


if __name__ == "__main__":
    main()
