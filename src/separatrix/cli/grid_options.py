"""The options that say which configurations a study has, and how their words are read."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import UsageError
from separatrix.workflow.model_families import (
    MODEL_FAMILIES,
    MODEL_NAMES,
    ModelFamily,
    ModelOptions,
    build_estimator,
    find_family,
)

_GRID = "Grid"
_FLAGS = {"header": ("--header", "--no-header"), "standardise": ("--standardise", "--as-is")}
_RANGE = re.compile(r"(?P<low>[^/]+?)\.\.(?P<high>[^/]+?)(?:/(?P<count>\d+))?")


def _values(metavar: str, help_: str) -> Any:
    return typer.Option(metavar=metavar, help=help_, rich_help_panel=_GRID)


@dataclass
class GridOptions:
    """The values of each parameter, with commas between them."""

    model: Annotated[
        str, _values("NAME", f"gradient (descent), or to the optimum: {', '.join(MODEL_FAMILIES)}.")
    ] = "gradient"
    learning_rate: Annotated[str | None, _values("X,...", "Of gradient descent.")] = None
    momentum: Annotated[str | None, _values("X,...", "From 0 to 1.")] = None
    epochs: Annotated[str | None, _values("N,...", "Passes; more of them cost nothing.")] = None
    C: Annotated[
        str | None,
        typer.Option(
            "--C",
            metavar="X,...",
            help="Inverse strength of the penalty, of models but gradient.",
            rich_help_panel=_GRID,
        ),
    ] = None
    l1: Annotated[
        str | None, _values("X,...", "Strength of the L1 penalty; beside C its share.")
    ] = None
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
                out[self._parameter(name)] = _parsed(name, given, read, self.draws is not None)
        return out

    @property
    def descends(self) -> bool:
        """Whether the model is trained by gradient descent."""
        return self.model == "gradient"

    def estimator(self, given: dict[str, Any], n_classes: int) -> Any:
        """The estimator of all configurations; options that it does not have are refused.

        Repeats of a run without anything random in it would all be the same: they start at random
        weights then.
        """
        from separatrix import GradientDescentClassifier

        if self.descends:
            alike = self.seeds > 1 and "batch_size" not in given and self.init is None
            made = GradientDescentClassifier(init=self.init or ("random" if alike else "zeros"))
        else:
            made = build_estimator(self._family(n_classes), ModelOptions())
        known = made.get_params(deep=False)
        has = {name: self._parameter(name) in known for name in (*_READERS, "init")}
        if odd := next((name for name in has if getattr(self, name) and not has[name]), None):
            raise UsageError(
                f"The model '{self.model}' has no {_flag(odd)}. It has "
                f"{', '.join(_flag(name) for name in has if has[name])}."
            )
        return made if self.init is None else made.set_params(init=self.init)

    def _parameter(self, option: str) -> str:
        return "l1_ratio" if option == "l1" and not self.descends else option

    def _family(self, n_classes: int) -> ModelFamily:
        if self.model not in MODEL_NAMES:
            raise UsageError(
                f"--model is one of gradient, {', '.join(MODEL_NAMES)}. Got '{self.model}' instead."
            )
        return find_family(self.model, n_classes)

    def notes(self, estimator: Any) -> list[str]:
        """What was decided here, in sentences."""
        if self.descends and self.init is None and estimator.init == "random":
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
        out += [_flag("l1" if name == "l1_ratio" else name), shown]
    return out


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
    "C": float,
    "l1": float,
    "l2": float,
    "patience": _whole_or("none"),
    "epochs": _whole,
}
GRID_OPTIONS = tuple(_READERS)


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
    option = f"{_flag(name)} {given}"
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
        f"{_flag(name)} takes {what} with commas between them, as in {example}. "
        f"Got '{given}' instead."
    )


def given_options(group: Any) -> list[str]:
    """The options of a group that differ from their defaults, as words of a command line."""
    out: list[str] = []
    for f in fields(group):
        value = getattr(group, f.name)
        if value == f.default or value is None:
            continue
        flag = _flag(f.name)
        if isinstance(value, bool):
            yes, no = _FLAGS.get(f.name, (flag, ""))
            out.append(yes if value else no)
        elif isinstance(value, list):
            out += [word for item in value for word in (flag, str(item))]
        else:
            out += [flag, str(value)]
    return out
