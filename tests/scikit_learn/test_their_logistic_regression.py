"""scikit-learn's own tests of logistic regression, run on the classes that `patch` puts in."""

from separatrix.patching import LogisticRegression, LogisticRegressionCV
from support.borrowed_tests import borrow
from support.scikit_learn import BEFORE_1_8

CLASSES = {"LogisticRegression": LogisticRegression, "LogisticRegressionCV": LogisticRegressionCV}

PRIVATE = "calls a private function of scikit-learn"
MESSAGE = "expects the message of one of scikit-learn's solvers"
ARRAYS = "needs array libraries that the tests do not install"
DEPRECATED = "deprecated parameters are accepted without a warning"

# Tests that say nothing about this library.
EXCLUDED = {
    "test_consistency_path": PRIVATE,
    "test_logistic_cv_multinomial_score": PRIVATE,
    "test_logreg_predict_proba_multinomial": PRIVATE,
    "test_get_default_scorer": PRIVATE,
    "test_logistic_regression_path_convergence_fail": PRIVATE,
    "test_logistic_regression_path_coefs_multinomial": PRIVATE,
    "test_logistic_regression_path_init_coefs": PRIVATE,
    "test_logistic_regression_array_api_compliance": ARRAYS,
    "test_logistic_regression_array_api_warm_start": ARRAYS,
    "test_max_iter": MESSAGE,
    "test_newton_cholesky_fallback_to_lbfgs": MESSAGE,
    "test_large_sparse_matrix[csr_matrix-liblinear]": MESSAGE,
    "test_large_sparse_matrix[csr_matrix-sag]": MESSAGE,
    "test_large_sparse_matrix[csr_matrix-saga]": MESSAGE,
    "test_large_sparse_matrix[csr_array-liblinear]": MESSAGE,
    "test_large_sparse_matrix[csr_array-sag]": MESSAGE,
    "test_large_sparse_matrix[csr_array-saga]": MESSAGE,
    "test_liblinear_with_large_values": MESSAGE,
    "test_liblinear_dual_random_state": "expects the random order of LIBLINEAR",
}

# Tests that fail because this library behaves differently.
DIFFERENT = {
    "test_check_solver_option": "every solver's name accepts every penalty",
    "test_liblinear_multiclass_raises": "several classes are fitted one against the rest",
    "test_logistic_regression_callback_support_warning": "every solver calls the callbacks",
    "test_penalty_deprecated": DEPRECATED,
    "test_logisticregressioncv_warns_with_use_legacy_attributes": DEPRECATED,
    "test_l1_ratio_None_deprecated": DEPRECATED,
    "test_logisticregression_warns_with_n_jobs": DEPRECATED,
    "test_lr_penalty_l1ratio_incompatible[l1-0.0]": DEPRECATED,
    "test_lr_scoring_warns": DEPRECATED,
}

if BEFORE_1_8:
    TWO_ROWS = "softmax has one row of weights per class, also for two classes"
    EXCLUDED |= {"test_lr_liblinear_warning": MESSAGE}
    DIFFERENT |= {
        "test_multi_class_deprecated": DEPRECATED,
        "test_multinomial_binary": TWO_ROWS,
        "test_multinomial_binary_probabilities": TWO_ROWS,
        "test_ovr_multinomial_iris": "one-vs-rest has one C for all classes, and one score",
        "test_lr_cv_scores_differ_when_sample_weight_is_requested": (
            "score refuses weights that the scorer does not request, as from version 1.8 on"
        ),
    }

globals().update(borrow("sklearn.linear_model.tests.test_logistic", CLASSES))
