"""The processes that train studies: each study is a command of its own, which can be killed.

A study that was stopped or killed is resumed with the command that its store has. Only options that
select data and parameters are taken from it, because a store can come from anywhere.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from separatrix.errors import ParameterError
from separatrix.study.store.database import Store

MOST_RUNNING = 4
PATIENCE = 15.0  # seconds to wait for the studies when the lab ends
FINE = (0, 3)  # exit codes: finished, and finished but no run converged
INTERRUPTED = 130
MOST_WORDS = 2000  # characters of an error

# Options of a stored command that a resumed study gets. None of them names a file to be written.
_RESUMED = (
    "--model --learning-rate --momentum --epochs --C --l1 --l2 --batch-size --loss --rule "
    "--schedule --patience --init --seeds --draws --seed --label --drop --text --format "
    "--header --no-header --delimiter --split --group --time --weight --id --type --size "
    "--grey --colour --one-based --zero-based --features --validation --test --missing-values "
    "--standardise --as-is --missing --words --ngrams --min-documents --most-words --hashes "
    "--word-list --device"
)
RESUMED = frozenset(_RESUMED.split())


@dataclass(frozen=True)
class Planned:
    """What is known of a study before it runs: runs, seconds, and data and grid in words."""

    runs: int
    seconds: float
    data: str
    grid: tuple[str, ...]


@dataclass(frozen=True)
class JobState:
    """Whether the lab's process of a study runs, and why it failed, in words, or ""."""

    running: bool
    problem: str = ""
    planned: Planned | None = None


@dataclass
class _Job:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    planned: Planned | None = None
    stopped: bool = False


class StudyJobs:
    """The processes that this lab has started, by the name of their study."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self._jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()

    def start(
        self, name: str, source: str, options: Sequence[str], planned: Planned | None = None
    ) -> None:
        """Start a study: `options` are those of `separatrix study`."""
        self._run(name, ["study", source, *options], planned)

    def resume(self, name: str, command: str) -> None:
        """Resume a study with its stored command."""
        self._run(name, [*resumed_words(command), "--resume"])

    def _run(self, name: str, words: Sequence[str], planned: Planned | None = None) -> None:
        with self._lock:
            running = [other for other in self._jobs if self._state(other).running]
            if name in running:
                raise ParameterError(f"The study {name!r} is running already.", parameter="name")
            if len(running) >= MOST_RUNNING:
                raise ParameterError(
                    f"{len(running)} studies are running. Wait until one has finished, or stop one."
                )
            Store(self.store, write=True).close()  # so that it can be read from now on
            own = [f"--name={name}", f"--store={self.store}", "--no-report", "--json"]
            errors = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
            process = subprocess.Popen(
                [sys.executable, "-m", "separatrix", *words, *own],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            if name in self._jobs:
                self._jobs[name].errors.close()
            self._jobs[name] = _Job(process, errors, planned)

    def stop(self, name: str) -> None:
        """Ask a study to keep its progress and to end."""
        with self._lock:
            if not self._state(name).running:
                raise ParameterError(
                    f"This lab does not train the study {name!r}, so it cannot stop it."
                )
            self._jobs[name].stopped = True
            self._jobs[name].process.send_signal(signal.SIGINT)

    def state(self, name: str) -> JobState:
        """Return the state of the process of a study."""
        with self._lock:
            return self._state(name)

    def _state(self, name: str) -> JobState:
        job = self._jobs.get(name)
        if job is None:
            return JobState(False)
        code = job.process.poll()
        if code is None:
            return JobState(True, planned=job.planned)
        if job.stopped or code in (*FINE, INTERRUPTED):
            return JobState(False)
        return JobState(False, _words_of(job.errors) or f"The process ended with code {code}.")

    def close(self) -> None:
        """Stop all studies; their progress is kept."""
        with self._lock:
            running = [job for job in self._jobs.values() if job.process.poll() is None]
            for job in running:
                job.process.send_signal(signal.SIGINT)
            for job in running:
                try:
                    job.process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    job.process.kill()
                    job.process.wait()
            for job in self._jobs.values():
                job.errors.close()
            self._jobs.clear()


def resumed_words(command: str) -> list[str]:
    """Return the arguments of a stored command. Raise unless it only selects data and parameters.

    >>> resumed_words("separatrix study iris --learning-rate 0.1,1 --as-is")
    ['study', 'iris', '--learning-rate', '0.1,1', '--as-is']
    >>> resumed_words("separatrix study iris --log /tmp/a.csv")
    Traceback (most recent call last):
        ...
    separatrix.errors.ParameterError: This study cannot be resumed in the lab: its command has...
    """
    if not command:
        raise ParameterError(
            "This study was run in Python, so the lab cannot resume it. Run it again in Python "
            "with resume=True."
        )
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if words[:2] != ["separatrix", "study"] or len(words) < 3 or words[2].startswith("-"):
        raise ParameterError("This study cannot be resumed in the lab: its command is not known.")
    flags = [word.partition("=")[0] for word in words[3:] if _is_flag(word)]
    if odd := [flag for flag in flags if flag not in RESUMED]:
        raise ParameterError(
            f"This study cannot be resumed in the lab: its command has the option {odd[0]}. "
            "Resume it in a terminal."
        )
    return words[1:]


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word[1:2].isdigit() and word[1:2] != "."


def _words_of(errors: IO[bytes]) -> str:
    errors.seek(0)
    text = errors.read()[-MOST_WORDS:].decode("utf-8", "replace")
    return " ".join(text.split()).removeprefix("Error: ")


def options_of(values: dict[str, Any]) -> list[str]:
    """Return the options for values by parameter, in a form in which no value is an option.

    >>> options_of({"learning_rate": "0.1,1", "label": "--x"})
    ['--learning-rate=0.1,1', '--label=--x']
    """
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
