"""The optimum found by scipy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from separatrix.model import Model
from separatrix.objective import Objective


def reference(objective: Objective, outputs: int) -> float:
    """Return the lowest objective that scipy finds for a single model."""
    d = objective.data.n_features

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        model = Model(v[: d * outputs].reshape(d, 1, outputs).copy(), v[d * outputs :][None].copy())
        GW, gb = objective.gradient(model)
        return float(objective.value(model)[0]), np.concatenate([GW.ravel(), gb.ravel()])

    options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}
    return float(minimize(value, np.zeros((d + 1) * outputs), jac=True, options=options,
                          method="L-BFGS-B").fun)  # fmt: skip
