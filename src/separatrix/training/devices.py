"""Where a batch of tasks is trained: by the compiled core, or on a device of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from separatrix.data import Dataset
from separatrix.device import DeviceObjective, open_device
from separatrix.device.rows import DeviceRows
from separatrix.errors import ParameterError
from separatrix.objective import Objective
from separatrix.training.task import Task

COPIES_OF_WEIGHTS = 16  # of all weights of a run: momentum, gradients, best and last sane weights
DEVICE_SOLVERS = ("gradient", "lbfgs")


def objective_maker(task: Task) -> Callable[..., Objective]:
    """Return the class of the objective of a task, with its device."""
    if task.device is None:
        return Objective
    if task.solver.name not in DEVICE_SOLVERS:
        raise ParameterError(
            f"device='{task.device}' cannot be used with solver '{task.solver.name}'. Solvers that "
            f"run on a device: {', '.join(DEVICE_SOLVERS)}.",
            parameter="device",
        )
    return partial(DeviceObjective, rows=DeviceRows(open_device(task.device, task.precision)))


def fit_on_device(
    tasks: Sequence[Task], runs: list[list[int]], data: Dataset
) -> list[list[list[int]]]:
    """Split the models of a batch into batches whose weights fit into the memory of its device."""
    task = tasks[runs[0][0]]
    if task.device is None:
        return [runs]
    kind = task.weight_type or data.dtype
    size = COPIES_OF_WEIGHTS * (data.n_features + 1) * task.n_outputs * np.dtype(kind).itemsize
    most = max(1, open_device(task.device).room() // size)
    return [runs[first : first + most] for first in range(0, len(runs), most)]
