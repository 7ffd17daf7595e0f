"""The options that say which configurations a study has, and how their words are read."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from separatrix.cli.verbs import UsageError

_GRID = "Grid"
_FLAGS = {"header": ("--header", "--no-header"), "standardise": ("--standardise", "--as-is")}
_RANGE = re.compile(r"(?P<low>[^/]+?)\.\.(?P<high>[^/]+?)(?:/(?P<count>\d+))?")


def _values(metavar: str, help_: str) -> Any:
    return typer.Option(metavar=metavar, help=help_, rich_help_panel=_GRID)


@dataclass
class Sweep:
    """The values of each parameter, with commas between them."""

    learning_rate: Annotated[str | None, _values("X,...", "Of gradient descent.")] = None
    momentum: Annotated[str | None, _values("X,...", "From 0 to 1.")] = None
    epochs: Annotated[str | None, _values("N,...", "Passes; more of them cost nothing.")] = None
    l1: Annotated[str | None, _values("X,...", "Strength of the L1 penalty.")] = None
    l2: Annotated[str | None, _values("X,...", "Strength of the L2 penalty.")] = None
    batch_size: Annotated[str | None, _values("N,...", "Rows per step, or 'all'.")] = None
    loss: Annotated[str | None, _values("NAME,...", "logistic, softmax, hinge, ...")] = None
    rule: Annotated[str | None, _values("NAME,...", "plain, momentum, nesterov, adam.")] = None
    schedule: Annotated[
        str | None, _values("NAME,...", "constant, exponential, inverse: of the rate.")
    ] = None
    patience: Annotated[
        str | None, _values("N,...", "Stop when validation does not improve; or 'none'.")
    ] = None
    init: Annotated[str | None, _values("NAME", "zeros or random: where training starts.")] = None
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Repeats of each.", rich_help_panel=_GRID)
    ] = 1
    draws: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Draw so many at random, not all.", rich_help_panel=_GRID
        ),
    ] = None

    def grid(self) -> dict[str, Any]:
        """The values that were given, by parameter."""
        out = {}
        for name, read in _READERS.items():
            given = getattr(self, name)
            if given is not None:
                out[name] = _parsed(name, given, read, self.draws is not None)
        return out

    def estimator(self, given: dict[str, Any]) -> Any:
        """The estimator of all configurations.

        Repeats of a run without anything random in it would all be the same: they start at random
        weights then.
        """
        from separatrix import GradientDescentClassifier

        alike = self.seeds > 1 and "batch_size" not in given and self.init is None
        return GradientDescentClassifier(init=self.init or ("random" if alike else "zeros"))

    def notes(self, estimator: Any) -> list[str]:
        """What was decided here, in sentences."""
        if self.init is None and estimator.init == "random":
            return [
                f"The {self.seeds} repeats start at random weights: from zeros all would be the "
                "same."
            ]
        return []


def words_of(grid: dict[str, Any]) -> list[str]:
    """The options that say a grid again."""
    out = []
    for name, values in grid.items():
        listed = values if isinstance(values, list) else [values]
        shown = ",".join(_word(name, value) for value in listed)
        out += [f"--{name.replace('_', '-')}", shown]
    return out


def _word(name: str, value: Any) -> str:
    if value is None:
        return "all" if name == "batch_size" else "none"
    if hasattr(value, "low"):
        return f"{value.low!r}..{value.high!r}"
    return repr(value) if isinstance(value, float) else str(value)


def _whole(word: str) -> int:
    number = float(word)
    if number != int(number):
        raise ValueError
    return int(number)


def _whole_or(none: str) -> Callable[[str], int | None]:
    return lambda word: None if word == none else _whole(word)


_READERS: dict[str, Callable[[str], Any]] = {
    "loss": str,
    "rule": str,
    "schedule": str,
    "learning_rate": float,
    "momentum": float,
    "batch_size": _whole_or("all"),
    "l1": float,
    "l2": float,
    "patience": _whole_or("none"),
    "epochs": _whole,
}


def _parsed(name: str, given: str, read: Callable[[str], Any], drawn: bool) -> Any:
    from separatrix.study import Between, log_range

    found = _RANGE.fullmatch(given.strip())
    try:
        if found is None:
            return [read(word.strip()) for word in given.split(",")]
        low, high = float(found["low"]), float(found["high"])
    except ValueError:
        raise _usage(name, given, read) from None
    if read is not float:
        raise _usage(name, given, read)
    option = f"--{name.replace('_', '-')} {given}"
    if found["count"] is None and not drawn:
        raise UsageError(
            f"{option} is a range: say of how many values, as in {given}/5, or draw from it with "
            "--draws."
        )
    try:
        if found["count"] is not None:
            return log_range(low, high, int(found["count"]))
        return Between(low, high)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _usage(name: str, given: str, read: Callable[[str], Any]) -> UsageError:
    what = "words" if read is str else "numbers"
    example = {"batch_size": "1,32,all", "patience": "5,none", "epochs": "100,500"}.get(name)
    example = example or ("hinge,logistic" if read is str else "0.1,0.01 or 1e-4..1e-1/4")
    return UsageError(
        f"--{name.replace('_', '-')} takes {what} with commas between them, as in {example}. "
        f"Got '{given}' instead."
    )


def given_options(group: Any) -> list[str]:
    """The options of a group that differ from their defaults, as words of a command line."""
    out: list[str] = []
    for f in fields(group):
        value = getattr(group, f.name)
        if value == f.default or value is None:
            continue
        flag = f"--{f.name.replace('_', '-')}"
        if isinstance(value, bool):
            yes, no = _FLAGS.get(f.name, (flag, ""))
            out.append(yes if value else no)
        elif isinstance(value, list):
            out += [word for item in value for word in (flag, str(item))]
        else:
            out += [flag, str(value)]
    return out
