"""Log every epoch of a study to a CSV file."""

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
from separatrix.training.recording.history import FIELDS

KEYS = ("study", "configuration", "seed", "epoch")


class CsvLog:
    """Append a line to a CSV file for every epoch of every configuration of a study.

    The columns are study, configuration, seed, epoch, the parameters in the grid and the measures.
    A resumed study continues after its last line and repeats none. A file can contain several
    studies with the same parameters in their grids.

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
        self.last: dict[tuple[str, str], int] = {}  # last epoch of every run in the file

    def begin(self, about: StudyInfo) -> None:
        """Find the last epochs of this study in the file, and write the header of a new file."""
        self.name, self.names = about.name, list(about.names)
        head = _line([*KEYS, *self.names, *FIELDS])
        there = self.path.read_bytes() if self.path.exists() else b""
        if not (there.startswith(head) or head.startswith(there)):
            first = there[:1000].partition(b"\n")[0].decode(errors="replace").strip()
            raise ValueError(
                f"{self.path} is not a log of a study with these parameters: it begins with "
                f"{quoted(first)} instead of {head.decode().strip()!r}. Choose another file; this "
                "file was not changed."
            )
        there = there[: there.rfind(b"\n") + 1]  # drop a line that a crash cut off
        self.last = _last_epochs(there, about.name)
        if self.last and not about.resumed:
            raise ValueError(
                f"{self.path} already has lines of an earlier study {about.name!r}. Choose another "
                "file, or delete this one."
            )
        with self.path.open("ab") as file:
            file.truncate(len(there))
            file.write(b"" if there else head)

    def tell(self, epochs: Sequence[Epoch]) -> None:
        """Write a line for every run, unless the file already has it."""
        new = [e for e in epochs if e.epoch > self.last.get((str(e.number), str(e.seed)), 0)]
        with self.path.open("ab") as file:
            file.write(b"".join(_line(self._cells(e)) for e in new))

    def flush(self) -> None:
        """Wait until the lines are on the disk."""
        with self.path.open("ab") as file:
            os.fsync(file.fileno())

    def end(self, finished: bool) -> None:
        """Wait until the last lines are on the disk."""
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
    """Return the last epoch in a file for every configuration and seed of a study."""
    rows = csv.DictReader(io.StringIO(there.decode(errors="replace")))
    return {
        (row["configuration"], row["seed"]): int(row["epoch"])
        for row in rows
        if row["study"] == study
    }
