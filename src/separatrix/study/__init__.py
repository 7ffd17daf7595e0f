"""A grid of configurations over the same data, trained together, kept, compared and judged."""

from separatrix.study.csv_log import CsvLog
from separatrix.study.facts import Comparison, DataFacts, Row, StudyFacts, Verdict, Weights
from separatrix.study.grid import Between, log_range
from separatrix.study.logs import About, Log, LogTrouble, LogWarning
from separatrix.study.mlflow_log import MlflowLog
from separatrix.study.reading import read_facts
from separatrix.study.runner import Standing
from separatrix.study.store import Store, StoreError
from separatrix.study.study import Study

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
