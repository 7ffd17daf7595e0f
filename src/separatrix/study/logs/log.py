"""Logs of a study: what a log has to implement, and calling all logs of a study."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from separatrix.estimators.fit_warnings import user_stacklevel
from separatrix.training import Epoch, OnEpoch


class LogWarning(UserWarning):
    """A log that ended before its study."""


class LogError(Exception):
    """Why a log cannot be written, in a sentence; the study goes on without it."""


@dataclass(frozen=True)
class StudyInfo:
    """What a log is told about a study before it begins.

    Attributes
    ----------
    name, resumed : of the study, and whether an earlier session has begun it
    identity : a digest of all that makes the study this one
    estimator, parameters : the class, and what all configurations share
    names : the parameters that vary
    data, fingerprint, versions : what it is trained on, and by what
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
    """Something that keeps every epoch of a study.

    `begin` may refuse the study by an error, since nothing is lost yet; after that a log that fails
    is left behind. A study that is resumed goes on from its last checkpoint, so that a log sees
    some epochs twice: it is asked to `flush` before every checkpoint, and sees none too seldom.
    `place` is where it is kept, for people.
    """

    place: str

    def begin(self, about: StudyInfo) -> None: ...
    def tell(self, epochs: Sequence[Epoch]) -> None: ...
    def flush(self) -> None: ...
    def end(self, finished: bool) -> None: ...


class Logs:
    """All logs of a study and its callback; a log that fails is left behind with a warning.

    What the callback raises ends the study. Use it in a `with` statement.
    """

    def __init__(self, study: StudyInfo, logs: Sequence[Log], on_epoch: OnEpoch | None) -> None:
        self.study, self.on_epoch = study, on_epoch
        self.logs = list(logs)
        for log in self.logs:
            if not hasattr(log, "tell"):
                raise TypeError(
                    "logs is a list of logs, such as [CsvLog('log.csv')]. It holds "
                    f"{log!r} of type {type(log).__name__}."
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
        """Tell all of an epoch."""
        self._call_each("tell", epochs)
        if self.on_epoch is not None:
            self.on_epoch(epochs)

    def flush(self) -> None:
        """Let all logs make durable what they were told."""
        self._call_each("flush")

    def _call_each(self, verb: str, *given: Any) -> None:
        for log in list(self.logs):
            try:
                getattr(log, verb)(*given)
            except LogError as error:
                self._drop(log, str(error))
            except Exception as error:
                told = " ".join(str(error).split()) or type(error).__name__
                self._drop(log, f"The log {log.place} failed: {told.rstrip('.')}.")

    def _drop(self, log: Log, sentence: str) -> None:
        self.logs.remove(log)
        warnings.warn(
            f"{sentence} The study goes on without this log.",
            LogWarning,
            stacklevel=user_stacklevel(),
        )
