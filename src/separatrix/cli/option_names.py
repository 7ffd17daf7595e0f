"""Sentences of the library in the words of the command line: its options for their parameters.

The library writes a parameter as `name=value`, as `name=`, as "the 'name' parameter" or as "option
'name'"; names that are no English words also stand alone. The options are those that the verbs
declare, so that a new one needs no entry here unless it has another name than its parameter.
"""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from separatrix.cli.command_decorator import Common
from separatrix.cli.options import Penalty, Preparing, Reading, Training

_OTHER_NAMES = {
    "class_weight": "balanced",
    "l1_ratio": "l1",
    "n_hashes": "hashes",
    "word_lists": "word_list",
}
_OF_SINGLE_VERBS = ("folds", "scoring", "precision", "recall", "positive")
_SETTINGS = {"text": "words"}  # of a preparation, where `text` of a reader is something else
_OTHER_VALUES = {
    ("label", "False"): "--label none",
    ("intercept_scaling", "None"): "--bias free",
    ("intercept_scaling", "1.0"): "--bias penalised",
    ("fit_intercept", "True"): "--bias free",
    ("fit_intercept", "False"): "--bias none",
}
_NOT_ENGLISH = re.compile(r"\w+_\w+|tol")
_VALUE = r"'[^']*'|\([\d, ]+\)|[-+]?[\w.]*\w"
_ALONE = r"(?<![\w/'\".=-])"  # no part of a path, of a quotation or of an option


@dataclass(frozen=True)
class _Option:
    """How an option is written, and how its opposite is if it has one."""

    yes: str
    no: str | None = None

    def with_value(self, value: str) -> str:
        if value in ("True", "False"):
            return self.yes if value == "True" else self.no or f"no {self.yes}"
        if value.startswith("("):
            value = "x".join(re.findall(r"\d+", value))
        text = f"{self.yes} {value.strip(chr(39)).removeprefix('np.')}"
        return text.rstrip()


def in_options(sentence: str) -> str:
    """The sentence with options where it names parameters that are ones.

    >>> in_options("If it is data, give header=False.")
    'If it is data, give --no-header.'
    >>> in_options("The 'l1_ratio' parameter must be <= 1. Raise max_iter, or give size=(8, 6).")
    '--l1 must be <= 1. Raise --max-iter, or give --size 8x6.'
    >>> in_options("Column 'max_iter': 3 values missing, filled: 'label=none'.")
    "Column 'max_iter': 3 values missing, filled: 'label=none'."
    """
    known = _options()
    some, odd = _any_of(known), _any_of(_OTHER_VALUES_OF)
    rules = [
        (rf"\b[Tt]he setting ({_any_of(_SETTINGS)})=({_VALUE})?", _setting),
        (rf"\b[Tt]he setting '({some})'", _named),
        (rf"{_ALONE}({odd})=({_VALUE})", _odd_value),
        (rf"{_ALONE}({some})=({_VALUE})?", _given),
        (rf"\b[Tt]he '({some})' parameter( of \w+)?", _named),
        (rf"(?<=option )'({some})'", _named),
        (r"(?<=It has)(:?) ((?:\w+, )*\w+)(?=\.)", _listed),
        (rf"{_ALONE}({_any_of(filter(_NOT_ENGLISH.fullmatch, known))})(?![\w'=])", _named),
        (r"\bnp\.inf\b", lambda found: "inf"),
    ]
    for pattern, said in rules:
        sentence = re.sub(pattern, said, sentence)
    return sentence


_OTHER_VALUES_OF = {name for name, _ in _OTHER_VALUES}


def _setting(found: re.Match[str]) -> str:
    return _options()[_SETTINGS[found[1]]].with_value(found[2] or "")


def _odd_value(found: re.Match[str]) -> str:
    return _OTHER_VALUES.get((found[1], found[2]), found[0])


def _given(found: re.Match[str]) -> str:
    return _options()[found[1]].with_value(found[2] or "")


def _named(found: re.Match[str]) -> str:
    return _options()[found[1]].yes


def _listed(found: re.Match[str]) -> str:
    """A list of options, without those that are no options here."""
    known = _options()
    told = [known[name].yes for name in found[2].split(", ") if name in known]
    return f"{found[1]} {', '.join(told) or 'none'}"


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


@functools.cache
def _options() -> dict[str, _Option]:
    """The options by the names of the parameters that they are."""
    found = {name: _Option(f"--{name}") for name in _OF_SINGLE_VERBS}
    for group in (Reading, Preparing, Training, Penalty, Common):
        hints: dict[str, Any] = get_type_hints(group, include_extras=True)
        found |= {field.name: _option(field.name, hints[field.name]) for field in fields(group)}
    others = {name: found[own] for name, own in _OTHER_NAMES.items() if own in found}
    return found | others


def _option(name: str, hint: Any) -> _Option:
    assert get_origin(hint) is Annotated
    info = get_args(hint)[1]
    # typer takes the first word of an annotation for a default until it reads it.
    words = [word for word in (info.default, *(info.param_decls or ())) if isinstance(word, str)]
    written = next((word for word in words if word.startswith("--")), "")
    yes, _, no = (written or f"--{name.replace('_', '-')}").partition("/")
    return _Option(yes, no or None)
