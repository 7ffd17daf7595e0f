"""The transformers of scikit-learn that model files can contain, and their fitted attributes.

Attributes that follow from others are not saved but computed, so that a file cannot contradict
itself. Wrong ones could make compiled code of scipy write outside of its arrays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import make_column_selector
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from separatrix.model_files.attribute_schemas import FEATURES, NAMES_ONLY
from separatrix.model_files.encoder_attributes import (
    DROPPED,
    ENCODER,
    ENCODER_OPTIONAL,
    is_nan,
    restore_encoder,
)
from separatrix.model_files.saved_class import SavedClass, require_consistent
from separatrix.packing import Schema
from separatrix.packing.schemas import (
    ANYTHING,
    COUNT,
    TRUTH,
    array,
    is_array,
    is_number,
    is_text,
    optional,
    schema_error,
    validated,
)

PATTERN_LIMIT = 1000  # characters of a regular expression
DEGREE_LIMIT = 1000  # of polynomials, so that counting their terms takes no time
NUMBERS = array("f", 1)
N_SAMPLES = validated(
    "a number, or an array of numbers",
    lambda n: is_number(n) or isinstance(n, np.integer) or is_array(n, "iuf", 1),
)
VALUES = validated(
    "an array of numbers or of Python values with 1 axis",
    lambda value: isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biufO",
)
DTYPE = validated("a data type of numpy", lambda value: isinstance(value, np.dtype))


def _columns_in(model: Any) -> int:
    return int(model.n_features_in_)


# Scalers: arrays with one number for every feature.


def _scaler(*names: str, used: Mapping[str, str] | None = None) -> SavedClass:
    """Return the row of a scaler with these arrays; `used` names those that a parameter needs."""
    used = used or {}

    def check(model: Any) -> None:
        d = model.n_features_in_
        claims = {
            name: values is None or (np.ndim(values) == 0 or len(values) == d)
            for name in (*names, "n_samples_seen_", "feature_names_in_")
            for values in [getattr(model, name, None)]
        }
        for parameter, name in used.items():
            claims[name] = claims[name] and not (
                getattr(model, parameter) and getattr(model, name) is None
            )
        require_consistent(claims, f"{d} features and its parameters")

    schema = optional(NUMBERS) if used else NUMBERS
    return SavedClass(
        FEATURES | dict.fromkeys(names, schema) | {"n_samples_seen_": N_SAMPLES},
        NAMES_ONLY | {"n_samples_seen_"},
        check,
        columns=_columns_in,
    )


# Imputation.


def _check_imputer(model: Any) -> None:
    indicator, d = model.indicator_, model.n_features_in_
    flags = isinstance(indicator, MissingIndicator)
    claims = {
        "statistics_": len(model.statistics_) == d,
        "feature_names_in_": len(getattr(model, "feature_names_in_", range(d))) == d,
        "indicator_": flags == bool(model.add_indicator)
        and (indicator is None or (flags and getattr(indicator, "_n_features", None) == d)),
    }
    require_consistent(claims, f"{d} features and its parameters")


def _restore_imputer(model: Any) -> None:
    model._fill_dtype = model._fit_dtype  # scikit-learn has both from version 1.7


def _imputed_columns(model: Any) -> int:
    flags = 0 if model.indicator_ is None else len(model.indicator_.features_)
    if model.keep_empty_features:
        return len(model.statistics_) + flags
    return sum(not is_nan(value) for value in model.statistics_.tolist()) + flags


def _check_indicator(model: Any) -> None:
    d = model._n_features
    inside = bool(((model.features_ >= 0) & (model.features_ < d)).all())
    claims = {"features_": inside, "n_features_in_": getattr(model, "n_features_in_", d) == d}
    require_consistent(claims, f"{d} features")


# Words.


def _pack_vocabulary(vocabulary: Any) -> Any:
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError("The columns of vocabulary_ must be numbered from 0 without gaps.")
    return sorted(vocabulary, key=vocabulary.get)


def _unpack_vocabulary(value: Any, where: str) -> dict[str, int]:
    good = isinstance(value, list) and all(map(is_text, value)) and len(set(value)) == len(value)
    if not good or not value:
        raise schema_error(where, "be a list of different words", value)
    return {word: column for column, word in enumerate(value)}


VOCABULARY = Schema(_pack_vocabulary, _unpack_vocabulary)
WORDS: dict[str, Schema] = {"vocabulary_": VOCABULARY, "fixed_vocabulary_": TRUTH}


def _check_pattern(model: Any) -> None:
    pattern = model.token_pattern
    if pattern is None:
        return
    if len(pattern) > PATTERN_LIMIT:
        raise ValueError(f"token_pattern must have at most {PATTERN_LIMIT} characters.")
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"token_pattern must be a regular expression ({error}).") from None
    if groups > 1:
        raise ValueError("token_pattern must have at most one group.")


def _restore_words(model: Any) -> None:
    _check_pattern(model)
    model._stop_words_id = id(model.stop_words)  # they were checked before the model was saved


def _check_tfidf(model: Any) -> None:
    inner, d = model._tfidf, len(model.vocabulary_)
    idf = getattr(inner, "idf_", None)
    good = isinstance(inner, TfidfTransformer) and inner.use_idf == model.use_idf
    claims = {"_tfidf": good and (len(idf) == d if inner.use_idf and idf is not None else good)}
    claims["_tfidf"] = claims["_tfidf"] and (idf is not None) == bool(inner.use_idf)
    require_consistent(claims, f"{d} words and its parameters")


def _check_idf(model: Any) -> None:
    idf = getattr(model, "idf_", None)
    d = getattr(model, "n_features_in_", None)
    claims = {
        "idf_": (idf is not None) == bool(model.use_idf) and (idf is None or d in (None, len(idf)))
    }
    require_consistent(claims, "its features and parameters")


def _restore_polynomial(model: Any) -> None:
    """Compute the number of products of features, which depends only on the parameters."""
    if np.max(model.degree) > DEGREE_LIMIT:
        raise ValueError(f"parameters.degree must be at most {DEGREE_LIMIT}.")
    named = vars(model).pop("feature_names_in_", None)
    model.fit(sp.csr_array((1, model.n_features_in_)))
    if named is not None:
        model.feature_names_in_ = named
        require_consistent({"feature_names_in_": len(named) == model.n_features_in_}, "n_features")


TRANSFORMERS: dict[type, SavedClass] = {
    StandardScaler: _scaler(
        "mean_", "var_", "scale_", used={"with_mean": "mean_", "with_std": "scale_"}
    ),
    MinMaxScaler: _scaler("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    MaxAbsScaler: _scaler("max_abs_", "scale_"),
    RobustScaler: _scaler(
        "center_", "scale_", used={"with_centering": "center_", "with_scaling": "scale_"}
    ),
    Normalizer: _scaler(),
    FunctionTransformer: SavedClass(
        FEATURES, frozenset(FEATURES), columns=lambda model: getattr(model, "n_features_in_", None)
    ),
    PolynomialFeatures: SavedClass(
        FEATURES,
        NAMES_ONLY,
        restore=_restore_polynomial,
        columns=lambda model: int(model.n_output_features_),
    ),
    SimpleImputer: SavedClass(
        FEATURES | {"statistics_": VALUES, "indicator_": ANYTHING} | {"_fit_dtype": DTYPE},
        NAMES_ONLY,
        _check_imputer,
        _restore_imputer,
        _imputed_columns,
    ),
    MissingIndicator: SavedClass(
        FEATURES | {"features_": array("i", 1), "_n_features": COUNT, "_precomputed": TRUTH},
        frozenset(FEATURES),
        _check_indicator,
        columns=lambda model: len(model.features_),
    ),
    OneHotEncoder: SavedClass(
        ENCODER | {"drop_idx_": DROPPED, "_drop_idx_after_grouping": DROPPED},
        ENCODER_OPTIONAL,
        restore=restore_encoder,
        columns=lambda model: sum(model._n_features_outs),
    ),
    OrdinalEncoder: SavedClass(
        ENCODER, ENCODER_OPTIONAL, restore=restore_encoder, columns=_columns_in
    ),
    CountVectorizer: SavedClass(
        WORDS, restore=_restore_words, columns=lambda model: len(model.vocabulary_)
    ),
    TfidfVectorizer: SavedClass(
        WORDS | {"_tfidf": ANYTHING},
        check=_check_tfidf,
        restore=_restore_words,
        columns=lambda model: len(model.vocabulary_),
    ),
    HashingVectorizer: SavedClass(
        check=_check_pattern, columns=lambda model: int(model.n_features)
    ),
    TfidfTransformer: SavedClass(
        FEATURES | {"idf_": NUMBERS}, frozenset({*FEATURES, "idf_"}), _check_idf
    ),
    make_column_selector: SavedClass(),
}
