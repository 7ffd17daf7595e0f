"""scikit-learn's own tests of the perceptron, run on the class that `patch` puts in."""

from separatrix.patching import Perceptron
from support.borrowed_tests import borrow

CLASSES = {"Perceptron": Perceptron}

EXCLUDED = {
    "test_perceptron_l1_ratio": "expects different accuracies, which depend on the random order",
}

globals().update(borrow("sklearn.linear_model.tests.test_perceptron", CLASSES))
