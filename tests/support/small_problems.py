"""Small problems of two and three classes."""

import numpy as np
import scipy.sparse as sp

STRENGTHS = [0.03, 0.3, 3.0]


def make_data(n=150, d=5, n_classes=2, seed=0):
    """Features on different scales and far from 0, and overlapping classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X[:, :n_classes] + rng.standard_normal((n, n_classes))).argmax(axis=1)
    return X * np.geomspace(0.1, 10, d) + np.linspace(-3, 3, d), y


X2, Y2 = make_data()
X3, Y3 = make_data(n_classes=3)
SPARSE = sp.csr_array(X2 * (np.random.default_rng(1).random(X2.shape) < 0.5))
WEIGHTS = np.random.default_rng(2).integers(1, 4, len(Y2)).astype(float)
