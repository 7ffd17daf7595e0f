"""Schemas restore what was packed, and refuse anything else with a message."""

import re
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.packing import from_arrays, from_json, to_arrays
from separatrix.packing.schemas import (
    COUNT,
    NUMBER,
    TEXT,
    array,
    choice,
    dict_of,
    list_of,
    optional,
    record,
)


class Point(NamedTuple):
    name: str
    x: float | None
    tags: list
    W: np.ndarray
    counts: dict


POINT = record(
    Point,
    {
        "name": choice("a", "b"),
        "x": optional(NUMBER),
        "tags": list_of(TEXT),
        "W": array("f", 2, finite=True),
        "counts": dict_of(COUNT),
    },
).such_that(lambda point: len(point.tags) == len(point.W), "have a tag for every row")


def a_point(**changes):
    return Point("a", None, ["one", "two"], np.eye(2), {"rows": 3})._replace(**changes)


def test_an_object_is_restored_from_the_arrays_of_a_file():
    arrays = to_arrays(POINT.pack(a_point(x=np.inf)))
    assert sorted(arrays) == ["W", "values"]
    found = POINT.unpack(from_arrays(arrays), "point")
    assert found.W.tolist() == np.eye(2).tolist()
    assert found._replace(W=None) == a_point(x=np.inf, W=None)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "c"}, "point.name must be one of a, b. Got 'c' instead."),
        ({"x": np.nan}, "point.x must be a number. Got nan instead."),
        ({"tags": ["one", 2]}, "point.tags.1 must be text. Got 2 instead."),
        ({"tags": ["one"]}, "point must have a tag for every row"),
        ({"W": np.ones(2)}, "point.W must be an array of finite numbers with 2 axes"),
        ({"W": np.full((2, 2), np.nan)}, "point.W must be an array of finite numbers"),
        ({"counts": {"rows": -1}}, "point.counts.rows must be a whole number >= 0"),
        ({"counts": {"rows": True}}, "point.counts.rows must be a whole number >= 0"),
    ],
    ids=str,
)
def test_errors_name_the_part_and_what_it_must_be(changes, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        POINT.unpack(POINT.pack(a_point()) | changes, "point")


def test_text_of_a_subclass_is_written_as_plain_text():
    class Message(str):
        pass

    assert type(TEXT.pack(Message("words"))) is str


def test_missing_and_unknown_parts_are_refused():
    packed = POINT.pack(a_point())
    for bad in ({**packed, "evil": 1}, {k: packed[k] for k in ("name", "x")}, [], None):
        with pytest.raises(ValueError, match="exactly the parts name, x, tags, W, counts"):
            POINT.unpack(bad, "point")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.sampled_from(Point._fields), JSON)
def test_any_value_of_a_part_is_read_or_refused_with_a_value_error(name, junk):
    try:
        found = POINT.unpack(POINT.pack(a_point()) | {name: junk}, "point")
    except ValueError as error:
        assert str(error).startswith("point")  # noqa: PT017
    else:
        assert isinstance(found, Point)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"values": np.zeros(3)},
        {"values": np.array("[1]")},
        {"values": np.array("{")},
        {"values": np.array('{"x": NaN}')},
        {"values": np.array('{"x": {"$array": "x"}}')},
        {"values": np.array('{"x": {"$array": "y"}}'), "y": np.zeros(2)},
    ],
)
def test_arrays_not_written_by_this_module_are_refused(arrays):
    with pytest.raises(
        ValueError, match=r"contain the text|JSON object|valid JSON|has no array|Expecting"
    ):
        from_arrays(arrays)


def test_json_that_is_nested_too_deeply_is_a_value_error():
    with pytest.raises(ValueError, match="recursion"):
        from_json("[" * 100_000)
