"""A log of every epoch in MLflow: a run for the study, and below it one for each of its runs."""

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
AT_ONCE, PARAMETERS = 1000, 100  # metrics and tags, and parameters, of one request at most
LEFT_OUT = ("seconds",)  # every metric has a time of its own
# A server that does not answer is to cost a study seconds; MLflow's own patience is minutes. And
# standard output is not for the addresses of runs.
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
LAST, STUDY, IDENTITY = "separatrix.epochs", "separatrix.study", "separatrix.identity"
CONFIGURATION, SEED = "separatrix.configuration", "separatrix.seed"
PARENT = "mlflow.parentRunId"
DATABASES = ("sqlite", "postgresql", "mysql", "mssql")  # for which MLflow needs SQLAlchemy, too

Key: TypeAlias = tuple[int, int]  # configuration and seed


class MlflowLog:
    """Keeps every epoch of a study in an MLflow tracking server (extra `mlflow`).

    The study is a run, and every configuration and seed a run below it, with its parameters as
    parameters, its measures as metrics, and the fingerprint of the data and the versions as tags.
    Metrics are sent in batches, about once a second. A study that is resumed goes on in the same
    runs. Without the package or the server there is a warning, and the study goes on.

    `uri` is that of the server, or of a database ("sqlite:///mlflow.db", which takes the whole
    package `mlflow`); `experiment` that of MLFLOW_EXPERIMENT_NAME, or "separatrix".
    """

    def __init__(self, uri: str, experiment: str | None = None) -> None:
        self.place = uri
        self.experiment = experiment or os.environ.get(VARIABLE) or EXPERIMENT
        self.children: dict[Key, str] = {}
        self.last: dict[Key, int] = {}  # epochs that each child has
        self.pending: dict[Key, list[Epoch]] = {}

    def begin(self, about: StudyInfo) -> None:
        """Connect, and find or make the run of the study."""
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
            told = " ".join(str(error).split()).rstrip(".")
            raise LogError(f"MLflow cannot be used at {self.place}: {told}.") from error

    def tell(self, epochs: Sequence[Epoch]) -> None:
        """Remember an epoch, to be sent with others."""
        for epoch in epochs:
            key = _key(epoch)
            if epoch.epoch > self.last.get(key, 0):
                self.pending.setdefault(key, []).append(epoch)

    def flush(self) -> None:
        """Send what was told."""
        now = int(time.time() * 1000)
        with _settled():
            for key, epochs in self.pending.items():
                if key not in self.children:
                    self.children[key] = self._child(epochs[0])
                self._send(self.children[key], epochs, now)
                self.last[key] = epochs[-1].epoch
        self.pending = {}

    def end(self, finished: bool) -> None:
        """Close all runs; those of a study that did not end are opened again when it goes on."""
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
        self.parent = earlier[0].info.run_id  # the latest comes first
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
        """Whole epochs at a time, each time with the number of the last, to go on from."""
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
    """MLflow behaves as `SETTINGS` say, unless the user's environment says otherwise."""
    ours = {name: value for name, value in SETTINGS.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


def _key(epoch: Epoch) -> Key:
    assert epoch.seed is not None  # a study's have one
    return epoch.number, epoch.seed
