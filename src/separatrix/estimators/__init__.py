"""The scikit-learn estimators."""

from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.many import fit_many
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.svc import LinearSVC

__all__ = [
    "GradientDescentClassifier",
    "LinearSVC",
    "LogisticRegression",
    "Perceptron",
    "fit_many",
]
