"""Messages keep their parameters in a file, and a file cannot create harmful ones."""

import numpy as np
import pytest

from separatrix.cli.option_names import name_options
from separatrix.errors import Message, Parameter
from separatrix.packing import from_arrays, to_arrays
from separatrix.packing.messages import MESSAGE

TOL = Parameter("tol", 1e-3)


def through_a_file(message):
    return MESSAGE.unpack(from_arrays(to_arrays({"it": MESSAGE.pack(message)}))["it"], "it")


@pytest.mark.parametrize(
    "message",
    [
        Message("Stopped at {tol:g} ({n:>5}, {n!r}).", tol=TOL, n=3),
        Message("{{braces}} {C} and {C:=}, {C:quoted}, {C:subject}", C=Parameter("C", np.inf)),
        Message("{which}: {what}", which="{rate}", what=Message("Raise {tol}.", tol=TOL)),
        Message("Give {text}.", text=Parameter("text", None, of="Settings")),
        Message("Give {header}.", header=Parameter("header", False)),
        Message("Give {types}.", types=Parameter("types", {"age": "number"})),
    ],
)
def test_a_message_from_a_file_names_the_same_options(message):
    found = through_a_file(message)
    assert found == message
    assert name_options(found) == name_options(message)
    assert set(map(repr, found.parameters())) == set(map(repr, message.parameters()))
    assert MESSAGE.pack(found) == MESSAGE.pack(message)


@pytest.mark.parametrize("message", ["{plain} text", Message("{n} rows", n=3)])
def test_a_message_without_parameters_is_written_as_text(message):
    assert MESSAGE.pack(message) == str(message)
    assert (through_a_file(message), type(through_a_file(message))) == (str(message), str)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (3, "must be text, or a list of its pieces"),
        (["a", 3], r"it\.1 must be text, or a parameter"),
        ([{"value": 1}], "must be text, or a parameter"),
        ([{"parameter": "C", "more": 1}], "must be text, or a parameter"),
        ([{"parameter": 3}], "a parameter with a name"),
        ([{"parameter": "C", "value": 1, "form": ">999999999"}], "a format such as 'g'"),
        ([{"parameter": "C", "value": 1, "form": "{p0.name}"}], "a format such as 'g'"),
        ([{"parameter": "C", "value": [1]}], "whose value is a number, text"),
        ([{"parameter": "C", "value": "x", "form": "g"}], "with formats that fit their values"),
        ([{"parameter": "C", "value": None, "form": "g"}], "with formats that fit their values"),
    ],
)
def test_other_values_are_refused(value, sentence):
    with pytest.raises(ValueError, match=sentence):
        MESSAGE.unpack(value, "it")


def test_text_from_a_file_is_not_used_as_a_template():
    found = MESSAGE.unpack(["{C.__class__} ", {"parameter": "C", "value": 1.0}, " {0!r}"], "it")
    assert found == "{C.__class__} C=1.0 {0!r}"
