"""Which runs are trained together: all that can share a pass, cut to the memory there is."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.study.plan import Work
from separatrix.training.batching import share_passes
from separatrix.training.task import Task

MEMORY = 1 << 30  # bytes that one batch may take
# Arrays shaped like the weights: the model, its start, its gradient, what the rule remembers, the
# best and the last sane weights, and copies of them in a checkpoint.
OF_WEIGHTS, OF_SCORES, OF_EPOCHS = 16, 3, 20


def batches(work: Work, memory: int = MEMORY) -> list[list[int]]:
    """The runs (numbers) of every batch; those that differ only in their epochs stay together."""
    out: list[list[int]] = []
    for models in share_passes(work.tasks, work.own_rows):
        taken: list[int] = []
        room = memory
        for runs in models:
            needed = bytes_of([work.tasks[run] for run in runs], work)
            if taken and needed > room:
                out.append(sorted(taken))
                taken, room = [], memory
            taken += runs
            room -= needed
        out.append(sorted(taken))
    return out


def bytes_of(tasks: Sequence[Task], work: Work) -> int:
    """About how much memory a model takes that is read off for these tasks."""
    n, d, K = work.data.n_samples, work.data.n_features + 1, tasks[0].n_outputs
    epochs = max(task.stop.epochs[0][0] for task in tasks)
    weights, scores = (OF_WEIGHTS + len(tasks)) * d * K, OF_SCORES * len(tasks) * n * K
    return 8 * (weights + scores + OF_EPOCHS * min(epochs, 100_000))
