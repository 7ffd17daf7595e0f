"""scikit-learn's own tests of logistic regression, run on our classes."""

from separatrix import LogisticRegression, LogisticRegressionCV
from support.borrowed_tests import borrow

CLASSES = {"LogisticRegression": LogisticRegression, "LogisticRegressionCV": LogisticRegressionCV}

globals().update(borrow("sklearn.linear_model.tests.test_logistic", CLASSES))
