"""Training: batches of models, the loop that trains them, histories and results."""

from separatrix.training.loop import run
from separatrix.training.recording.callbacks import Epoch, OnEpoch
from separatrix.training.recording.history import History
from separatrix.training.recording.progress import Interrupted, Progress
from separatrix.training.result import Result
from separatrix.training.stopping.stopping_rules import Stop
from separatrix.training.task import Task
from separatrix.training.train import train

__all__ = [
    "Epoch",
    "History",
    "Interrupted",
    "OnEpoch",
    "Progress",
    "Result",
    "Stop",
    "Task",
    "run",
    "train",
]
