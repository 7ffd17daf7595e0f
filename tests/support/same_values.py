"""Equality of values, arrays and estimators at every level."""

import dataclasses
from collections import UserList

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector

from separatrix.cli.option_names import name_options
from separatrix.errors import Message
from separatrix.solver_state import State
from separatrix.training import History

# Attributes that differ between equal estimators: they follow from others, and are not saved.
RECOMPUTED = frozenset(
    [
        "_stop_words_id",
        "_transformers_feature_names_out",
        "scorer_",
        "_checked_cv_orig",
        "_fill_dtype",
    ]
)


def assert_same(a, b, where="model"):
    """Assert equal values, types and shapes at every level."""
    if isinstance(a, Message):  # the names of the fields in the template are not saved
        assert isinstance(b, Message) or not any(a.parameters()), where  # else stored as text
        assert name_options(a) == name_options(b), where
        return
    if isinstance(a, pd.Index):  # an array replaces it
        a = np.asarray(a, object)
    if isinstance(a, UserList):  # a list replaces it
        a = a.data
    assert type(a) is type(b), where
    if isinstance(a, State):  # what a pass over the data recomputes is not saved
        a, b = (dataclasses.replace(state, found=None) for state in (a, b))
    if sp.issparse(a):
        assert a.shape == b.shape
        assert_same(a.toarray(), b.toarray(), where)
    elif isinstance(a, np.ma.MaskedArray):
        assert_same(np.ma.getmaskarray(a), np.ma.getmaskarray(b), where)
        assert_same(a.compressed(), b.compressed(), where)
    elif isinstance(a, np.ndarray) and a.dtype == object and a.ndim == 1:
        assert_same(a.tolist(), b.tolist(), where)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        np.testing.assert_array_equal(a, b, where)
    elif isinstance(a, (dict, History)):
        assert set(a) == set(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for k, (one, other) in enumerate(zip(a, b)):
            assert_same(one, other, f"{where}.{k}")
    elif dataclasses.is_dataclass(a):
        assert_same(vars(a), vars(b), where)
    elif isinstance(a, (BaseEstimator, make_column_selector)):
        ours, theirs = ({k: v for k, v in vars(e).items() if k not in RECOMPUTED} for e in (a, b))
        assert_same(ours, theirs, where)
    else:
        assert a == b or (a != a and b != b), where
