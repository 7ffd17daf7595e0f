"""scikit-learn's own tests of SGDClassifier, run on the class that `patch` puts in."""

from separatrix.patching import SGDClassifier
from support.borrowed_tests import borrow

CLASSES = {"SGDClassifier": SGDClassifier}

PRIVATE = "uses private parts of scikit-learn's class"
MESSAGE = "expects a message of scikit-learn's solver"

# Tests that say nothing about this library.
EXCLUDED = {
    "test_plain_has_no_average_attr": PRIVATE,
    "test_validation_mask_correctly_subsets": PRIVATE,
    "test_partial_fit_weight_class_balanced": MESSAGE,
    "test_tol_parameter": MESSAGE,  # and scikit-learn's random order
}

SOFT_THRESHOLD = "the L1 penalty acts on all weights in every step, not only on those of the row"
CLASS_WEIGHTS = "class weights count in all problems of one class against the rest"
REGRESSION = "losses for regression are refused"
DEPRECATED = "deprecated parameters are accepted without a warning"
DIVERGED = "a fit that diverges warns and keeps its last good weights"

# Tests that fail because this library behaves differently.
DIFFERENT = {
    "test_sgd_l1": SOFT_THRESHOLD,
    "test_balanced_weight": CLASS_WEIGHTS,
    "test_regression_losses": REGRESSION,
    "test_power_t_limits": DEPRECATED,
    "test_passive_aggressive_deprecated_average": DEPRECATED,  # average=0, up to version 1.6
    "test_underflow_or_overflow": DIVERGED,
    "test_underflow_or_overlow": DIVERGED,  # its name up to version 1.8
}

# Tests of other classes and of scikit-learn's private losses, by a part of their names.
OTHERS = (
    "Regressor", "OneClass", "oneclass", "one_class", "ocsvm", "test_loss_hinge",
    "test_loss_modified_huber", "test_loss_epsilon_insensitive",
    "test_loss_squared_epsilon_insensitive", "test_gradient_squared_hinge",
)  # fmt: skip


def is_of_the_classifier(name: str) -> bool:
    return not any(part in name for part in OTHERS)


globals().update(borrow("sklearn.linear_model.tests.test_sgd", CLASSES, is_of_the_classifier))
