"""Searches over penalties and parameters, which train folds and candidates together."""

from separatrix.model_selection.grid_search import GridSearchCV
from separatrix.model_selection.logistic_cv import LogisticRegressionCV
from separatrix.model_selection.regularization_path import RegularizationPath, regularization_path
from separatrix.model_selection.svc_cv import LinearSVCCV

__all__ = [
    "GridSearchCV",
    "LinearSVCCV",
    "LogisticRegressionCV",
    "RegularizationPath",
    "regularization_path",
]
