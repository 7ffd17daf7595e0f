"""Convert plain Python values to JSON and arrays, and restore exactly the same values.

None, bool, int, str, finite float, list, and dict with text keys are stored as they are. Other
values are stored as an object whose first key begins with a dollar sign:

    {"$float": "inf"}                         also "-inf" and "nan"
    {"$tuple": [...]}
    {"$pairs": [[key, value], ...]}           a dict with other keys
    {"$scalar": ["float32", 0.5]}             a numpy scalar
    {"$array": "coef_"}                       an array of numbers, by name
    {"$strings": ["no", "yes"], "width": 3}   an array of text with `width` characters per entry
    {"$objects": ["no", "yes"]}               an array of Python values
    {"$type": "numpy.float64"}                a type of numbers, from a fixed list
    {"$dtype": "float64"}                     a data type of numpy
    {"$slice": [0, 3, null]}                  a slice

`pack` calls its argument `other` for values of other types, and `unpack` its `tags` for other tags.
`pack` returns JSON and named arrays, and `to_json` writes the JSON as text. For files that contain
only arrays, `to_arrays` stores this text as one of the arrays.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

import numpy as np

from separatrix.matrix import Array

DEPTH = 64  # levels of nested lists
CHARACTERS = 1 << 25  # in an array of text with its padding, which a small file could declare
NUMBERS = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
FLOATS = frozenset(["float16", "float32", "float64"])
# The types that a value can be. A file names them, and numpy never looks up a name.
TYPES: dict[str, type] = {
    **{kind.__name__: kind for kind in (bool, int, float, str, object)},
    **{f"numpy.{name}": np.dtype(name).type for name in NUMBERS | FLOATS},
    **{f"numpy.{kind.__name__}": kind for kind in (np.number, np.integer, np.floating)},
}
TYPE_NAMES = {kind: name for name, kind in TYPES.items()}
DTYPES = NUMBERS | FLOATS | {"object"}
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
TREE = "values"  # the array that holds the JSON of `to_arrays`

Inner = Callable[[Any, Any], Any]
Other = Callable[[Any, str, int], Any]
Tag = Callable[[Any, str, Mapping[str, Array], Inner], Any]


def pack(
    value: Any, where: str, arrays: dict[str, Array], depth: int = 0, other: Other | None = None
) -> Any:
    """Convert a value to JSON. Its arrays are added to `arrays`; their names begin with `where`.

    `other(value, where, depth)` converts parts of types that are not plain.

    >>> arrays = {}
    >>> pack({"C": np.inf, "init": (np.zeros(2), 1)}, "parameters", arrays)
    {'C': {'$float': 'inf'}, 'init': {'$tuple': [{'$array': 'parameters.init.0'}, 1]}}
    >>> list(arrays)
    ['parameters.init.0']
    """
    if depth > DEPTH:
        raise ValueError(f"{where} is nested more than {DEPTH} levels deep.")

    def inner(part: Any, name: Any) -> Any:
        return pack(part, f"{where}.{name}", arrays, depth + 1, other)

    if value is None or type(value) in (bool, int):
        return value
    if isinstance(value, str):  # includes messages, which become plain text
        return str(value)
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if type(value) is list:
        return [inner(part, k) for k, part in enumerate(value)]
    if type(value) is tuple:
        return {"$tuple": [inner(part, k) for k, part in enumerate(value)]}
    if type(value) is dict:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: inner(part, key) for key, part in value.items()}
        return {
            "$pairs": [
                [inner(k, "key"), inner(part, n)] for n, (k, part) in enumerate(value.items())
            ]
        }
    if isinstance(value, np.generic) and value.dtype.name in NUMBERS | FLOATS:
        return {"$scalar": [value.dtype.name, inner(value.item(), "scalar")]}
    if isinstance(value, np.str_):
        return {"$scalar": ["str", str(value)]}
    if type(value) is np.ndarray:
        return _pack_array(value, where, arrays, inner)
    if isinstance(value, type) and value in TYPE_NAMES:
        return {"$type": TYPE_NAMES[value]}
    if isinstance(value, np.dtype) and value.name in DTYPES:
        return {"$dtype": value.name}
    if isinstance(value, slice):
        return {"$slice": inner([value.start, value.stop, value.step], "slice")}
    if other is not None:
        return other(value, where, depth + 1)
    raise not_plain(value, where)


def not_plain(value: Any, where: str) -> ValueError:
    """Return the error for a value of a type that a file cannot contain."""
    return ValueError(
        f"{where} is of type {type(value).__name__}, but a file can contain only numbers, text and "
        "arrays."
    )


def _pack_array(value: Array, where: str, arrays: dict[str, Array], inner: Inner) -> Any:
    if where in arrays:
        raise ValueError(f"{where} is the name of two arrays. Use names without dots.")
    if value.dtype.name in NUMBERS | FLOATS:
        arrays[where] = np.ascontiguousarray(value, value.dtype.newbyteorder("=")).reshape(
            value.shape
        )
        return {"$array": where}
    if value.ndim == 1 and value.dtype.kind == "U":
        width = value.dtype.itemsize // np.dtype("U1").itemsize
        _require_room(width, len(value), where)
        return {"$strings": value.tolist(), "width": width}
    if value.ndim == 1 and value.dtype == object:
        return {"$objects": [inner(part, k) for k, part in enumerate(value)]}
    raise ValueError(
        f"{where} is an array of type {value.dtype} with {value.ndim} axes, but a file can contain "
        "only arrays of numbers and one-dimensional arrays of text."
    )


def unpack(
    value: Any,
    where: str,
    arrays: Mapping[str, Array],
    depth: int = 0,
    tags: Mapping[str, Tag] | None = None,
) -> Any:
    """Restore the value that was given to `pack`; raise a ValueError for invalid JSON or arrays.

    `tags` are functions for more tags. Each is called with the tagged object, `where`, `arrays` and
    a function that restores a part of the object.

    >>> unpack({"C": {"$float": "inf"}, "folds": {"$tuple": [3, 5]}}, "parameters", {})
    {'C': inf, 'folds': (3, 5)}
    """
    if depth > DEPTH:
        raise ValueError(f"{where} is nested more than {DEPTH} levels deep.")

    def inner(part: Any, name: Any) -> Any:
        return unpack(part, f"{where}.{name}", arrays, depth + 1, tags)

    if isinstance(value, list):
        return [inner(part, k) for k, part in enumerate(value)]
    if isinstance(value, dict):
        tag = next(iter(value), "")
        if not tag.startswith("$"):
            return {key: inner(part, key) for key, part in value.items()}
        restore = _TAGS.get(tag) or (tags or {}).get(tag)
        if restore is None:
            raise ValueError(f"{where} has the tag {tag!r}, which this version does not know.")
        return restore(value, where, arrays, inner)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where} is a number that is too large for float64.")
    return value


def to_json(tree: Any) -> str:
    """Return the JSON text of the result of `pack`."""
    return json.dumps(tree, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Any:
    """Parse a JSON text; raise a ValueError if it is invalid or nested too deeply.

    >>> from_json("[NaN]")
    Traceback (most recent call last):
        ...
    ValueError: NaN is not valid JSON
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not valid JSON")


def to_arrays(values: Mapping[str, Any]) -> dict[str, Array]:
    """Convert named plain values to named arrays (copies).

    One of the arrays, 'values', contains everything that is not an array, as JSON.

    >>> arrays = to_arrays({"epoch": 3, "model": {"W": np.zeros(2)}})
    >>> arrays["model.W"], arrays["values"].item()
    (array([0., 0.]), '{"epoch":3,"model":{"W":{"$array":"model.W"}}}')
    >>> from_arrays(arrays)
    {'epoch': 3, 'model': {'W': array([0., 0.])}}
    """
    arrays: dict[str, Array] = {}
    tree = {name: pack(value, name, arrays) for name, value in values.items()}
    copies = {name: array.copy() for name, array in arrays.items()}
    return {TREE: np.array(to_json(tree)), **copies}


def from_arrays(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Restore copies of the values that were given to `to_arrays`; raise ValueError if invalid."""
    text = arrays.get(TREE)
    if text is None or text.dtype.kind != "U" or text.ndim:
        raise ValueError(f"The arrays must contain the text {TREE!r}.")
    tree = from_json(str(text))
    if not isinstance(tree, dict):
        raise ValueError(f"The text {TREE!r} must be a JSON object.")
    copies = {name: np.array(array) for name, array in arrays.items()}
    return {name: unpack(value, name, copies) for name, value in tree.items()}


def _float(value: Any, where: str, *_: Any) -> float:
    word = value["$float"]
    if not isinstance(word, str) or word not in NOT_FINITE:
        raise ValueError(f"{where} must be inf, -inf or nan. Got {word!r} instead.")
    return NOT_FINITE[word]


def _tuple(value: Any, where: str, arrays: Any, inner: Inner) -> Any:
    parts = _require_list(value["$tuple"], where)
    return tuple(inner(part, k) for k, part in enumerate(parts))


def _pairs(value: Any, where: str, arrays: Any, inner: Inner) -> Any:
    out = {}
    for n, pair in enumerate(_require_list(value["$pairs"], where)):
        key, part = _require_list(pair, where, length=2)
        key = inner(key, "key")
        try:
            out[key] = inner(part, n)
        except TypeError:
            raise ValueError(f"{where} has a key that is not hashable.") from None
    return out


def _scalar(value: Any, where: str, arrays: Any, inner: Inner) -> Any:
    name, number = _require_list(value["$scalar"], where, length=2)
    number = inner(number, "scalar")
    if name == "str" and isinstance(number, str):
        return np.str_(number)
    wanted = {"bool": bool, **dict.fromkeys(FLOATS, float)}.get(str(name), int)
    if str(name) not in NUMBERS | FLOATS or type(number) is not wanted:
        raise ValueError(f"{where} is not a scalar of type {name!r}.")
    try:
        with np.errstate(over="ignore"):
            out = np.dtype(name).type(number)
    except OverflowError:
        out = None
    if out is None or not (out.item() == number or number != number):
        raise ValueError(f"{where} is {number!r}, which the type {name} cannot represent.")
    return out


def _array(value: Any, where: str, arrays: Mapping[str, Array], *_: Any) -> Array:
    name = value["$array"]
    # The name of an array is its place in the tree, so that no array is used twice.
    if name != where or where not in arrays:
        raise ValueError(f"{where} has no array.")
    return arrays[where]


def _strings(value: Any, where: str, *_: Any) -> Array:
    texts, width = _require_list(value["$strings"], where), value.get("width")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{where} must be a list of text. Some entries are not text.")
    if type(width) is not int or width < 1:
        raise ValueError(f"{where} must be an array of text with a width >= 1.")
    _require_room(width, len(texts), where)
    out = np.array(texts, f"U{width}")
    if out.tolist() != texts:  # text is longer than the width, or ends in zeros, which numpy drops
        raise ValueError(f"{where} has text that does not fit into {width} characters.")
    return out


def _objects(value: Any, where: str, arrays: Any, inner: Inner) -> Array:
    parts = _require_list(value["$objects"], where)
    out = np.empty(len(parts), object)
    for k, part in enumerate(parts):
        out[k] = inner(part, k)
    return out


def _type(value: Any, where: str, *_: Any) -> type:
    return TYPES[_name(value["$type"], where, TYPES)]


def _dtype(value: Any, where: str, *_: Any) -> Any:
    return np.dtype(_name(value["$dtype"], where, DTYPES))


def _slice(value: Any, where: str, arrays: Any, inner: Inner) -> slice:
    ends = inner(_require_list(value["$slice"], where, length=3), "slice")
    if not all(end is None or type(end) in (int, str) for end in ends):
        raise ValueError(f"{where} must be a slice between whole numbers or names.")
    return slice(*ends)


_TAGS: dict[str, Tag] = {
    "$float": _float,
    "$tuple": _tuple,
    "$pairs": _pairs,
    "$scalar": _scalar,
    "$array": _array,
    "$strings": _strings,
    "$objects": _objects,
    "$type": _type,
    "$dtype": _dtype,
    "$slice": _slice,
}


def _require_room(width: int, length: int, where: str) -> None:
    if width * max(length, 1) > CHARACTERS:
        raise ValueError(
            f"{where} is an array of {length} texts padded to {width} characters, more than "
            f"{CHARACTERS} characters in total. Use a list."
        )


def _name(word: Any, where: str, known: Collection[str]) -> str:
    if not isinstance(word, str) or word not in known:
        raise ValueError(f"{where} must be one of {', '.join(sorted(known))}. Got {word!r}.")
    return word


def _require_list(value: Any, where: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in (None, len(value)):
        of = "" if length is None else f" of {length}"
        raise ValueError(f"{where} must be a list{of}.")
    return value
