"""The partitions of a data set on the workers, and the tasks of a pass over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from separatrix.cluster.compact import compact
from separatrix.cluster.failures import explain, refuse_repeat, scheduler_is_gone
from separatrix.cluster.library import Client, Future, pickled, wait
from separatrix.cluster.worker_tasks import itself

PATIENCE = 1.0  # seconds between two questions whether all workers still exist
TRANSFER = 60.0  # seconds after which a result that does not arrive is asked for again
REPEATS = 3  # workers that may be lost in one pass
LARGE = 1 << 16  # bytes of arguments that are sent once and not with every task

_sent = 0


def passes_sent() -> int:
    """Return how many passes this process has sent to clusters."""
    return _sent


class Partitions:
    """The partitions of X and of the labels, as futures, and the workers that hold them.

    The tasks of a pass run only on the worker that holds the partition, so no partition is copied
    to an idle worker. If a worker is lost, the scheduler computes its partitions again from their
    graph, and the pass is repeated.
    """

    def __init__(self, client: Client, X: list[Future], labels: list[Future]) -> None:
        self.client, self.X, self.labels = client, X, labels
        self._holders: list[str] = []
        self._threads: dict[str, int] = {}

    def run(self, submit: Callable[[Any], Future], work: Any) -> Any:
        """Return the result of a pass: `submit(work)` sends its tasks and returns the last one."""
        global _sent
        with explain(self.client):
            packed: Any = pickled(work)
            for _ in range(REPEATS + 1):
                _sent += 1
                if not self._holders:
                    self._find_holders()
                sent = self.submit(itself, packed) if len(packed) > LARGE else packed
                finished, result = self._wait_for(submit(sent))
                if finished:
                    return result
                self._holders = []
            refuse_repeat(REPEATS + 1)

    def map(
        self, f: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], work: Any
    ) -> list[Future]:
        """Send f(*arguments) for every partition to the workers that hold them."""
        found: dict[int, Future] = {}
        for holder in dict.fromkeys(self._holders):
            numbers = [k for k, other in enumerate(self._holders) if other == holder]
            futures = self.client.map(
                f,
                *zip(*[arguments[k] for k in numbers]),
                work=work,
                threads=self._threads[holder],
                workers=[holder],
                pure=False,
            )
            found.update(zip(numbers, futures))
        return [found[k] for k in range(len(self._holders))]

    def submit_at(self, number: int, f: Callable[..., Any], *arguments: Any, work: Any) -> Future:
        """Send one task to the worker that holds a partition."""
        holder = self._holders[number]
        return self.client.submit(
            f,
            *arguments,
            work=work,
            threads=self._threads[holder],
            workers=[holder],
            pure=False,
        )

    def submit(self, f: Callable[..., Any], *arguments: Any) -> Future:
        """Send one task to any worker."""
        return self.client.submit(f, *arguments, pure=False)

    def send(self, each: Sequence[Any]) -> list[Future]:
        """Send a value for each partition to its worker; a lost worker's values are sent again."""
        with explain(self.client):
            if not self._holders:
                self._find_holders()
            return [
                self.client.submit(
                    itself, compact(value), workers=[holder], allow_other_workers=True, pure=False
                )
                for value, holder in zip(each, self._holders)
            ]

    def _find_holders(self) -> None:
        """Wait until all partitions exist, and find the worker and the threads of each."""
        for future in [*self.X, *self.labels]:
            while not wait(future, PATIENCE):
                scheduler_is_gone(self.client)
            if future.status in ("error", "cancelled", "lost"):
                future.result()
        places = self.client.who_has(self.X)
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        holders = [next((w for w in places[f.key] if w in workers), "") for f in self.X]
        if not all(holders):  # lost just now
            return self._find_holders()
        self._holders = holders
        self._threads = {
            w: max(1, workers[w]["nthreads"] // min(workers[w]["nthreads"], holders.count(w)))
            for w in set(holders)
        }

    def _wait_for(self, future: Future) -> tuple[bool, Any]:
        """Return (True, result), or (False, None) if a worker of a pass was lost."""
        while True:
            if wait(future, PATIENCE):
                try:
                    return True, future.result(timeout=TRANSFER)
                except TimeoutError:
                    if future.status == "error":
                        raise
            scheduler_is_gone(self.client)
            if not set(self._holders) <= set(self.client.scheduler_info(n_workers=-1)["workers"]):
                return False, None
