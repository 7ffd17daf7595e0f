"""The options that define the grid of a study, and the parsing of their values."""

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
    """The values of each parameter, separated by commas."""

    model: Annotated[
        str,
        _values(
            "NAME",
            "Model: gradient (gradient descent), or one that is trained to the optimum: "
            f"{', '.join(MODEL_FAMILIES)}.",
        ),
    ] = "gradient"
    learning_rate: Annotated[str | None, _values("X,...", "Learning rates.")] = None
    momentum: Annotated[str | None, _values("X,...", "Momenta, from 0 to 1.")] = None
    epochs: Annotated[
        str | None, _values("N,...", "Numbers of epochs; only the largest affects the time.")
    ] = None
    C: Annotated[
        str | None,
        typer.Option(
            "--C",
            metavar="X,...",
            help="Inverse strengths of the penalty (not with --model gradient).",
            rich_help_panel=_GRID,
        ),
    ] = None
    l1: Annotated[
        str | None,
        _values("X,...", "Strengths of the L1 penalty; with --C, shares of L1 in the penalty."),
    ] = None
    l2: Annotated[str | None, _values("X,...", "Strengths of the L2 penalty.")] = None
    batch_size: Annotated[str | None, _values("N,...", "Rows per step, or 'all'.")] = None
    loss: Annotated[str | None, _values("NAME,...", "Losses: logistic, softmax, hinge, ...")] = None
    rule: Annotated[
        str | None, _values("NAME,...", "Update rules: plain, momentum, nesterov, adam, lazy_adam.")
    ] = None
    schedule: Annotated[
        str | None,
        _values("NAME,...", "Schedules of the learning rate: constant, exponential, inverse."),
    ] = None
    patience: Annotated[
        str | None,
        _values(
            "N,...", "Epochs without improvement on the validation rows before stopping, or 'none'."
        ),
    ] = None
    init: Annotated[
        str | None, _values("NAME", "Starting weights: zeros or random (default: zeros).")
    ] = None
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of random seeds per configuration.",
            rich_help_panel=_GRID,
        ),
    ] = 1
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Draw N configurations at random instead of training all of them.",
            rich_help_panel=_GRID,
        ),
    ] = None

    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Device of PyTorch to train on, such as 'cuda' (default: the processor, without "
            "PyTorch).",
            rich_help_panel=_GRID,
        ),
    ] = None

    def grid(self) -> dict[str, Any]:
        """Return the given values by parameter."""
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
        """Return the estimator of all configurations; raise for options that it does not have.

        If a run has no other randomness, its repeats start from random weights. Otherwise they
        would all be the same.
        """
        from separatrix import GradientDescentClassifier

        if self.descends:
            alike = self.seeds > 1 and "batch_size" not in given and self.init is None
            made = GradientDescentClassifier(init=self.init or ("random" if alike else "zeros"))
        else:
            made = build_estimator(self._family(n_classes), ModelOptions())
        known = made.get_params(deep=False)
        has = {name: self._parameter(name) in known for name in (*_READERS, "init")}
        if self.device is not None:
            if "device" not in known:
                raise UsageError(
                    f"--device cannot be used with --model {self.model}. Leave one of them out."
                )
            made.set_params(device=self.device)
        if odd := next((name for name in has if getattr(self, name) and not has[name]), None):
            raise UsageError(
                f"The model '{self.model}' has no option {_flag(odd)}. It has "
                f"{', '.join(_flag(name) for name in has if has[name])}."
            )
        return made if self.init is None else made.set_params(init=self.init)

    def _parameter(self, option: str) -> str:
        return "l1_ratio" if option == "l1" and not self.descends else option

    def _family(self, n_classes: int) -> ModelFamily:
        if self.model not in MODEL_NAMES:
            raise UsageError(
                f"--model must be one of gradient, {', '.join(MODEL_NAMES)}. Got '{self.model}' "
                "instead."
            )
        return find_family(self.model, n_classes)

    def notes(self, estimator: Any) -> list[str]:
        """Return sentences about what was decided here."""
        if self.descends and self.init is None and estimator.init == "random":
            return [
                f"The runs of the {self.seeds} seeds start from random weights: from zeros they "
                "would all be the same."
            ]
        return []


def words_of(grid: dict[str, Any]) -> list[str]:
    """Return the command line options for a grid."""
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
            f"{option} is a range: add the number of values, as in {given}/5, or draw from it "
            "with --draws."
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
        f"{_flag(name)} takes {what} separated by commas, such as {example}. Got '{given}' instead."
    )


def given_options(group: Any) -> list[str]:
    """Return the options of a group that differ from their defaults, as on the command line."""
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
