"""Log every epoch to MLflow: a run for the study, with a child run for every run."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from separatrix.study.logs.log import LogError, StudyInfo
from separatrix.text import describe_configuration, value_cell
from separatrix.training import Epoch

EXPERIMENT, VARIABLE = "separatrix", "MLFLOW_EXPERIMENT_NAME"
AT_ONCE, PARAMETERS = 1000, 100  # limits of one request: metrics and tags; parameters
LEFT_OUT = ("seconds",)  # every metric has a timestamp
# Give up after seconds if a server does not answer; the defaults of MLflow wait for minutes. Do
# not print the addresses of runs to standard output.
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
LAST, STUDY, IDENTITY = "separatrix.epochs", "separatrix.study", "separatrix.identity"
CONFIGURATION, SEED = "separatrix.configuration", "separatrix.seed"
PARENT = "mlflow.parentRunId"
DATABASES = ("sqlite", "postgresql", "mysql", "mssql")  # these need SQLAlchemy

Key: TypeAlias = tuple[int, int]  # configuration and seed


class MlflowLog:
    """Log every epoch of a study to an MLflow tracking server (extra `mlflow`).

    The study is a run, and every configuration with a seed is a child run. Parameters become
    parameters, measures become metrics, and the fingerprint of the data and the versions become
    tags. Metrics are sent in batches, about once a second. A resumed study continues its runs. If
    the package or the server is missing, there is a warning, and the study continues.

    Parameters
    ----------
    uri : the address of the server, or of a database ("sqlite:///mlflow.db", which needs the full
        package `mlflow`)
    experiment : the name of the experiment, by default MLFLOW_EXPERIMENT_NAME or "separatrix"
    """

    def __init__(self, uri: str, experiment: str | None = None) -> None:
        self.place = uri
        self.experiment = experiment or os.environ.get(VARIABLE) or EXPERIMENT
        self.children: dict[Key, str] = {}
        self.last: dict[Key, int] = {}  # number of epochs of every child
        self.pending: dict[Key, list[Epoch]] = {}

    def begin(self, about: StudyInfo) -> None:
        """Connect, and find or create the run of the study."""
        needed = "mlflow-skinny" if urlsplit(self.place).scheme not in DATABASES else "mlflow"
        if find_spec("mlflow") is None or (needed == "mlflow" and find_spec("sqlalchemy") is None):
            raise LogError(
                f"Nothing is logged to {self.place}: the package {needed} is not installed. "
                f"Install it: pip install {needed}."
            )
        from mlflow.tracking import MlflowClient

        try:
            with _settled():
                self.client = MlflowClient(tracking_uri=self.place)
                self._begin(about)
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise LogError(f"MLflow cannot be used at {self.place}: {reason}.") from error

    def tell(self, epochs: Sequence[Epoch]) -> None:
        """Keep an epoch until the next batch is sent."""
        for epoch in epochs:
            key = _key(epoch)
            if epoch.epoch > self.last.get(key, 0):
                self.pending.setdefault(key, []).append(epoch)

    def flush(self) -> None:
        """Send the epochs that were kept."""
        now = int(time.time() * 1000)
        with _settled():
            for key, epochs in self.pending.items():
                if key not in self.children:
                    self.children[key] = self._child(epochs[0])
                self._send(self.children[key], epochs, now)
                self.last[key] = epochs[-1].epoch
        self.pending = {}

    def end(self, finished: bool) -> None:
        """Close all runs. If the study is resumed, they are opened again."""
        self.flush()
        with _settled():
            for run in (*self.children.values(), self.parent):
                self.client.set_terminated(run, "FINISHED" if finished else "KILLED")

    def _begin(self, about: StudyInfo) -> None:
        known = self.client.get_experiment_by_name(self.experiment)
        self.where = (
            known.experiment_id if known else self.client.create_experiment(self.experiment)
        )
        self.shared = {"estimator": about.estimator, **about.parameters}
        self.tags = {
            STUDY: about.name,
            "separatrix.data": about.data,
            "separatrix.fingerprint": about.fingerprint,
            **{f"version.{name}": version for name, version in about.versions.items()},
        }
        mark = {IDENTITY: about.identity}
        earlier = self._search({STUDY: about.name} | mark) if about.resumed else []
        if not earlier:
            self.parent = self._create(about.name, self.shared, mark)
            return
        self.parent = earlier[0].info.run_id  # the latest is first
        for run in self._search({PARENT: self.parent}):
            tags = run.data.tags
            key = int(tags[CONFIGURATION]), int(tags[SEED])
            self.children[key], self.last[key] = run.info.run_id, int(tags.get(LAST, 0))
        for run_id in (self.parent, *self.children.values()):
            self.client.update_run(run_id, status="RUNNING")

    def _search(self, tags: Mapping[str, str]) -> list[Any]:
        wanted = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
        out: list[Any] = []
        token: str | None = None
        while True:
            page = self.client.search_runs([self.where], wanted, page_token=token)
            out += page
            token = page.token
            if not token:
                return out

    def _create(self, name: str, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> str:
        from mlflow.entities import Param

        made = self.client.create_run(self.where, run_name=name, tags={**self.tags, **tags})
        run: str = made.info.run_id
        given = [Param(key, str(value_cell(key, value))) for key, value in parameters.items()]
        for start in range(0, len(given), PARAMETERS):
            self.client.log_batch(run, params=given[start : start + PARAMETERS])
        return run

    def _child(self, first: Epoch) -> str:
        return self._create(
            f"{describe_configuration(first.parameters)}, seed {first.seed}",
            {**self.shared, **first.parameters, "seed": first.seed},
            {PARENT: self.parent, CONFIGURATION: str(first.number), SEED: str(first.seed)},
        )

    def _send(self, run: str, epochs: Sequence[Epoch], now: int) -> None:
        """Send epochs in batches, with the number of the last epoch for resuming."""
        from mlflow.entities import Metric, RunTag

        whole = (AT_ONCE - 1) // len(epochs[0].measures)
        for start in range(0, len(epochs), whole):
            part = epochs[start : start + whole]
            metrics = [
                Metric(name, value, now, e.epoch)
                for e in part
                for name, value in e.measures.items()
                if name not in LEFT_OUT and not math.isnan(value)
            ]
            self.client.log_batch(run, metrics, tags=[RunTag(LAST, str(part[-1].epoch))])


@contextmanager
def _settled() -> Iterator[None]:
    """Apply `SETTINGS` to MLflow, unless the environment sets them."""
    ours = {name: value for name, value in SETTINGS.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _key(epoch: Epoch) -> Key:
    assert epoch.seed is not None  # epochs of a study have a seed
    return epoch.number, epoch.seed
