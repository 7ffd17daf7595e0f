"""Divide the runs of a study into batches that share passes and fit into memory."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.study.planning.tasks import StudyTasks

MEMORY = 1 << 30  # bytes for one batch
# Arrays shaped like the weights: the model, its start, its gradient, the state of its solver, the
# best and the last finite weights, and copies of them in a checkpoint.
WEIGHT_ARRAYS, SCORE_ARRAYS, EPOCH_ARRAYS = 16, 3, 20


def split_into_batches(planned: StudyTasks, memory: int = MEMORY) -> list[list[int]]:
    """Return the runs of every batch. Runs that differ only in their epochs stay together."""
    batches: list[list[int]] = []
    for models in planned.sharing:
        batch: list[int] = []
        room = memory
        for runs in models:
            needed = model_bytes(planned, runs)
            if batch and needed > room:
                batches.append(sorted(batch))
                batch, room = [], memory
            batch += runs
            room -= needed
        batches.append(sorted(batch))
    return batches


def model_bytes(planned: StudyTasks, runs: Sequence[int]) -> int:
    """Estimate the memory of one model, whose history contains these runs."""
    tasks = [planned.tasks[run] for run in runs]
    n, d, K = planned.data.n_samples, planned.data.n_features + 1, tasks[0].n_outputs
    epochs = max(task.stop.epochs[0][0] for task in tasks)
    weights, scores = (WEIGHT_ARRAYS + len(tasks)) * d * K, SCORE_ARRAYS * len(tasks) * n * K
    if tasks[0].device is not None:  # which computes the scores in pieces
        scores = 0
    return 8 * (weights + scores + EPOCH_ARRAYS * min(epochs, 100_000))
