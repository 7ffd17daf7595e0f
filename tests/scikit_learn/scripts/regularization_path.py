"""The weights of L1-penalised logistic regression along the strengths of the penalty."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import l1_min_c

X, y = load_iris(return_X_y=True)
X, y = X[y != 2], y[y != 2]
X /= X.max()
Cs = l1_min_c(X, y, loss="log") * np.logspace(0, 5, 8)
model = LogisticRegression(
    penalty="l1", solver="liblinear", tol=1e-6, max_iter=1_000_000, warm_start=True,
    intercept_scaling=10000.0,
)  # fmt: skip
for C in Cs:
    model.set_params(C=C).fit(X, y)
    print(f"C {C:.3g} non-zero", int((np.abs(model.coef_) > 1e-6).sum()))
print("accuracy", model.score(X, y))
