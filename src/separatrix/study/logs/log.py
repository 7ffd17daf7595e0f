"""The interface of logs, and the calls to all logs of a study."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from separatrix.estimators.fit_warnings import user_stacklevel
from separatrix.training import Epoch, OnEpoch


class LogWarning(UserWarning):
    """A log was dropped before the end of its study."""


class LogError(Exception):
    """A log cannot be written. The study continues without it."""


@dataclass(frozen=True)
class StudyInfo:
    """The description of a study that logs get before it starts.

    Attributes
    ----------
    name : the name of the study
    resumed : whether the study is resumed
    identity : a digest that identifies the study
    estimator, parameters : the class, and the parameters that all configurations share
    names : the parameters in the grid
    data, fingerprint : the name and the fingerprint of the data
    versions : the versions of Python and of the libraries
    """

    name: str
    resumed: bool
    identity: str
    estimator: str
    parameters: Mapping[str, Any]
    names: Sequence[str]
    data: str
    fingerprint: str
    versions: Mapping[str, str]


class Log(Protocol):
    """The interface of a log, which records every epoch of a study.

    `begin` is called first, then `tell` after every epoch, `flush` before every checkpoint, and
    `end` last. `place` names the file or server in messages. An error in `begin` stops the study,
    except a `LogError`. Later errors drop the log. A resumed study continues from its last
    checkpoint, so a log may get some epochs twice, but it misses none.
    """

    place: str

    def begin(self, about: StudyInfo) -> None: ...
    def tell(self, epochs: Sequence[Epoch]) -> None: ...
    def flush(self) -> None: ...
    def end(self, finished: bool) -> None: ...


class Logs:
    """All logs of a study, and its callback. A log that fails is dropped with a warning.

    An exception of the callback stops the study. Use this class in a `with` statement.
    """

    def __init__(self, study: StudyInfo, logs: Sequence[Log], on_epoch: OnEpoch | None) -> None:
        self.study, self.on_epoch = study, on_epoch
        self.logs = list(logs)
        for log in self.logs:
            if not hasattr(log, "tell"):
                raise TypeError(
                    "logs must be a list of logs, such as [CsvLog('log.csv')]. Got "
                    f"{log!r} of type {type(log).__name__} in it."
                )

    def __bool__(self) -> bool:
        return bool(self.logs) or self.on_epoch is not None

    def __enter__(self) -> Logs:
        for log in list(self.logs):
            try:
                log.begin(self.study)
            except LogError as error:
                self._drop(log, str(error))
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._call_each("end", kind is None)

    def tell(self, epochs: Sequence[Epoch]) -> None:
        """Pass an epoch to all logs and to the callback."""
        self._call_each("tell", epochs)
        if self.on_epoch is not None:
            self.on_epoch(epochs)

    def flush(self) -> None:
        """Flush all logs."""
        self._call_each("flush")

    def _call_each(self, verb: str, *given: Any) -> None:
        for log in list(self.logs):
            try:
                getattr(log, verb)(*given)
            except LogError as error:
                self._drop(log, str(error))
            except Exception as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                self._drop(log, f"The log {log.place} failed: {reason.rstrip('.')}.")

    def _drop(self, log: Log, sentence: str) -> None:
        self.logs.remove(log)
        warnings.warn(
            f"{sentence} The study continues without this log.",
            LogWarning,
            stacklevel=user_stacklevel(),
        )
