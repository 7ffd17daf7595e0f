"""Classifiers with the API of scikit-learn, and `fit_many`, which fits a list of them."""

from separatrix.estimators.decisions.threshold import Threshold
from separatrix.estimators.fit_many import fit_many
from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.logistic import LogisticRegression
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.sgd import SGDClassifier
from separatrix.estimators.svc import LinearSVC

__all__ = [
    "GradientDescentClassifier",
    "LinearSVC",
    "LogisticRegression",
    "Perceptron",
    "SGDClassifier",
    "Threshold",
    "fit_many",
]
