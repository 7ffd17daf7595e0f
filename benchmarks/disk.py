"""Training from disk under a memory limit: rate of the passes, and many models in one pass.

    python benchmarks/disk.py [--gigabytes 5] [--limit 500] [--features 200] [--folder DIR]
                              [--only convert|measure]

Makes a source of random numbers, converts it, and trains from the blocks, with the conversion and
the training in a memory cgroup (version 1 or 2, which needs root). Before every timed pass the
pages of all blocks are evicted. The rate of the disk is measured in the same run, by reading the
same files past the page cache (O_DIRECT). Everything is removed at the end.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

PIECE = 1 << 23


def make_source(path: Path, rows: int, features: int) -> None:
    """Write rows of random features, with the label in the last column."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(features)
    array = np.lib.format.open_memmap(path, "w+", np.float64, (rows, features + 1))
    step = max((1 << 26) // (8 * features), 1)
    for first in range(0, rows, step):
        X = rng.standard_normal((min(step, rows - first), features))
        array[first : first + len(X), :-1] = X
        array[first : first + len(X), -1] = X @ w + 5.0 * rng.standard_normal(len(X)) > 0.0
    array.flush()
    del array
    os.sync()
    evict([path])


def evict(files: list[Path]) -> None:
    """Drop the pages of files from the page cache."""
    for file in files:
        handle = os.open(file, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def read_past_cache(file: Path) -> int:
    """Read a file with O_DIRECT, and return the number of bytes."""
    buffer = mmap.mmap(-1, PIECE)
    handle = os.open(file, os.O_RDONLY | os.O_DIRECT)
    done = 0
    while count := os.preadv(handle, [buffer], done):
        done += count
        if count % 4096:  # the end of the file
            break
    os.close(handle)
    return done


def disk_rate(files: list[Path], readers: int) -> float:
    """Return the rate in MB/s of some readers together."""
    began = time.perf_counter()
    with ThreadPoolExecutor(readers) as pool:
        done = sum(pool.map(read_past_cache, files))
    return done / 1e6 / (time.perf_counter() - began)


@contextmanager
def memory_group(limit: int) -> Iterator[Path | None]:
    """Make a cgroup with a memory limit; None where that is not possible."""
    for root, name in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = root / f"separatrix-{os.getpid()}"
        try:
            group.mkdir()
            (group / name).write_text(str(limit))
        except OSError:
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    yield None


def in_group(group: Path | None, work: str, *words: str) -> dict[str, Any]:
    """Run a part of this script in a process of the group, and return what it prints."""

    def join() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    command = [sys.executable, __file__, "--work", work, *words]
    found = subprocess.run(command, preexec_fn=join, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(f"{work} ended with {found.returncode}: {found.stderr[-2000:]}")
    return json.loads(found.stdout.splitlines()[-1])


def peak_resident() -> float:
    """Return the largest resident set in MB, in which pages of the mapped source count too."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def work_convert(source: str, folder: str, limit: str) -> dict[str, Any]:
    """Convert the source."""
    import separatrix as sx

    began = time.perf_counter()
    sx.convert(
        source,
        folder,
        memory=int(limit),
        label=-1,
        split=(1, 0, 0),
        settings={"standardise": False},
    )
    return {"seconds": time.perf_counter() - began, "peak": peak_resident()}


def work_fit(folder: str, limit: str, count: str) -> dict[str, Any]:
    """Fit some logistic models together, and time every pass, each with an empty page cache."""
    import separatrix as sx
    from separatrix.data.on_disk.blocks_on_disk import BlocksOnDisk

    rows = sx.open(folder, memory=int(limit))
    files = [Path(folder) / file.name for file in rows.manifest.files]
    seconds: dict[str, list[float]] = {}

    def timed(name: str) -> Any:
        original = getattr(BlocksOnDisk, name)

        def call(self: Any, f: Any, *small: Any) -> Any:
            evict(files)
            began = time.perf_counter()
            found = original(self, f, *small)
            seconds.setdefault(f.__name__, []).append(time.perf_counter() - began)
            return found

        return call

    for name in ("map", "sum", "fold"):
        setattr(BlocksOnDisk, name, timed(name))
    Cs = np.logspace(-7, -5, int(count))[::-1]
    most = 500 if count == "1" else 1
    models = [sx.LogisticRegression(C=C, solver="lbfgs", tol=1e-6, max_iter=most) for C in Cs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one iteration is not enough
        sx.fit_many(models, rows)
    of_labels = ("weight_and_count", "total_weight")
    return {
        "seconds": sum(map(sum, seconds.values())),
        "passes": sum(len(own) for name, own in seconds.items() if name not in of_labels),
        "pass": float(np.median(seconds["loss_and_gradient"])),
        "others": {name: float(np.median(own)) for name, own in seconds.items()},
        "gap": max(model.certificate_.relative_gap for model in models),
        "peak": peak_resident(),
    }


WORK = {"convert": work_convert, "fit": work_fit}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--limit", type=float, default=500.0, help="memory in MB")
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--only", choices=["convert", "measure"], help="one of the two halves")
    given = parser.parse_args()
    size, limit = given.gigabytes * 1e9, int(given.limit * 1e6)
    folder = Path(given.folder or tempfile.mkdtemp(prefix="separatrix-disk-"))
    folder.mkdir(exist_ok=True)
    if given.only != "measure" and shutil.disk_usage(folder).free < 2.2 * size:
        raise SystemExit(f"{folder} needs {2.2 * given.gigabytes:.1f} GB of free space.")
    source, blocks = folder / "rows.npy", str(folder / "blocks")
    try:
        with memory_group(limit) as group:
            where = "a cgroup" if group else "no cgroup could be made: peak memory is reported"
            print(f"{given.gigabytes:g} GB, limit {given.limit:g} MB ({where})")
            if not Path(blocks).exists():
                make_source(source, int(size / 8 / (given.features + 1)), given.features)
                found = in_group(group, "convert", str(source), blocks, str(limit))
                rate = size / 1e6 / found["seconds"]
                print(
                    f"convert: {found['seconds']:.1f} s, {rate:.0f} MB/s, "
                    f"peak {found['peak']:.0f} MB"
                )
                source.unlink()
            if given.only != "convert":
                measure(group, Path(blocks), limit)
    finally:
        if given.only != "convert":
            shutil.rmtree(folder)


def measure(group: Path | None, blocks: Path, limit: int) -> None:
    """Print the rates of the disk and of the passes, and the times of one and of 16 models."""
    from separatrix.data.on_disk import read_manifest

    manifest = read_manifest(blocks)
    files = [blocks / file.name for file in manifest.files]
    size = sum(file.size for file in manifest.files)
    print(f"blocks: {len(manifest.parts['train'])} of {manifest.parts['train'][0].rows} rows")
    found = {}
    for count in (1, 16):
        evict(files)
        base = disk_rate(files, 1)
        found[count] = each = in_group(group, "fit", str(blocks), str(limit), str(count))
        rate = size / 1e6 / each["pass"]
        print(f"disk, sequential, O_DIRECT: {base:.0f} MB/s")
        print(
            f"losses and gradients of {count} logistic models: {each['pass']:.2f} s a pass, "
            f"{rate:.0f} MB/s, {rate / base:.0%} of the disk, peak {each['peak']:.0f} MB"
        )
        rate = each["passes"] * size / 1e6 / each["seconds"]
        print(
            f"fit (lbfgs): {each['seconds']:.1f} s, {each['passes']} passes, {rate:.0f} MB/s, "
            f"{rate / base:.0%} of the disk, gap {each['gap']:.1e}"
        )
        passes = (f"{name} {seconds:.2f}" for name, seconds in each["others"].items())
        print(f"seconds a pass: {', '.join(passes)}", flush=True)
    print(f"16 models / 1 model: {found[16]['pass'] / found[1]['pass']:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        print(json.dumps(WORK[sys.argv[2]](*sys.argv[3:])))
    else:
        main()
