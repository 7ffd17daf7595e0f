"""A log of every epoch as lines of a CSV file."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from separatrix.study.logs.log import StudyInfo
from separatrix.text import quoted, value_cell
from separatrix.training import Epoch
from separatrix.training.history import FIELDS

KEYS = ("study", "configuration", "seed", "epoch")


class CsvLog:
    """Appends a line to a CSV file for every epoch of every configuration of a study.

    Its columns are study, configuration, seed, epoch, the parameters that vary and the measures. A
    study that is resumed goes on below its last line, and says nothing twice. A file may hold
    several studies that vary the same parameters.

    >>> from pathlib import Path
    >>> from separatrix import GradientDescentClassifier, Study
    >>> from separatrix.study import CsvLog
    >>> study = Study("a", GradientDescentClassifier(), {"learning_rate": [0.1], "epochs": [2]})
    >>> _ = study.run("iris", logs=[CsvLog("a.csv")])
    >>> print(Path("a.csv").read_text())
    study,configuration,seed,epoch,learning_rate,epochs,train_loss,train_accuracy,...
    a,0,0,1,0.1,2,...
    a,0,0,2,0.1,2,...
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.place = str(path)
        self.last: dict[tuple[str, str], int] = {}  # the last epoch of each run in the file

    def begin(self, about: StudyInfo) -> None:
        """Find out what the file has of this study, and put a head on a new one."""
        self.name, self.names = about.name, list(about.names)
        head = _line([*KEYS, *self.names, *FIELDS])
        there = self.path.read_bytes() if self.path.exists() else b""
        if not (there.startswith(head) or head.startswith(there)):
            first = there[:1000].partition(b"\n")[0].decode(errors="replace").strip()
            raise ValueError(
                f"{self.path} is not a log of this study's parameters: it begins with "
                f"{quoted(first)}, and should with {head.decode().strip()!r}. Name another file; "
                "this one was left as it is."
            )
        there = there[: there.rfind(b"\n") + 1]  # a line that a crash cut short is written again
        self.last = _last_epochs(there, about.name)
        if self.last and not about.resumed:
            raise ValueError(
                f"{self.path} has lines of an earlier study {about.name!r} already. Name another "
                "file, or delete this one."
            )
        with self.path.open("ab") as file:
            file.truncate(len(there))
            file.write(b"" if there else head)

    def tell(self, epochs: Sequence[Epoch]) -> None:
        """Write a line for every run, unless the file has it."""
        new = [e for e in epochs if e.epoch > self.last.get((str(e.number), str(e.seed)), 0)]
        with self.path.open("ab") as file:
            file.write(b"".join(_line(self._cells(e)) for e in new))

    def flush(self) -> None:
        """Wait until the lines have reached the disk."""
        with self.path.open("ab") as file:
            os.fsync(file.fileno())

    def end(self, finished: bool) -> None:
        """Wait for the last lines."""
        self.flush()

    def _cells(self, e: Epoch) -> list[Any]:
        parameters = [value_cell(name, e.parameters.get(name, "")) for name in self.names]
        measures = [e.measures[name] for name in FIELDS]
        known = [None if math.isnan(value) else value for value in measures]
        return [self.name, e.number, e.seed, e.epoch, *parameters, *known]


def _line(cells: Sequence[Any]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode()


def _last_epochs(there: bytes, study: str) -> dict[tuple[str, str], int]:
    """The last epoch that a file has of every configuration and seed of a study."""
    rows = csv.DictReader(io.StringIO(there.decode(errors="replace")))
    return {
        (row["configuration"], row["seed"]): int(row["epoch"])
        for row in rows
        if row["study"] == study
    }
