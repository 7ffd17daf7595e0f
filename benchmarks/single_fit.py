"""Compare the time of one fit, to a relative suboptimality of 1e-6, with all peers: `make bench`.

For each case (data, loss, penalty, C and kind of bias, see cases.py) it prints the time of every
peer that minimises the same objective. A table then lists the best peer, Separatrix, their ratio
and the required ratio. The time of Separatrix covers all of `fit`: checks, training and
certificate, by the same rule as for the peers. `proven` is the time at tol=1e-6, with a certified
gap. `memory` is the peak memory of this fit above the memory before it, in multiples of X.

Data sets are read from SEPARATRIX_DATA. Cases without data are skipped with a message.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
from cases import CASES, Case, fingerprint
from measure import (
    ACCURACY,
    Outcome,
    Send,
    Values,
    climb,
    contest,
    in_child,
    known,
    last_tolerance,
    peak_of,
    remember,
    timed,
)
from peers import OURS, PACKAGES, PEERS, PROVEN, Peer

import separatrix._core as _core
from separatrix import get_threads

EVERYONE = [*OURS, *PEERS]
LOOKING = 900.0  # time limit in seconds of each search for an optimum


def compete(
    send: Send, case: Case, index: int, optima: Values, start: float, repeats: int, tight: bool
) -> None:
    """In a child process: run one contestant; with `tight`, once and as precisely as possible."""
    peer, problem = EVERYONE[index], case.problem()
    prepared = peer.prepare(problem)
    peer.fit(peer.prepare(problem.small()), 1e-2)
    send(None)  # the time limit starts here

    def run(tol: float) -> tuple[float, Values, str]:
        seconds, model = timed(lambda: peer.fit(prepared, tol))
        return seconds, [problem.objective(*peer.read(model))], ""

    tolerances = [peer.reference or 0.0] if tight else peer.tolerances()
    climb(send, run, tolerances, start, optima, repeats)


def weigh(send: Send, case: Case, index: int) -> None:
    """In a child process: send the memory of one fit and of X, in MiB."""
    peer, problem = EVERYONE[index], case.problem()
    peer.fit(problem.small(), 1e-2)
    X = problem.X
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if sp.issparse(X) else X.nbytes
    send((peak_of(lambda: peer.fit(problem, 1e-6)), size / 2**20))


def optimum(case: Case, limit: float) -> float:
    """Return the lowest objective that the peers with a reference tolerance find."""
    key = f"optimum of {case.key} {fingerprint(case.data):08x}"
    if key not in known():
        found, notes = [], []
        for index, peer in enumerate(EVERYONE):
            if peer.reference and peer.installed and peer.applies(case.problem()):
                arguments = (case, index, [np.inf], 1.0, 1, True)
                outcome = contest(peer.name, compete, arguments, limit)
                found += [run.values[0] for run in outcome.runs]
                notes.append(f"{peer.name}: {outcome.note}")
        if not found:
            raise RuntimeError(
                f"No peer found the optimum of {case.key}: {'; '.join(notes) or 'none installed'}. "
                "Install the peers with 'make bench', or use a machine that is less busy."
            )
        remember(key, min(found))
    return known()[key]


def correct_optimum(case: Case, best: float, outcomes: list[Outcome]) -> float:
    """Return the optimum, corrected if a contestant got below it. Prints the correction."""
    lowest = min([best, *(run.values[0] for outcome in outcomes for run in outcome.runs)])
    if lowest < best * (1 - 1e-8):
        print(f"    the optimum was {(best - lowest) / best:.0e} too high; corrected")
        remember(f"optimum of {case.key} {fingerprint(case.data):08x}", lowest)
    return lowest


def race(case: Case, index: int, best: float, given: argparse.Namespace) -> Outcome:
    """Run one contestant, starting at the tolerance that was enough last time."""
    peer: Peer = EVERYONE[index]
    key = f"{peer.name}, {case.key}"
    arguments = (case, index, [best], last_tolerance(key, peer.first), given.repeats, False)
    outcome = contest(peer.name, compete, arguments, given.limit)
    there = outcome.best([best])
    if there is not None:
        remember(f"tolerance of {key}", there.tol)
    return outcome


def memory(case: Case, index: int, limit: float) -> str:
    """Return the memory of one fit of Separatrix, in multiples of X."""
    for message in in_child(weigh, (case, index), limit):
        if isinstance(message, tuple):
            more, size = message
            return f"{more / size:.2f} X"
    return "-"


def report(case: Case, given: argparse.Namespace) -> str:
    """Print the times of all contestants. Return the case's line of the table."""
    best, problem = optimum(case, LOOKING), case.problem()
    print(f"\n{case.key}, P = {best:.9f}", flush=True)
    outcomes = {}
    for index, peer in enumerate(EVERYONE):
        if peer.installed and peer.applies(problem):
            outcomes[index] = race(case, index, best, given)
            print(f"    {peer.name:<32}{outcomes[index].line([best])}", flush=True)
    best = correct_optimum(case, best, list(outcomes.values()))
    mine = [index for index in outcomes if EVERYONE[index] in OURS]
    held = memory(case, mine[0], given.limit)
    return line(case, best, {one.name: one for one in outcomes.values()}, held)


def line(case: Case, best: float, outcomes: dict[str, Outcome], held: str) -> str:
    """Format the case's line of the table."""
    seconds = {name: run.seconds for name, one in outcomes.items() if (run := one.best([best]))}
    own, proven = (seconds.pop(name, None) for name in (OURS[0].name, PROVEN))
    fastest = min(seconds, key=seconds.__getitem__, default=None)
    ratio = f"{seconds[fastest] / own:.1f}x" if fastest and own else "-"
    times = (seconds[fastest] if fastest else None, own, proven)
    return (
        f"{case.key:<50}{fastest or 'none':<26}"
        + "".join(f"{'-' if one is None else f'{one:.3f}':>9}" for one in times)
        + f"{ratio:>9}{f'{case.target:g}x':>8}{held:>9}"
    )


def chosen(words: list[str]) -> list[Case]:
    """Return the cases whose names contain all words and whose data is available."""
    cases = []
    for case in CASES:
        if all(word.lower() in case.key.lower().split() for word in words):
            try:
                case.problem()
                cases.append(case)
            except FileNotFoundError as error:
                print(f"Skipped {case.key}: {error}.")
    return cases


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--rows", nargs="*", default=[], help="words in the names of the cases, such as a9a l1"
    )
    options.add_argument("--repeats", type=int, default=3, help="number of runs (the best counts)")
    options.add_argument(
        "--limit", type=float, default=120.0, help="time limit per contestant in seconds"
    )
    options.add_argument("--quick", action="store_true", help="one run each, at most 15 seconds")
    given = options.parse_args()
    if given.quick:
        given.repeats, given.limit = 1, 15.0
    print(
        f"{get_threads()} threads, {_core.instruction_set()}; seconds to a relative suboptimality "
        f"of {ACCURACY:g}, best of {given.repeats}"
    )
    for module, package in PACKAGES.items():
        if find_spec(module) is None:
            print(f"Skipped {package}: it is not installed.")
    lines = [report(case, given) for case in chosen(given.rows)]
    print(f"\n{'':<50}{'best peer':<26}{'seconds':>9}{'ours':>9}{'proven':>9}", end="")
    print(f"{'ratio':>9}{'asked':>8}{'memory':>9}")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
