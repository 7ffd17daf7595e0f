"""Iris: several scores by cross-validation."""

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate

X, y = load_iris(return_X_y=True)
cv = StratifiedKFold(5, shuffle=True, random_state=1)
found = cross_validate(
    LogisticRegression(max_iter=1000), X, y, cv=cv, scoring=["accuracy", "neg_log_loss", "f1_macro"]
)
for name in ("accuracy", "neg_log_loss", "f1_macro"):
    print(name, found[f"test_{name}"].mean())
