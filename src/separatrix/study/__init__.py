"""Studies: train a grid of configurations on the same data, store the runs and compare them."""

from typing import TYPE_CHECKING

from separatrix.lazy import lazily

if TYPE_CHECKING:
    from separatrix.study.logs.csv_log import CsvLog
    from separatrix.study.logs.log import Log, LogError, LogWarning, StudyInfo
    from separatrix.study.logs.mlflow_log import MlflowLog
    from separatrix.study.planning.grid import Between, log_range
    from separatrix.study.results.facts import (
        Comparison,
        DataFacts,
        Row,
        StudyFacts,
        StudyVerdict,
        Weights,
    )
    from separatrix.study.running.progress import StudyProgress
    from separatrix.study.store.database import Store
    from separatrix.study.store.errors import StoreError
    from separatrix.study.store.reader import read_facts
    from separatrix.study.study import Study

# The modules of the names. Imports are lazy, so that reading a store does not import solvers.
_PLACES = {
    "separatrix.study.logs.csv_log": ("CsvLog",),
    "separatrix.study.results.facts": (
        "Comparison",
        "DataFacts",
        "Row",
        "StudyFacts",
        "StudyVerdict",
        "Weights",
    ),
    "separatrix.study.planning.grid": ("Between", "log_range"),
    "separatrix.study.logs.log": ("StudyInfo", "Log", "LogError", "LogWarning"),
    "separatrix.study.logs.mlflow_log": ("MlflowLog",),
    "separatrix.study.store.reader": ("read_facts",),
    "separatrix.study.running.progress": ("StudyProgress",),
    "separatrix.study.store.database": ("Store",),
    "separatrix.study.store.errors": ("StoreError",),
    "separatrix.study.study": ("Study",),
}

__all__ = [
    "Between",
    "Comparison",
    "CsvLog",
    "DataFacts",
    "Log",
    "LogError",
    "LogWarning",
    "MlflowLog",
    "Row",
    "Store",
    "StoreError",
    "Study",
    "StudyFacts",
    "StudyInfo",
    "StudyProgress",
    "StudyVerdict",
    "Weights",
    "log_range",
    "read_facts",
]

__getattr__, __dir__ = lazily(__name__, _PLACES)
