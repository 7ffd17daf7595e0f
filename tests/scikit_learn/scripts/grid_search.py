"""Breast cancer: a grid over the penalty and its strength."""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
pipe = make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear"))
grid = {"logisticregression__penalty": ["l1", "l2"], "logisticregression__C": [0.01, 0.1, 1.0]}
search = GridSearchCV(pipe, grid, cv=5, scoring="roc_auc").fit(X, y)
print("C", search.best_params_["logisticregression__C"])
print("auc", search.best_score_)
