"""Measure the time to a given accuracy, with each contestant in a separate process.

A contestant runs at decreasing tolerances, each time from the start, until its result is within
ACCURACY of the optimum. The tolerance is then loosened by half decades as long as the result stays
accurate enough. The fastest accurate run counts, the best of several. A contestant that exceeds its
time limit is stopped, and its best result so far is reported.

The optima, and the tolerance that each contestant needed, are kept in a file in the system's
temporary folder, so that later runs need not search for them again.
"""

from __future__ import annotations

import ctypes
import gc
import json
import multiprocessing
import os
import re
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

ACCURACY = 1e-6
KNOWN = Path(tempfile.gettempdir()) / "separatrix-benchmarks.json"

Values = list[float]  # objectives of one or several fits
Send = Callable[[Any], None]


def known() -> dict[str, Any]:
    return json.loads(KNOWN.read_text()) if KNOWN.exists() else {}


def remember(key: str, value: Any) -> None:
    KNOWN.write_text(json.dumps(known() | {key: value}, indent=1, sort_keys=True))


def gap(values: Values, optima: Values) -> float:
    """Return the largest relative distance from the optimum."""
    return max((value - best) / best for value, best in zip(values, optima, strict=True))


@dataclass(frozen=True)
class Run:
    """One run: its tolerance, time, objectives and an additional remark."""

    tol: float
    seconds: float
    values: Values
    said: str = ""


@dataclass
class Outcome:
    """All runs of one contestant, and the reason why it stopped."""

    name: str
    runs: list[Run] = field(default_factory=list)
    note: str = ""

    def best(self, optima: Values) -> Run | None:
        """Return the fastest run within ACCURACY, if there is one."""
        there = [run for run in self.runs if gap(run.values, optima) <= ACCURACY]
        return min(there, key=lambda run: run.seconds, default=None)

    def line(self, optima: Values) -> str:
        """Format seconds, accuracy and tolerance, or the best accuracy reached."""
        best = self.best(optima)
        if best is not None:
            reached = max(gap(best.values, optima), 0.0)
            return f"{best.seconds:>10.3f}{reached:>10.0e}   tol={best.tol:.1e}{best.said}"
        if not self.runs:
            return f"{'-':>10}{'':>10}   {self.note}"
        nearest = min(self.runs, key=lambda run: gap(run.values, optima))
        far = f"not reached in {nearest.seconds:.1f} s, tol={nearest.tol:.1e}"
        return f"{'-':>10}{gap(nearest.values, optima):>10.0e}   {far}; {self.note}"


def _work(pipe: Connection, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.setpgid(0, 0)  # a separate group, which includes the workers that it starts
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"  # for its workers, which warn when they are ended
    try:
        work(pipe.send, *arguments)
    except Exception as error:  # a failing peer becomes a line of the table
        pipe.send(f"failed: {type(error).__name__}: {str(error).splitlines()[0][:80]}")
    pipe.close()


def in_child(work: Callable[..., None], arguments: tuple[Any, ...], limit: float) -> Iterator[Any]:
    """Yield what `work` sends from a new process, until it ends or exceeds the time limit.

    The time is measured from the first message.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(theirs, work, arguments), daemon=False)
    child.start()
    theirs.close()
    deadline = None
    try:
        while ours.poll(None if deadline is None else max(0.0, deadline - time.monotonic())):
            yield ours.recv()
            deadline = deadline or time.monotonic() + limit
        yield f"stopped after {limit:.0f} s"
    except EOFError:
        child.join(10.0)
    finally:
        # not SIGKILL: joblib's resource tracker must be able to clean up after the workers
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        child.join()


def contest(
    name: str, work: Callable[..., None], arguments: tuple[Any, ...], limit: float
) -> Outcome:
    """Collect the runs of one contestant."""
    outcome = Outcome(name)
    for message in in_child(work, arguments, limit):
        if isinstance(message, Run):
            outcome.runs.append(message)
        elif message is not None:
            outcome.note = message
    outcome.note = outcome.note or ("" if outcome.runs else "its process ended unexpectedly")
    return outcome


def climb(
    send: Send,
    run: Callable[[float], tuple[float, Values, str]],
    tolerances: list[float],
    start: float,
    optima: Values,
    repeats: int,
) -> None:
    """Tighten the tolerance until ACCURACY, loosen it while possible, then repeat the best run.

    `start` is the first tolerance, which was enough in an earlier run.
    """
    tried: dict[int, Run] = {}

    def reached(rung: int) -> bool:
        tried[rung] = Run(tolerances[rung], *run(tolerances[rung]))
        send(tried[rung])
        return gap(tried[rung].values, optima) <= ACCURACY

    rung = int(np.argmin(np.abs(np.log(np.array(tolerances) / start))))
    while not reached(rung):
        if rung == len(tolerances) - 1:
            send("tightest tolerance reached")
            return
        rung = min(rung + 2, len(tolerances) - 1)
    while rung - 1 >= 0 and rung - 1 not in tried and reached(rung - 1):
        rung -= 1
    there = [rung for rung, one in tried.items() if gap(one.values, optima) <= ACCURACY]
    best = min(there, key=lambda rung: tried[rung].seconds)
    for _ in range(repeats - 1):
        reached(best)


def last_tolerance(who: str, otherwise: float) -> float:
    """Return the tolerance that was enough in the last run, if there was one."""
    return known().get(f"tolerance of {who}", otherwise)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    made = call()
    return time.perf_counter() - begin, made


def resident(which: str) -> float:
    """Return the memory of this process in MiB: now (VmRSS) or its maximum so far (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(rf"{which}:\s+(\d+) kB", status)[0]) / 1024


def peak_of(call: Callable[[], Any]) -> float:
    """Return the peak memory of a call in MiB, above the memory before it; nan if unknown.

    Freed memory is returned to the system first. Otherwise the call could reuse it unnoticed.
    """
    forget = Path("/proc/self/clear_refs")
    if not forget.exists():
        return np.nan
    gc.collect()
    if give_back := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc only
        give_back(0)
    forget.write_text("5")  # resets the maximum
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before
