"""scikit-learn's own tests of SGDClassifier, run on the class that `patch` puts in."""

from separatrix.patching import SGDClassifier
from support.borrowed_tests import borrow

CLASSES = {"SGDClassifier": SGDClassifier}
EXCLUDED: dict[str, str] = {}
DIFFERENT: dict[str, str] = {}

globals().update(borrow("sklearn.linear_model.tests.test_sgd", CLASSES))
