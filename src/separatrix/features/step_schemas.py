"""Write the steps of a preparation to files, and read and check them.

In a file the arrays of the steps are stored separately from the other values, under names such as
"0.fill" and "2.idf" with the number of the step. Arrays that are None are omitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.features.categorical_columns import Categories
from separatrix.features.numeric_columns import Numbers
from separatrix.features.step import Constant, PreparationStep
from separatrix.features.text_columns import LONGEST_NGRAM, MOST_HASHES, WAYS, Vectoriser
from separatrix.features.word_lists import WordLists
from separatrix.matrix import Array
from separatrix.packing.schemas import (
    COUNT,
    TEXT,
    TRUTH,
    Schema,
    choice,
    dict_of,
    integer,
    is_array,
    is_text,
    list_of,
    optional,
    record,
    schema_error,
    validated,
)
from separatrix.readers.cells.cell_format import Kind
from separatrix.readers.columns import KINDS

WORDS = validated(
    "a list of strings", lambda value: isinstance(value, list) and all(map(is_text, value))
)
DIFFERENT_WORDS = WORDS.such_that(
    lambda words: len(set(words)) == len(words), "be a list of different strings"
)
_VECTOR = optional(
    validated(
        "a vector of finite float64 numbers",
        lambda value: is_array(value, "f", 1, finite=True) and value.dtype == np.float64,
    )
)


def _is_numbers(step: Numbers) -> bool:
    vectors = [vector for vector in (step.fill, step.shift, step.scale) if vector is not None]
    scaled = step.scale is None or bool((step.scale > 0).all())
    return scaled and all(len(vector) == len(step.columns) for vector in vectors)


def _is_vectoriser(parts: Mapping[str, Any]) -> bool:
    words, (low, high), hashing = parts["vocabulary"], parts["ngrams"], parts["way"] == "hashing"
    idf = None if parts["idf"] is None else len(parts["idf"])
    return (
        low <= high
        and hashing == (parts["n_hashes"] > 0)
        and hashing == (not words)
        and idf == (len(words) if parts["way"] == "tfidf" else None)
    )


_NGRAMS = list_of(integer(1, LONGEST_NGRAM)).such_that(lambda pair: len(pair) == 2, "be a pair")
# The parts of a vectoriser are checked together before it is made.
_VECTORISER = record(
    dict,
    {
        "column": TEXT,
        "way": choice(*WAYS),
        "ngrams": Schema(list, lambda value, where: tuple(_NGRAMS.unpack(value, where))),
        "vocabulary": DIFFERENT_WORDS,
        "n_hashes": integer(0, MOST_HASHES),
        "prefix": TEXT,
        "idf": _VECTOR,
    },
    vars,
).such_that(
    _is_vectoriser,
    "have a vocabulary, with one idf per word for tfidf, or a number of hashes for hashing, and "
    "ngrams from the shortest to the longest",
)

SCHEMAS: dict[str, Schema] = {
    Constant.kind: record(Constant, {}),
    Numbers.kind: record(
        Numbers,
        {"columns": DIFFERENT_WORDS, "fill": _VECTOR, "shift": _VECTOR, "scale": _VECTOR},
    ).such_that(_is_numbers, "have one number per column, with scale > 0"),
    Categories.kind: record(
        Categories,
        {"column": TEXT, "values": DIFFERENT_WORDS, "fill": optional(COUNT), "refuse": TRUTH},
    ).such_that(
        lambda step: step.fill is None or step.fill < len(step.values),
        "be filled with one of its values",
    ),
    Vectoriser.kind: Schema(
        _VECTORISER.pack, lambda value, where: Vectoriser(**_VECTORISER.unpack(value, where))
    ),
    WordLists.kind: record(
        WordLists, {"column": TEXT, "lists": dict_of(DIFFERENT_WORDS), "prefix": TEXT}
    ),
}
ARRAYS = {Numbers.kind: ("fill", "shift", "scale"), Vectoriser.kind: ("idf",)}


def pack_steps(steps: Sequence[PreparationStep]) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """Return the steps as plain values, and their arrays by number of the step and name."""
    packed = [{"kind": step.kind, **SCHEMAS[step.kind].pack(step)} for step in steps]
    arrays: dict[str, Array] = {}
    for place, parts in enumerate(packed):
        for name in ARRAYS.get(parts["kind"], ()):
            array = parts.pop(name)
            if array is not None:
                arrays[f"{place}.{name}"] = array
    return packed, arrays


def unpack_steps(value: Any, arrays: Any) -> list[PreparationStep]:
    """Restore the steps from the result of `pack_steps`."""
    if not isinstance(arrays, Mapping):
        raise schema_error("its arrays", "be a dict", arrays)
    steps = []
    for place, parts in enumerate(
        list_of(dict_of(validated("", lambda _: True))).unpack(value, "steps")
    ):
        where = f"steps.{place}"
        kind = choice(*SCHEMAS).unpack(parts.pop("kind", None), f"{where}.kind")
        own = {name: arrays.get(f"{place}.{name}") for name in ARRAYS.get(kind, ())}
        steps.append(SCHEMAS[kind].unpack(own | parts, where))
    return steps


def _unpack_columns(value: Any, where: str) -> dict[str, Kind]:
    columns: dict[str, Kind] = {}
    for pair in list_of(WORDS).unpack(value, where):
        if len(pair) != 2 or pair[1] not in KINDS or pair[0] in columns:
            raise schema_error(where, "be pairs of a different name each and a kind", pair)
        columns[pair[0]] = pair[1]
    return columns


# Names and kinds are stored as a list because the order of the columns matters.
COLUMNS = optional(
    Schema(lambda columns: [list(pair) for pair in columns.items()], _unpack_columns)
)
