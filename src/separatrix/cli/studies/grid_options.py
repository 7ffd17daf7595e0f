"""The options that define the grid of a study, and the parsing of their values."""

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import UsageError
from separatrix.study.planning.grid_words import READERS, read_values, write_values
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
GRID_OPTIONS = tuple(READERS)


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
        given = {name: getattr(self, name) for name in GRID_OPTIONS}
        return {
            self._parameter(name): read_values(name, words, drawn=self.draws is not None)
            for name, words in given.items()
            if words is not None
        }

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
        has = {name: self._parameter(name) in known for name in (*GRID_OPTIONS, "init")}
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
        option = "l1" if name == "l1_ratio" else name
        out += [_flag(option), write_values(option, values)]
    return out


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
