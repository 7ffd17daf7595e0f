"""Fit a preparation to training rows that come in several tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.readers.columns import Columns


def fit_preparation(
    tables: Iterable[Any], settings: Settings, feature_names: Sequence[str] | None
) -> Preparation:
    """Return the preparation of all rows of the tables together."""
    parts = list(tables)
    table: Any
    if isinstance(parts[0], Columns):
        table = Columns({name: np.concatenate([p[name] for p in parts]) for name in parts[0]})
    else:
        table = sp.vstack(parts) if sp.issparse(parts[0]) else np.concatenate(parts)
    names = None if isinstance(table, Columns) else feature_names
    return Preparation.fit(table, settings, feature_names=names)
