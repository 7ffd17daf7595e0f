"""X as the kernels read it: one matrix class for every type and layout."""

from separatrix.matrix.array_types import Array, working_type
from separatrix.matrix.finite import first_not_finite
from separatrix.matrix.matrix import Matrix, rows_read
from separatrix.matrix.model_axis import (
    models_first,
    per_model,
    pick_models,
    sum_samples,
    sum_squares,
    zero_unweighted,
    zeros,
)
from separatrix.matrix.moments import (
    bounds_by_group,
    column_moments,
    moments_of_models,
    squared_norm,
    squares_of_sample,
    weighted_squares,
)
from separatrix.matrix.storage import readable
from separatrix.matrix.threads import get_threads, kernel_threads, set_threads

__all__ = [
    "Array",
    "Matrix",
    "bounds_by_group",
    "column_moments",
    "first_not_finite",
    "get_threads",
    "kernel_threads",
    "models_first",
    "moments_of_models",
    "per_model",
    "pick_models",
    "readable",
    "rows_read",
    "set_threads",
    "squared_norm",
    "squares_of_sample",
    "sum_samples",
    "sum_squares",
    "weighted_squares",
    "working_type",
    "zero_unweighted",
    "zeros",
]
