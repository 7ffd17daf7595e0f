"""A source of blocks that are the partitions of a Dask collection.

A pass is one task for each partition, on the worker that holds it, and a tree of sums of their
results. The shape of the tree depends on the number of blocks alone, so the sums have the same bits
in every pass, on every cluster and in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from separatrix.cluster.library import Future
from separatrix.cluster.partitions import Partitions
from separatrix.cluster.worker_tasks import Step, Work, add, apply, apply_in_turn, itself
from separatrix.data import FAN_IN, Block, BlockFacts
from separatrix.matrix import Array


class DaskBlocks:
    """Blocks that are made from partitions for every pass, and never kept.

    `partitions` are shared by all sources that were made from each other by `transform`. `steps`
    are the functions that `transform` was given, and `each` holds their values for each block.
    """

    def __init__(
        self,
        partitions: Partitions,
        facts: BlockFacts,
        steps: tuple[Step, ...] = (),
        each: tuple[list[Future], ...] = (),
    ) -> None:
        self.partitions, self.facts, self._steps, self._each = partitions, facts, steps, each

    def map(self, f: Callable[..., Any], *small: Any) -> list[Any]:
        def submit(work: Any) -> Future:
            return self.partitions.submit(itself, self._apply(work))

        return self.partitions.run(submit, self._work(f, small))

    def sum(self, f: Callable[..., tuple[Array, ...]], *small: Any) -> tuple[Array, ...]:
        def submit(work: Any) -> Future:
            parts = self._apply(work)
            while len(parts) > 1:
                groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
                parts = [self.partitions.submit(add, group) for group in groups]
            return parts[0]

        return self.partitions.run(submit, self._work(f, small))

    def fold(self, f: Callable[..., Any], state: Any, *small: Any) -> Any:
        def submit(work: Any) -> Future:
            now = state
            for number, arguments in enumerate(self._arguments()):
                arguments = *arguments, now, number
                now = self.partitions.submit_at(number, apply_in_turn, *arguments, work=work)
            return now

        return self.partitions.run(submit, self._work(f, small))

    def transform(
        self,
        f: Callable[..., Block],
        *small: Any,
        facts: BlockFacts,
        each: Sequence[Any] | None = None,
    ) -> DaskBlocks:
        if each is None:
            step, values = Step(f, small), self._each
        else:
            step = Step(f, small, own=len(self._each))
            values = (*self._each, self.partitions.send(each))
        return DaskBlocks(self.partitions, facts, (*self._steps, step), values)

    def only_block(self) -> Block | None:
        return None

    def _work(self, f: Callable[..., Any], small: tuple[Any, ...]) -> Work:
        return Work(f, small, self._steps)

    def _arguments(self) -> list[tuple[Any, ...]]:
        return list(zip(self.partitions.X, self.partitions.labels, *self._each))

    def _apply(self, work: Any) -> list[Future]:
        return self.partitions.map(apply, self._arguments(), work=work)
