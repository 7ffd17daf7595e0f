"""scikit-learn's own tests of LinearSVC, run on the class that `patch` puts in."""

import inspect

import sklearn.svm.tests.test_svm as theirs

from separatrix.patching import LinearSVC
from support.borrowed_tests import borrow

CLASSES = {"LinearSVC": LinearSVC}

EXCLUDED = {
    "test_linear_svm_convergence_warnings": "expects the message and iterations of LIBLINEAR",
}
DIFFERENT: dict[str, str] = {}


def uses_linear_svc(name: str) -> bool:
    return "LinearSVC" in inspect.getsource(getattr(theirs, name))


globals().update(borrow("sklearn.svm.tests.test_svm", CLASSES, uses_linear_svc))
