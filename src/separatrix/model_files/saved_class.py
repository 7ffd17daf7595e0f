"""What a model file contains of the objects of one class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from separatrix.packing.schemas import Schema


def _nothing(_: Any) -> None:
    return None


@dataclass(frozen=True)
class SavedClass:
    """How the objects of one class are saved, restored and checked.

    Attributes
    ----------
    attributes : schemas of the fitted attributes. The parameters are always saved
    optional : attributes that some fits lack
    check : raises a ValueError if the restored attributes are not consistent. Its message begins
        with the name of an attribute
    restore : computes the attributes that follow from the saved ones
    columns : returns the number of columns that a transformer returns; None if it is not known
    parts : returns the objects that must be fitted if this one is
    found : returns all attributes, in the form in which they are saved
    """

    attributes: Mapping[str, Schema] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    check: Callable[[Any], None] = _nothing
    restore: Callable[[Any], None] = _nothing
    columns: Callable[[Any], int | None] = _nothing
    parts: Callable[[Any], Iterable[Any]] = lambda _: ()
    found: Callable[[Any], Mapping[str, Any]] = vars

    def is_fitted(self, found: Mapping[str, Any]) -> bool:
        """Return whether all attributes that every fit has are among these."""
        return set(self.attributes) - self.optional <= set(found)


def require_consistent(claims: Mapping[str, bool], others: str) -> None:
    """Raise a ValueError for the first attribute whose claim does not hold.

    >>> require_consistent({"mean_": False}, "3 features")
    Traceback (most recent call last):
        ...
    ValueError: mean_ is not consistent with 3 features.
    """
    for name, holds in claims.items():
        if not holds:
            raise ValueError(f"{name} is not consistent with {others}.")


def saved_as(kind: type) -> type:
    """Return the class as which objects of a class are saved.

    A class that `patch` puts in the place of one of scikit-learn's is saved as the class of this
    library that it extends.
    """
    known: type = vars(kind).get("_saved_as", kind)
    return known
