"""Rows, models and penalties for the tests of the objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.model import Model
from support.forms import FORMS, Form

B, D = 3, 6
every_form = pytest.mark.parametrize("form", FORMS, ids=str)
KINDS = {"dense": np.asarray, "CSR": sp.csr_array, "CSC": sp.csc_array}


def rows(form: Form, n: int = 50, *, seed: int = 0, each: bool = False) -> tuple[np.ndarray, ...]:
    """X (n, d), y and s, with a class's rows shifted so that there is something to learn."""
    rng = np.random.default_rng(seed)
    size = (n, B) if each else n
    y = rng.integers(0, form.classes, size).astype(np.int32)
    shift = y if y.ndim == 1 else y[:, 0]
    X = rng.standard_normal((n, D)) + 0.4 * shift[:, None] * np.eye(D)[shift % D]
    s = rng.uniform(0.2, 2.0, size) * (rng.random(size) > 0.2)
    return X, y, s


def random_model(form: Form, seed: int = 1, dtype: type = np.float64) -> Model:
    rng = np.random.default_rng(seed)
    return Model(
        rng.standard_normal((D, B, form.outputs)).astype(dtype),
        rng.standard_normal((B, form.outputs)).astype(dtype),
    )


def refused(words: str) -> Any:
    return pytest.raises(ValueError, match=words)
