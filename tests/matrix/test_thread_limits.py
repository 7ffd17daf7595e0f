"""Worker processes and other libraries set the number of threads, unless the user does."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from separatrix.matrix import Matrix, get_threads, set_threads
from separatrix.matrix.available_cores import available_cores

VARIABLES = ("SEPARATRIX_THREADS", "OMP_NUM_THREADS")
TELL = """
from threadpoolctl import threadpool_info, threadpool_limits
from separatrix.matrix import get_threads, set_threads

def tell():
    (found,) = [a for a in threadpool_info() if a["user_api"] == "separatrix"]
    assert found["num_threads"] == get_threads()
    print(get_threads(), end=" ")
"""
LIMITED = """
tell()
with threadpool_limits(1):
    tell()
    with threadpool_limits(limits={"separatrix": 2}):
        tell()
    tell()
with threadpool_limits(1, user_api="blas"):
    tell()
"""


def output_of(code: str | Path, **variables: str) -> str:
    """Return what a script prints in a new process whose threads only `variables` set."""
    others = {name: text for name, text in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, *([code] if isinstance(code, Path) else ["-c", TELL + code])],
        env=others | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OMP_NUM_THREADS": "5"}, "5 1 2 1 5"),
        ({"OMP_NUM_THREADS": "3,2"}, "3 1 2 1 3"),
        ({"OMP_NUM_THREADS": "many"}, "{cores} 1 2 1 {cores}"),
        ({"OMP_NUM_THREADS": "5", "SEPARATRIX_THREADS": "7"}, "7 7 7 7 7"),
    ],
)
def test_own_variable_beats_limits_and_limits_beat_openmp(
    variables: dict[str, str], expected: str
) -> None:
    assert output_of(LIMITED, **variables) == expected.format(cores=available_cores())


def test_set_threads_beats_limits_and_variables() -> None:
    code = "with threadpool_limits(1):\n    set_threads(4)\n    tell()\ntell()\nset_threads(6)\n"
    for variables in ({"OMP_NUM_THREADS": "5"}, {"SEPARATRIX_THREADS": "7"}):
        assert output_of(code + LIMITED, **variables) == "4 4 6 6 6 6 6"


@pytest.mark.slow
def test_joblib_workers_use_their_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    try:
        with parallel_config("loky", inner_max_num_threads=3):
            assert Parallel(n_jobs=2)(delayed(get_threads)() for _ in range(2)) == [3, 3]
        share = max(1, available_cores() // 2)
        with parallel_config("loky"):
            assert Parallel(n_jobs=2)(delayed(get_threads)() for _ in range(2)) == [share, share]
    finally:
        get_reusable_executor().shutdown(wait=True)


@pytest.mark.slow
def test_spawned_processes_read_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEPARATRIX_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(get_threads).get(timeout=120) == 3


FORKED = """
import os
cores = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(cores)})

def of_child():
    read, write = os.pipe()
    if not os.fork():
        os.write(write, str(get_threads()).encode())
        os._exit(0)
    os.wait()
    return os.read(read, 10).decode()

print(of_child(), end=" ")
os.sched_setaffinity(0, cores)
with threadpool_limits(9):
    print(of_child(), end=" ")
set_threads(4)
print(of_child())
"""
needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="the system has no fork"
)


@needs_fork
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity")
def test_forked_processes_read_the_affinity_unless_the_threads_are_set() -> None:
    assert output_of(FORKED) == "1 9 4"


POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from joblib import Parallel, delayed
from separatrix.matrix import get_threads, set_threads

def of_pool(method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.apply_async(get_threads).get(timeout=120)

def of_executor(method):
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        return pool.submit(get_threads).result(timeout=120)

if __name__ == "__main__":
    for start in (of_pool, of_executor):
        print(*[start(method) for method in multiprocessing.get_all_start_methods()])
    print(*Parallel(n_jobs=2, backend="multiprocessing")(delayed(get_threads)() for _ in "ab"))
    set_threads(4)
    if "fork" in multiprocessing.get_all_start_methods():
        print(of_pool("fork"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{}, {"OMP_NUM_THREADS": "3"}, {"SEPARATRIX_THREADS": "5"}])
def test_the_workers_of_a_pool_use_one_thread_unless_a_number_is_given(
    variables: dict[str, str], tmp_path: Path
) -> None:
    expected = next(iter(variables.values()), "1")
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    ways = multiprocessing.get_all_start_methods()
    lines = [" ".join([expected] * len(ways))] * 2 + [f"{expected} {expected}"]
    assert output_of(script, **variables).split("\n") == lines + ["4"] * ("fork" in ways)


LAZY = """
from threadpoolctl import threadpool_limits
import separatrix
with threadpool_limits(1):
    print(separatrix.get_threads())
"""


def test_limits_apply_before_the_first_use_if_threadpoolctl_was_imported_before() -> None:
    others = {name: text for name, text in os.environ.items() if name not in VARIABLES}
    code = [sys.executable, "-c", LAZY]
    assert subprocess.check_output(code, env=others | {"OMP_NUM_THREADS": "2"}) == b"1\n"


def product(_: int = 0) -> np.ndarray:
    X = Matrix(np.ones((4000, 200)))
    return X.scores(np.ones((200, 20, 1)), np.zeros((20, 1)))


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_forked_during_a_parallel_loop_does_not_hang() -> None:
    before = get_threads()
    set_threads(4)
    expected, over, context = product(), threading.Event(), multiprocessing.get_context("fork")

    def work() -> None:
        while not over.is_set():
            product()

    busy = threading.Thread(target=work)
    busy.start()
    try:
        for _ in range(5):
            with context.Pool(1) as pool:
                found: Any = pool.apply_async(product).get(timeout=60)
            np.testing.assert_array_equal(found, expected)
    finally:
        over.set()
        busy.join()
        set_threads(before)
