"""Translation of parameter names in the library's messages into command line options.

The options are read from the declarations of the commands. A new option needs an entry here only
if its name differs from the name of its parameter.
"""

import functools
import shlex
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from separatrix.cli.command_decorator import CommonOptions
from separatrix.cli.options import (
    PenaltyOptions,
    PreparationOptions,
    ReadingOptions,
    TrainingOptions,
)
from separatrix.cli.studies.grid_options import GridOptions
from separatrix.errors import (
    NAMING_FORMS,
    Message,
    Named,
    Parameter,
    ParameterNames,
    Value,
)

_GROUPS = (
    ReadingOptions,
    PreparationOptions,
    TrainingOptions,
    PenaltyOptions,
    CommonOptions,
    GridOptions,
)
_OF_SINGLE_COMMANDS = (
    "folds",
    "scoring",
    "certify",
    "precision",
    "recall",
    "positive",
    "dask",
    "memory",
    "resume",
)
_OTHER_NAMES = {
    "class_weight": "balanced",
    "epsilon": "certify",
    "fit_intercept": "bias",
    "intercept_scaling": "bias",
    "l1_ratio": "l1",
    "n_hashes": "hashes",
    "sample_weight": "weight",
    "word_lists": "word_list",
    "Settings.text": "words",  # `text` of a reader is another option
}
_OTHER_VALUES = {
    ("label", False): "--label none",
    ("intercept_scaling", None): "--bias free",
    ("intercept_scaling", 1.0): "--bias penalised",
    ("fit_intercept", True): "--bias free",
    ("fit_intercept", False): "--bias none",
    ("split", (0.8, 0.2, 0.0)): "--split 80/20/0",
}


def name_options(message: str) -> str:
    """Replace the parameters that a message names by their command line options.

    >>> header = Parameter("header", False)
    >>> name_options(Message("If it is data, give {header}.", header=header))
    'If it is data, give --no-header.'
    >>> name_options("Column 'header': 3 values missing.")
    "Column 'header': 3 values missing."
    """
    return message.render(_as_option) if isinstance(message, Message) else message


@dataclass(frozen=True)
class _Option:
    """An option, and its opposite if it has one."""

    yes: str
    no: str | None = None

    def with_value(self, parameter: Parameter, form: str) -> str:
        value = parameter.value
        for (name, other), words in _OTHER_VALUES.items():
            if (name, other) == (parameter.name, value) and type(other) is type(value):
                return words
        if isinstance(value, bool):
            return self.yes if value else self.no or f"no {self.yes}"
        if isinstance(value, dict):
            pairs = (shlex.quote(f"{name}={each}") for name, each in value.items())
            return " ".join(f"{self.yes} {pair}" for pair in pairs)
        return f"{self.yes} {shlex.quote(format(value, form) if form else _value_in_words(value))}"


@dataclass(frozen=True)
class _NamedOption:
    """An option that replaces a parameter in a message."""

    option: _Option
    parameter: Parameter

    def __format__(self, form: str) -> str:
        if form in NAMING_FORMS or not self.parameter.has_value:
            return self.option.yes
        return self.option.with_value(self.parameter, form)


def _as_option(named: Named) -> Any:
    """Return the option for a parameter; the parameter itself if there is no such option."""
    known = _options()
    match named:
        case Value(value):
            return _value_in_words(value)
        case ParameterNames(names):
            return ", ".join(known[name].yes for name in names if name in known) or "none"
    option = known.get(f"{named.of}.{named.name}") or known.get(named.name)
    return named if option is None else _NamedOption(option, named)


def _value_in_words(value: Any) -> str:
    """Return a value as it is written on the command line.

    >>> _value_in_words((8, 6)), _value_in_words(float("inf"))
    ('8x6', 'inf')
    """
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


@functools.cache
def _options() -> dict[str, _Option]:
    """Return the options by parameter name."""
    found = {name: _Option(f"--{name}") for name in _OF_SINGLE_COMMANDS}
    for group in _GROUPS:
        hints: dict[str, Any] = get_type_hints(group, include_extras=True)
        found |= {field.name: _option(field.name, hints[field.name]) for field in fields(group)}
    return found | {name: found[own] for name, own in _OTHER_NAMES.items()}


def _option(name: str, hint: Any) -> _Option:
    assert get_origin(hint) is Annotated
    info = get_args(hint)[1]
    # typer stores the first name of an annotation as the default until it parses it.
    words = [word for word in (info.default, *(info.param_decls or ())) if isinstance(word, str)]
    written = next((word for word in words if word.startswith("--")), "")
    yes, _, no = (written or f"--{name.replace('_', '-')}").partition("/")
    return _Option(yes, no or None)
