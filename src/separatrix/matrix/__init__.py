"""X as the kernels read it: one matrix, whatever its type and layout."""

from separatrix.matrix.matrix import (
    Array,
    Matrix,
    by_model,
    first_not_finite,
    get_threads,
    per_model,
    pick_models,
    rows_read,
    set_threads,
    silence,
    sum_of_squares,
    sum_samples,
    working_type,
    zeros,
)

__all__ = [
    "Array",
    "Matrix",
    "by_model",
    "first_not_finite",
    "get_threads",
    "per_model",
    "pick_models",
    "rows_read",
    "set_threads",
    "silence",
    "sum_of_squares",
    "sum_samples",
    "working_type",
    "zeros",
]
