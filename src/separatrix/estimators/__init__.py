"""The scikit-learn estimators."""

from separatrix.estimators.gradient import GradientDescentClassifier
from separatrix.estimators.many import fit_many
from separatrix.estimators.perceptron import Perceptron

__all__ = ["GradientDescentClassifier", "Perceptron", "fit_many"]
