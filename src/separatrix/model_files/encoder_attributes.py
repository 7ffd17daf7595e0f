"""The fitted attributes of OneHotEncoder and OrdinalEncoder.

A file contains the categories, the rare ones among them, and the ones to drop. Everything else is
computed from these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from separatrix.matrix import Array
from separatrix.model_files.attribute_schemas import FEATURES, NAMES_ONLY
from separatrix.model_files.saved_class import require_consistent
from separatrix.packing.schemas import array, is_array, list_of, optional, validated


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _is_categories(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "biufUO":
        return False
    if value.dtype.kind in "OU":
        return True
    # scikit-learn finds numbers by binary search. NaN is last.
    known = value[:-1] if len(value) and value[-1] != value[-1] else value
    return bool((known[:-1] < known[1:]).all())


CATEGORIES = list_of(
    validated("an array of categories, with numbers in sorted order", _is_categories)
)
RARE = list_of(
    optional(
        array("i", 1).such_that(
            lambda found: len(found) and (found[:-1] < found[1:]).all() and found[0] >= 0,
            "be sorted and not empty",
        )
    )
)


def _is_dropped(value: Any) -> bool:
    return is_array(value, "O", 1) and all(
        each is None or (isinstance(each, (int, np.integer)) and each >= 0) for each in value
    )


DROPPED = optional(validated("an array of positions or None", _is_dropped))
ENCODER = FEATURES | {"categories_": CATEGORIES, "_infrequent_indices": RARE}
ENCODER_OPTIONAL = NAMES_ONLY | {"_infrequent_indices"}


def _is_grouping(model: Any) -> bool:
    """Return whether the parameters of an encoder tell it to group rare categories."""
    return (model.max_categories or 0) >= 1 or model.min_frequency is not None


def restore_encoder(model: Any) -> None:
    model._infrequent_enabled = _is_grouping(model)
    # Ordinal codes leave out NaN, which is last.
    missing = {
        k: len(found) - 1
        for k, found in enumerate(model.categories_)
        if isinstance(model, OrdinalEncoder) and len(found) and is_nan(found.tolist()[-1])
    }
    if isinstance(model, OrdinalEncoder):
        model._missing_indices = missing
    sizes = [len(found) - (k in missing) for k, found in enumerate(model.categories_)]
    _check_encoder(model, sizes)
    if model._infrequent_enabled:
        model._default_to_infrequent_mappings = [
            None if rare is None else _positions(size, rare)
            for size, rare in zip(sizes, model._infrequent_indices)
        ]
    if isinstance(model, OneHotEncoder):
        _restore_widths(model)


def _check_encoder(model: Any, sizes: list[int]) -> None:
    d, grouping = model.n_features_in_, model._infrequent_enabled
    rare = getattr(model, "_infrequent_indices", None)
    claims = {
        "categories_": len(sizes) == d and all(sizes),
        "feature_names_in_": len(getattr(model, "feature_names_in_", range(d))) == d,
        "_infrequent_indices": (rare is not None) == grouping
        and (
            rare is None
            or (
                len(rare) == d
                and all(found is None or found[-1] < size for found, size in zip(rare, sizes))
            )
        ),
    }
    require_consistent(claims, f"{d} features, their categories and its parameters")


def _positions(size: int, rare: Array) -> Array:
    """Return the position of every category after the rare ones are grouped as the last one."""
    out = np.full(size, size - len(rare))
    out[np.setdiff1d(np.arange(size), rare)] = np.arange(size - len(rare))
    return out


def _restore_widths(model: Any) -> None:
    """Compute the number of columns of every feature after grouping and dropping categories."""
    sizes = [len(found) for found in model.categories_]
    rare = getattr(model, "_infrequent_indices", [None] * len(sizes))
    grouped = [size if found is None else size - len(found) + 1 for size, found in zip(sizes, rare)]
    dropped = model._drop_idx_after_grouping
    given = model.drop_idx_
    claims = {
        name: (values is None) == (model.drop is None)
        and (
            values is None
            or (
                len(values) == len(sizes)
                and all(k is None or k < most for k, most in zip(values, limits))
            )
        )
        for name, values, limits in (
            ("_drop_idx_after_grouping", dropped, grouped),
            ("drop_idx_", given, sizes),
        )
    }
    require_consistent(claims, "the categories and the parameter 'drop'")
    model._n_features_outs = [
        size - (dropped is not None and dropped[k] is not None) for k, size in enumerate(grouped)
    ]
