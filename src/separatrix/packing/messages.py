"""The schema of messages: their text and the parameters they name, as plain values.

A message without parameters is stored as text. Any other message is stored as a list of pieces:

    ["Raise ", {"parameter": "max_iter"}, "."]
    ["stopped at ", {"parameter": "tol", "value": 0.001, "form": "g"}]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import Formatter
from typing import Any

from separatrix.errors import NAMING_FORMS, Message, Parameter
from separatrix.packing.schemas import Schema, is_number, is_text, schema_error

# A format template from a file could read attributes or fill the memory. So files contain no
# templates, and only these format specifications of a value.
_FORM = re.compile(rf"{'|'.join(NAMING_FORMS)}|(\.\d{{1,2}})?[defg]?")


def _pack(message: Any) -> Any:
    if not isinstance(message, Message) or not any(message.parameters()):
        return str(message) if is_text(message) else message
    joined: list[Any] = []
    for piece in _pieces(message):
        if is_text(piece) and joined and is_text(joined[-1]):
            joined[-1] += piece
        elif piece:
            joined.append(piece)
    return joined


def _pieces(message: Message) -> Iterator[Any]:
    for text, name, form, conversion in Formatter().parse(message.template):
        yield text
        if name is None:
            continue
        value = message.values.get(name)
        if isinstance(value, Message) and not (form or conversion):
            yield from _pieces(value)
        elif isinstance(value, Parameter) and not conversion:
            yield _packed_parameter(value, form or "")
        else:
            field = f"{{{name}{f'!{conversion}' if conversion else ''}:{form}}}"
            yield field.format(**message.values)


def _packed_parameter(parameter: Parameter, form: str) -> dict[str, Any]:
    packed = {"parameter": parameter.name}
    if parameter.has_value:
        packed["value"] = parameter.value
    return packed | {k: v for k, v in (("form", form), ("of", parameter.of)) if v}


def _unpack(value: Any, where: str) -> str:
    if is_text(value):
        return str(value)
    if not isinstance(value, list):
        raise schema_error(where, "be text, or a list of its pieces", value)
    template, parameters = "", {}
    for k, piece in enumerate(value):
        if is_text(piece):
            template += piece.replace("{", "{{").replace("}", "}}")
            continue
        parameter, form = _unpacked_parameter(piece, f"{where}.{k}")
        parameters[f"p{k}"] = parameter
        template += f"{{p{k}:{form}}}"
    try:
        return Message(template, **parameters)
    except (TypeError, ValueError) as error:
        raise schema_error(
            where, f"name parameters with formats that fit their values ({error})", value
        ) from None


def _unpacked_parameter(piece: Any, where: str) -> tuple[Parameter, str]:
    if not isinstance(piece, dict) or not {"parameter"} <= set(piece) <= {
        "parameter",
        "value",
        "form",
        "of",
    }:
        raise schema_error(where, "be text, or a parameter with its value and format", piece)
    rest = dict(piece)
    name, form, of = rest.pop("parameter"), rest.pop("form", ""), rest.pop("of", "")
    if not all(map(is_text, (name, form, of))) or not _FORM.fullmatch(form):
        raise schema_error(where, "be a parameter with a name, and a format such as 'g'", piece)
    value = rest.get("value")
    if not (_is_plain(value) or (isinstance(value, dict) and all(map(is_text, value.values())))):
        raise schema_error(
            where,
            "be a parameter whose value is a number, text, texts by name, true, false or None",
            piece,
        )
    return Parameter(name, of=of, **rest), form


def _is_plain(value: Any) -> bool:
    return value is None or is_text(value) or is_number(value) or isinstance(value, bool)


MESSAGE = Schema(_pack, _unpack)
