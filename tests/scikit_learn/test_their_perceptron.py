"""scikit-learn's own tests of the perceptron, run on the class that `patch` puts in."""

from separatrix.patching import Perceptron
from support.borrowed_tests import borrow

CLASSES = {"Perceptron": Perceptron}

globals().update(borrow("sklearn.linear_model.tests.test_perceptron", CLASSES))
