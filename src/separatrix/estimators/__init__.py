"""The scikit-learn estimators."""

from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.intervals import Intervals, confidence_intervals
from separatrix.estimators.kernel_classifier import KernelClassifier
from separatrix.estimators.kernel_ridge import KernelRidge, KernelRidgeCV
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.logistic_cv import LogisticRegressionCV
from separatrix.estimators.many import fit_many
from separatrix.estimators.path import RegularizationPath, regularization_path
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.search import GridSearchCV
from separatrix.estimators.svc import LinearSVC
from separatrix.estimators.svc_cv import LinearSVCCV
from separatrix.estimators.threshold import Threshold

__all__ = [
    "GradientDescentClassifier",
    "GridSearchCV",
    "Intervals",
    "KernelClassifier",
    "KernelRidge",
    "KernelRidgeCV",
    "LinearSVC",
    "LinearSVCCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Perceptron",
    "RegularizationPath",
    "Threshold",
    "confidence_intervals",
    "fit_many",
    "regularization_path",
]
