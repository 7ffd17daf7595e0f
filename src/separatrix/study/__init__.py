"""A grid of configurations over the same data, trained together, kept, compared and judged."""

from typing import TYPE_CHECKING

from separatrix.lazy import lazily

if TYPE_CHECKING:
    from separatrix.study.facts import Comparison, DataFacts, Row, StudyFacts, Verdict, Weights
    from separatrix.study.grid import Between, log_range
    from separatrix.study.logs.csv_log import CsvLog
    from separatrix.study.logs.log import About, Log, LogTrouble, LogWarning
    from separatrix.study.logs.mlflow_log import MlflowLog
    from separatrix.study.runner import Standing
    from separatrix.study.store.database import Store, StoreError
    from separatrix.study.store.reading import read_facts
    from separatrix.study.study import Study

# Where each name is: what only reads a store does not import what trains.
_PLACES = {
    "separatrix.study.logs.csv_log": ("CsvLog",),
    "separatrix.study.facts": (
        "Comparison",
        "DataFacts",
        "Row",
        "StudyFacts",
        "Verdict",
        "Weights",
    ),
    "separatrix.study.grid": ("Between", "log_range"),
    "separatrix.study.logs.log": ("About", "Log", "LogTrouble", "LogWarning"),
    "separatrix.study.logs.mlflow_log": ("MlflowLog",),
    "separatrix.study.store.reading": ("read_facts",),
    "separatrix.study.runner": ("Standing",),
    "separatrix.study.store.database": ("Store", "StoreError"),
    "separatrix.study.study": ("Study",),
}

__all__ = [
    "About",
    "Between",
    "Comparison",
    "CsvLog",
    "DataFacts",
    "Log",
    "LogTrouble",
    "LogWarning",
    "MlflowLog",
    "Row",
    "Standing",
    "Store",
    "StoreError",
    "Study",
    "StudyFacts",
    "Verdict",
    "Weights",
    "log_range",
    "read_facts",
]

__getattr__, __dir__ = lazily(__name__, _PLACES)
