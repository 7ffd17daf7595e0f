"""scikit-learn's own tests of LinearSVC, run on our class."""

import inspect

import sklearn.svm.tests.test_svm as theirs

from separatrix import LinearSVC
from support.borrowed_tests import borrow

CLASSES = {"LinearSVC": LinearSVC}


def uses_linear_svc(name: str) -> bool:
    return "LinearSVC" in inspect.getsource(getattr(theirs, name))


globals().update(borrow("sklearn.svm.tests.test_svm", CLASSES, uses_linear_svc))
