"""Pipelines, unions of transformers and searches: objects that contain other objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from separatrix._sklearn_compat import scorers_by_name
from separatrix.matrix import Array
from separatrix.model_files.attribute_schemas import FEATURES, NAMES_ONLY
from separatrix.model_files.saved_class import SavedClass, require_consistent
from separatrix.model_files.transformer_table import TRANSFORMERS
from separatrix.model_selection.grid_search import GridSearchCV
from separatrix.packing import Schema
from separatrix.packing.schemas import (
    ANYTHING,
    COUNT,
    FLOAT,
    NUMBER,
    TRUTH,
    dict_of,
    fields_of,
    is_array,
    is_integer,
    is_number,
    is_text,
    list_of,
    schema_error,
    validated,
)

PASSED = ("passthrough", "drop")  # words in place of a transformer


def columns_of(model: Any) -> int | None:
    """Return the number of columns that a transformer returns; None if it is not known."""
    row = TRANSFORMERS.get(type(model)) or COMPOSITES.get(type(model))
    return row.columns(model) if row is not None and row.is_fitted(vars(model)) else None


def _require_parts(name: str, parts: Any, length: int) -> None:
    """Raise unless a parameter is a list of tuples that begin with different names."""
    if not isinstance(parts, list) or not all(
        isinstance(part, tuple) and len(part) == length and is_text(part[0]) for part in parts
    ):
        raise ValueError(f"{name} must be a list of tuples of {length} that begin with a name.")
    names = [part[0] for part in parts]
    if len(set(names)) < len(names):
        raise ValueError(f"{name} must have different names. Got {', '.join(names)}.")


def _require_transformers(name: str, models: Iterable[Any], passed: tuple[Any, ...]) -> None:
    for model in models:
        known = type(model) in TRANSFORMERS or type(model) in (
            Pipeline,
            ColumnTransformer,
            FeatureUnion,
        )
        if not known and not ((model is None or is_text(model)) and model in passed):
            raise ValueError(f"{name} must contain transformers. Got {str(model)[:80]} instead.")


# Pipeline.


def _pipeline_parts(model: Pipeline) -> list[Any]:
    return [step for _, step in model.steps if step not in (None, "passthrough")]


def _check_pipeline(model: Pipeline) -> None:
    _require_parts("parameters.steps", model.steps, 2)
    if not model.steps:
        raise ValueError("parameters.steps must not be empty.")
    _require_transformers(
        "parameters.steps", [step for _, step in model.steps[:-1]], ("passthrough", None)
    )
    if model.memory is not None:
        raise ValueError("parameters.memory must be None, because it names a folder of pickles.")
    width: int | None = None
    for name, step in model.steps:
        if step in (None, "passthrough"):
            continue
        taken = getattr(step, "n_features_in_", None)
        if None not in (width, taken) and width != taken:
            raise ValueError(
                f"parameters.steps has the step {name!r} for {taken} features after a step that "
                f"returns {width}."
            )
        width = columns_of(step)


def _pipeline_columns(model: Pipeline) -> int | None:
    parts = _pipeline_parts(model)
    return columns_of(parts[-1]) if parts else None


# FeatureUnion.


def _check_weights(weights: Any) -> None:
    good = weights is None or (
        isinstance(weights, dict)
        and all(map(is_text, weights))
        and all(map(is_number, weights.values()))
    )
    if not good:
        raise schema_error(
            "parameters.transformer_weights", "be a dict of numbers or None", weights
        )


def _check_union(model: FeatureUnion) -> None:
    _require_parts("parameters.transformer_list", model.transformer_list, 2)
    models = [each for _, each in model.transformer_list]
    _require_transformers("parameters.transformer_list", models, PASSED)
    _check_weights(model.transformer_weights)


def _union_parts(model: FeatureUnion) -> list[Any]:
    return [each for _, each in model.transformer_list if each not in PASSED]


def _union_columns(model: FeatureUnion) -> int | None:
    models = [each for _, each in model.transformer_list if each != "drop"]
    widths = [None if each == "passthrough" else columns_of(each) for each in models]
    return None if None in widths else sum(width or 0 for width in widths)


# ColumnTransformer.

POSITIONS = dict_of(
    list_of(validated("a whole number", lambda k: is_integer(k, 0, np.iinfo(np.int64).max)))
)
SLICES = dict_of(
    validated(
        "a slice of columns",
        lambda part: (
            isinstance(part, slice)
            and type(part.start) is int
            and type(part.stop) is int
            and 0 <= part.start <= part.stop
        ),
    )
)


def _check_columns(model: ColumnTransformer) -> None:
    _require_parts("parameters.transformers", model.transformers, 3)
    rest = [model.remainder]
    _require_transformers(
        "parameters.transformers", [part[1] for part in model.transformers] + rest, PASSED
    )
    _check_weights(model.transformer_weights)
    if not hasattr(model, "transformers_"):
        return
    _require_parts("transformers_", model.transformers_, 3)
    _require_transformers("transformers_", [part[1] for part in model.transformers_], PASSED)
    taken, given = model._transformer_to_input_indices, model.output_indices_
    d, names = model.n_features_in_, [part[0] for part in model.transformers_]
    remainder = model._remainder
    claims = {
        "_transformer_to_input_indices": all(k < d for part in taken.values() for k in part)
        and set(names) <= set(taken),
        "output_indices_": set(names) <= set(given),
        "_columns": isinstance(model._columns, list),
        "_remainder": isinstance(remainder, tuple)
        and len(remainder) == 3
        and remainder[0] == "remainder",
        "feature_names_in_": len(getattr(model, "feature_names_in_", range(d))) == d,
    }
    for name, part, _ in model.transformers_:
        width = columns_of(part)
        if width is not None and name in given:
            claims["output_indices_"] &= given[name].stop - given[name].start == width
    require_consistent(claims, f"{d} features and its transformers")


def _column_parts(model: ColumnTransformer) -> list[Any]:
    """Return the transformers of a fitted object that were fitted: those that have columns."""
    taken = model._transformer_to_input_indices
    return [part for name, part, _ in model.transformers_ if part not in PASSED and taken[name]]


def _column_width(model: ColumnTransformer) -> int:
    return max((part.stop for part in model.output_indices_.values()), default=0)


# GridSearchCV.


def _pack_results(results: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _pack_masked(column) for name, column in results.items()}


def _pack_masked(column: Any) -> Any:
    if not isinstance(column, np.ma.MaskedArray):
        return column
    mask = np.ma.getmaskarray(column)
    data = column.data.copy()
    data[mask] = None if data.dtype == object else np.zeros(1, data.dtype)[0]  # it is arbitrary
    return {"data": data, "mask": mask}


def _unpack_results(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(map(is_text, value)):
        raise schema_error(where, "be a dict with text keys", value)
    found = {name: _unpack_column(part, f"{where}.{name}") for name, part in value.items()}
    n = len(found["params"]) if isinstance(found.get("params"), list) else 0
    good = n and all(np.shape(part) == (n,) for name, part in found.items() if name != "params")
    if not good or not all(isinstance(each, dict) for each in found["params"]):
        raise schema_error(where, "have one entry per candidate in every column", list(value))
    return found


def _unpack_column(value: Any, where: str) -> Any:
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return _require_array(value, where)
    data, mask = fields_of(value, where, "data", "mask")
    data = _require_array(data, where)
    if not is_array(mask, "b", data.ndim) or mask.shape != data.shape:
        raise schema_error(where, "have a mask of the same shape", mask)
    return np.ma.MaskedArray(data, mask)


def _require_array(value: Any, where: str) -> Array:
    if not isinstance(value, np.ndarray):
        raise schema_error(where, "be an array, or an array with a mask", value)
    return value


RESULTS = Schema(_pack_results, _unpack_results)
BEST: dict[str, Schema] = {
    "best_index_": COUNT,
    "best_params_": validated("a dict", lambda value: isinstance(value, dict)),
    "best_score_": FLOAT,
    "best_estimator_": ANYTHING,
    "refit_time_": FLOAT,
}
COUNTERS: dict[str, Schema] = {"n_batches_": COUNT, "n_passes_": NUMBER}


def _restore_search(model: GridSearchCV) -> None:
    """Find the scorers from their names."""
    try:
        scorer, _ = model._get_scorers()
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"parameters.scoring does not name scorers ({error}).") from None
    model.scorer_ = scorers_by_name(scorer) or scorer


def _check_search(model: GridSearchCV) -> None:
    n = len(model.cv_results_["params"])
    best = getattr(model, "best_estimator_", None)
    claims = {
        "best_index_": getattr(model, "best_index_", 0) < n,
        "best_estimator_": best is None or hasattr(best, "fit"),
    }
    require_consistent(claims, f"{n} candidates")


def _search_parts(model: GridSearchCV) -> list[Any]:
    return [model.best_estimator_] if hasattr(model, "best_estimator_") else []


COMPOSITES: dict[type, SavedClass] = {
    Pipeline: SavedClass(check=_check_pipeline, columns=_pipeline_columns, parts=_pipeline_parts),
    FeatureUnion: SavedClass(check=_check_union, columns=_union_columns, parts=_union_parts),
    ColumnTransformer: SavedClass(
        FEATURES
        | {
            "transformers_": ANYTHING,
            "_columns": ANYTHING,
            "_remainder": ANYTHING,
            "_transformer_to_input_indices": POSITIONS,
            "output_indices_": SLICES,
            "sparse_output_": TRUTH,
        },
        NAMES_ONLY,
        _check_columns,
        columns=_column_width,
        parts=_column_parts,
    ),
    GridSearchCV: SavedClass(
        {
            "cv_results_": RESULTS,
            "n_splits_": COUNT,
            "multimetric_": TRUTH,
            "interrupted_": TRUTH,
            "feature_names_in_": FEATURES["feature_names_in_"],
        }
        | BEST
        | COUNTERS,
        frozenset([*BEST, *COUNTERS, *NAMES_ONLY]),
        _check_search,
        _restore_search,
        parts=_search_parts,
    ),
}
