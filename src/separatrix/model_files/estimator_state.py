"""Convert fitted estimators to JSON and arrays, and restore them.

Three tables list the classes and their saved attributes: classifiers, transformers of scikit-learn,
and pipelines and searches. Attributes that are not in a table are not saved, and loading a file
never creates an object of another class.

An estimator inside of another one, such as a step of a pipeline, is stored as an object with the
tag "$estimator". A loss has the tag "$loss".
"""

from __future__ import annotations

import inspect
import sys
from collections import UserList
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._sklearn_compat import validate_parameters
from separatrix.losses import Loss
from separatrix.matrix import Array
from separatrix.model_files.attribute_schemas import LOSS
from separatrix.model_files.classifier_table import CLASSIFIERS
from separatrix.model_files.composite_table import COMPOSITES
from separatrix.model_files.saved_class import SavedClass, saved_as
from separatrix.model_files.transformer_table import TRANSFORMERS
from separatrix.packing import not_plain, pack, unpack
from separatrix.packing.schemas import choice, dict_of, fields_of, is_text, optional

CLASSES: dict[type, SavedClass] = CLASSIFIERS | COMPOSITES | TRANSFORMERS
BY_NAME = {kind.__name__: kind for kind in CLASSES}
# What `set_output` of a transformer was called with.
OUTPUT = "_sklearn_output_config"
OUTPUT_SCHEMA = optional(dict_of(optional(choice("default", "pandas", "polars"))))

Inner = Callable[[Any, Any], Any]


def require_known(estimator: Any) -> None:
    """Raise unless the classes of an estimator and of its parts are in the tables."""
    for name, part in _parts_of(estimator).items():
        kind = saved_as(type(part))
        if kind not in CLASSES:
            got = f"The step '{name}' is of the class" if name else "Got an object of the class"
            raise TypeError(
                f"{got} {kind.__module__}.{kind.__qualname__}, which cannot be saved. Classes that "
                f"can be saved: {', '.join(BY_NAME)}."
            )


def _parts_of(estimator: Any) -> dict[str, Any]:
    """Return an estimator and the estimators in its parameters, by their names in scikit-learn."""
    if type(estimator) not in COMPOSITES:
        return {"": estimator}
    parameters = estimator.get_params(deep=True).items()
    parts = {name: value for name, value in parameters if hasattr(value, "get_params")}
    return {"": estimator} | parts


def to_state(estimator: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Convert a fitted estimator to JSON and arrays.

    >>> from separatrix import Perceptron
    >>> model = Perceptron().fit([[0.0], [1.0]], ["no", "yes"])
    >>> content, arrays = to_state(model)
    >>> content["estimator"], content["fitted"]["classes_"]
    ('Perceptron', {'$strings': ['no', 'yes'], 'width': 3})
    >>> from_state(content, arrays).predict([[2.0]])
    array(['yes'], dtype='<U3')
    """
    require_known(estimator)
    check_is_fitted(estimator)
    writer = _Writer(estimator)
    content = {"estimator": saved_as(type(estimator)).__name__} | writer.state(estimator, "", 0)
    try:
        from_state(content, writer.arrays)
    except ValueError as error:
        raise ValueError(
            f"This {type(estimator).__name__} cannot be saved, because the file could not be "
            f"loaded again: {error} Fit it again."
        ) from None
    return content, writer.arrays


class _SavingError(ValueError):
    """The error for a part that cannot be saved. It names the estimator and its step."""


class _Writer:
    """Converts the estimators of a file, and collects their arrays."""

    def __init__(self, root: Any) -> None:
        self.arrays: dict[str, Array] = {}
        self.names = {id(part): name for name, part in _parts_of(root).items() if name}

    def state(self, estimator: Any, prefix: str, depth: int) -> dict[str, Any]:
        """Convert an estimator. The names of its arrays begin with `prefix`."""
        kind = saved_as(type(estimator))
        row = CLASSES[kind]
        found = row.found(estimator)

        def value(part: Any, name: str) -> Any:
            return pack(part, f"{prefix}{name}", self.arrays, depth + 1, self.other)

        def fitted() -> dict[str, Any]:
            try:
                return {
                    name: value(schema.pack(found[name]), name)
                    for name, schema in row.attributes.items()
                    if name in found
                }
            except _SavingError:
                raise
            except ValueError as error:
                raise _SavingError(f"{self.words(estimator)} cannot be saved: {error}") from None

        # The errors of fitted attributes are reported before those of parameters. But the steps of
        # a pipeline are parameters, and their names are known only there.
        late = type(estimator) in COMPOSITES
        attributes = {} if late else fitted()
        given = _parameters_of(estimator)
        parameters = {name: self.parameter(estimator, name, value) for name in given}
        return {
            "parameters": parameters,
            "defaults": [name for name in given if _is_default(kind, name, given[name])],
            "output": found.get(OUTPUT),
            "fitted": fitted() if late else attributes,
        }

    def parameter(self, estimator: Any, name: str, packed: Inner) -> Any:
        """Convert a parameter; if it is refused, name its estimator and its step."""
        try:
            return packed(_parameters_of(estimator)[name], f"parameters.{name}")
        except _SavingError:
            raise
        except ValueError as error:
            remedy = (
                "Use values that are numbers, text or arrays, or do this work before the pipeline."
                if type(estimator) in TRANSFORMERS
                else f"Set another value with set_params({name}=...) before saving. This does not "
                "change the fitted model."
            )
            raise _SavingError(
                f"The '{name}' parameter of {self.words(estimator)} cannot be saved: {error} "
                f"{remedy}"
            ) from None

    def words(self, estimator: Any) -> str:
        """Return the class of an estimator, and the name of its step."""
        step = self.names.get(id(estimator))
        return type(estimator).__name__ + (f", step {step!r}," if step else "")

    def other(self, value: Any, where: str, depth: int) -> Any:
        """Convert a value that is not plain."""
        if saved_as(type(value)) in CLASSES:
            name = saved_as(type(value)).__name__
            return {"$estimator": name} | self.state(value, f"{where}.", depth)
        if isinstance(value, Loss) and not isinstance(value, type):
            return {"$loss": LOSS.pack(value)}
        if _is_column_names(value):
            return pack(np.asarray(value, object), where, self.arrays, depth, self.other)
        if isinstance(value, UserList):  # the remaining columns in scikit-learn 1.6
            return pack(list(value.data), where, self.arrays, depth, self.other)
        raise not_plain(value, where)


def _parameters_of(estimator: Any) -> dict[str, Any]:
    if hasattr(estimator, "get_params"):
        return dict(estimator.get_params(deep=False))
    return dict(vars(estimator))


def _is_default(kind: type, name: str, value: Any) -> bool:
    default = inspect.signature(kind).parameters[name].default
    parts = value if type(value) is tuple else (value,)
    if all(type(part) in (float, int, str) for part in parts):
        return bool(value == default) or (value != value and default != default)  # or both NaN
    return value is default


def _is_column_names(value: Any) -> bool:
    """Return whether a value is an index of pandas, such as df.columns, which an array replaces."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Index)


def from_state(content: Any, arrays: Mapping[str, Array]) -> Any:
    """Restore the estimator that was given to `to_state`; raise ValueError for invalid content."""
    name, *parts = fields_of(
        content, "model", "estimator", "parameters", "defaults", "output", "fitted"
    )
    estimator = _restored(
        name, parts, "", lambda part, where: unpack(part, where, arrays, 0, _TAGS)
    )
    _require_fitted(estimator, type(estimator).__name__)
    return estimator


def _require_fitted(estimator: Any, where: str) -> None:
    row = CLASSES[type(estimator)]
    if not row.is_fitted(vars(estimator)):
        missing = min(set(row.attributes) - row.optional - set(vars(estimator)))
        raise ValueError(f"the attribute {missing!r} of {where} is missing.")
    for part in row.parts(estimator):
        if type(part) in CLASSES:
            _require_fitted(part, f"{type(part).__name__} in {where}")


def _unpack_estimator(value: Any, where: str, arrays: Any, inner: Inner) -> Any:
    name, *parts = fields_of(
        value, where, "$estimator", "parameters", "defaults", "output", "fitted"
    )
    return _restored(name, parts, f"{where}.", inner)


def _restored(name: Any, parts: list[Any], prefix: str, inner: Inner) -> Any:
    """Restore an estimator. `inner` restores a part of its state."""
    given, defaults, output, fitted = parts
    if not is_text(name) or name not in BY_NAME:
        raise ValueError(
            f"its estimator must be one of {', '.join(BY_NAME)}. Got {str(name)[:80]!r} instead."
        )
    kind = BY_NAME[name]
    row = CLASSES[kind]
    estimator = kind(**_parameters(kind, given, defaults, prefix, inner))
    output = OUTPUT_SCHEMA.unpack(output, f"{prefix}output")
    if output is not None:
        setattr(estimator, OUTPUT, output)
    if not isinstance(fitted, dict):
        raise ValueError(f"{prefix}fitted must be an object.")
    unknown = set(fitted) - set(row.attributes)
    missing = set(row.attributes) - row.optional - set(fitted)
    if unknown or (fitted and missing):
        fault = "unknown" if unknown else "missing"
        raise ValueError(f"the attribute {min(unknown or missing)!r} of {name} is {fault}.")
    for attribute, tree in fitted.items():
        value = inner(tree, attribute)
        setattr(estimator, attribute, row.attributes[attribute].unpack(value, prefix + attribute))
    try:
        validate_parameters(estimator)
        if not missing:
            row.restore(estimator)
            row.check(estimator)
    except ValueError as error:
        raise ValueError(f"{prefix}{error}") from None
    return estimator


def _parameters(kind: type, given: Any, defaults: Any, prefix: str, inner: Inner) -> dict[str, Any]:
    """Return the parameters of an estimator, checked for unknown names.

    Other versions of scikit-learn can have more parameters. They are left out if they have their
    default values.
    """
    if not isinstance(given, dict) or not isinstance(defaults, list):
        raise ValueError(f"{prefix}parameters must be an object, and its defaults a list of names.")
    known = inspect.signature(kind).parameters
    unknown = [name for name in given if name not in known and name not in defaults]
    if unknown:
        raise ValueError(f"{kind.__name__} has no parameter {min(unknown)!r}.")
    needed = [name for name, part in known.items() if part.default is part.empty]
    if not set(needed) <= set(given):
        raise ValueError(f"{prefix}parameters must contain {', '.join(needed)}.")
    return {
        name: inner(value, f"parameters.{name}") for name, value in given.items() if name in known
    }


def _unpack_loss(value: Any, where: str, arrays: Any, inner: Inner) -> Loss:
    return LOSS.unpack(value["$loss"], where)


_TAGS = {"$estimator": _unpack_estimator, "$loss": _unpack_loss}
