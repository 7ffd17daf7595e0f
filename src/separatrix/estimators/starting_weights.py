"""Where training starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from separatrix.estimators.validation import require_choice
from separatrix.model import Model


def starting_weights(
    init: Any, init_scale: float, seed: int, n_features: int, n_outputs: int
) -> Model | None:
    """Where training starts: None for zeros."""
    if isinstance(init, str):
        require_choice("init", init, ("zeros", "random"))
        if init == "zeros":
            return None
        W = np.random.default_rng(seed).standard_normal((n_features, 1, n_outputs))
        return Model(init_scale * W, np.zeros((1, n_outputs)))
    try:
        coef, intercept = (np.asarray(part, float) for part in init)
        fits = coef.shape in ((n_outputs, n_features), (n_features,)) and np.isfinite(coef).all()
        coef = coef.reshape(n_outputs, n_features)
        intercept = intercept.reshape(n_outputs)
        if not (fits and np.isfinite(intercept).all()):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            "The 'init' parameter must be 'zeros', 'random' or a pair (coef, intercept) of finite "
            f"numbers of shapes ({n_outputs}, {n_features}) and ({n_outputs},). "
            f"Got {init!r} instead."
        ) from None
    return Model(np.ascontiguousarray(coef.T[:, None, :]), intercept[None].copy())


def seed_of(random_state: Any) -> int:
    """A whole number from whatever scikit-learn takes as a random state."""
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
