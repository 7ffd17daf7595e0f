"""Linear support vector machines."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import column_or_1d, validate_data

from separatrix._sklearn_compat import CallbackSupportMixin
from separatrix.errors import Message, Parameter, ParameterError
from separatrix.estimators.checks.class_weights import with_class_weights
from separatrix.estimators.checks.training_data import as_weights
from separatrix.estimators.checks.validation import (
    require_choice,
    require_flag,
    require_number,
)
from separatrix.estimators.decisions.calibration import Sigmoids, draw_folds, held_out_scores
from separatrix.estimators.linear_classifier import ACCEPTED
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.estimators.scikit_learn_parameters import own_multiclass, split_positional
from separatrix.losses import LOSSES, Loss, OneVsRest
from separatrix.matrix import Array

FORMS = ("ovr", "weston_watkins", "crammer_singer")


class LinearSVC(CallbackSupportMixin, OptimumClassifier):
    """Linear support vector machine that proves how close it is to the optimum.

    Minimises

        sum_i s_i loss_i / S + l1 |W|_1 + l2/2 |W|^2

    with s_i, S, l1 and l2 as in LogisticRegression.

    Parameters
    ----------
    penalty : {"auto", "l1", "l2", "elasticnet"} or None, default="auto"
        See LogisticRegression. A positional number is `C`.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss function.
    C : float, default=1.0
        Inverse of the penalty strength, > 0. Smaller values penalise more; `np.inf` means no
        penalty.
    multiclass : {"ovr", "weston_watkins", "crammer_singer"}, default="ovr"
        "ovr" is one-vs-rest. "weston_watkins" sums the loss over all wrong classes.
        "crammer_singer" takes the wrong class with the largest loss and requires loss="hinge".
    intercept_scaling : float, default=None
        None does not penalise the bias. A number c makes the bias the weight of a constant
        feature with the value c, which is penalised like all others. LIBLINEAR and scikit-learn
        do this with 1.0.
    probability : int or False, default=False
        Number of folds for calibrating probabilities by Platt scaling: a sigmoid is fitted to
        the decision values of held-out rows. With several classes it gives the probability of each
        class against the rest, and the probabilities are divided by their sum. The class with the
        highest score has the highest probability, and with two classes a score of 0 has the
        probability 1/2. So `predict` returns the most probable class, until `choose_threshold`
        changes the threshold. With `class_weight`, the probabilities are those of rows with these
        weights.
    l1_ratio, solver, tol, max_iter, fit_intercept, class_weight, warm_start, random_state,
    certified
        See LogisticRegression.
    device : str, default=None
        Device of PyTorch on which to train, such as "cuda"; None is the processor, without PyTorch.
        A device trains with the solver "lbfgs", which needs the squared hinge.
    dual : bool or "auto", default="auto"
        True or False refuses the combinations of `loss` and `penalty` that LIBLINEAR does not have.
    multi_class : str, default=None
        scikit-learn's name of `multiclass`.
    verbose
        A parameter of scikit-learn without a meaning here.

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, solver_, ...
        See LogisticRegression.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(C=0.1).fit(X, y)
    >>> model.stop_reason_, model.certificate_.relative_gap <= 1e-4
    ('tol', True)
    """

    def __init__(
        self,
        penalty: Any = "auto",
        loss: str = "squared_hinge",
        *,
        C: float = 1.0,
        multiclass: str = "ovr",
        l1_ratio: float | None = 0.0,
        intercept_scaling: float | None = None,
        probability: bool | int = False,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        device: str | None = None,
        dual: bool | str = "auto",
        multi_class: str | None = None,
        verbose: int = 0,
        certified: bool = False,
    ) -> None:
        penalty, C = split_positional(penalty, C)
        self.C = C
        self.loss = loss
        self.multiclass = multiclass
        self.l1_ratio = l1_ratio
        self.intercept_scaling = intercept_scaling
        self.probability = probability
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.penalty = penalty
        self.dual = dual
        self.multi_class = multi_class
        self.verbose = verbose
        self.certified = certified

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_choice("loss", self.loss, ("squared_hinge", "hinge"))
        require_choice("multiclass", self._multiclass(), FORMS)
        if self.multiclass == "crammer_singer" and self.loss != "hinge":
            raise ParameterError(
                Message(
                    "multiclass='crammer_singer' requires the hinge loss. Got {given}. Set "
                    "{hinge}, or multiclass='weston_watkins' or 'ovr'.",
                    given=Parameter("loss", self.loss),
                    hinge=Parameter("loss", "hinge"),
                )
            )
        require_number("intercept_scaling", self.intercept_scaling, open_low=True, optional=True)
        _require_folds(self.probability)
        self._check_dual()

    def _check_dual(self) -> None:
        """Raise if `dual` asks for a problem that LIBLINEAR does not have; "auto" never does."""
        if self.dual == "auto":
            return
        require_flag("dual", self.dual)
        l1 = self._penalty()[1] > 0.0
        if (l1 and (self.dual or self.loss == "hinge")) or (self.loss == "hinge" and not self.dual):
            raise ParameterError(
                f"Unsupported set of arguments: penalty='{'l1' if l1 else 'l2'}', "
                f"loss={self.loss!r} and dual={self.dual} cannot be combined. Set dual='auto'.",
                parameter="dual",
            )

    def _multiclass(self) -> str:
        return own_multiclass(self.multiclass, self.multi_class, "ovr")

    def _bias_factor(self) -> float:
        if self.intercept_scaling is None or not self.fit_intercept:
            return 0.0
        return 1.0 / self.intercept_scaling

    def _needs_memory(self, has_validation: bool) -> str:
        return "" if self.probability is False else f"probability={self.probability}"

    def _finish(self, X: Any, y: Any, sample_weight: Array | None) -> None:
        if self.probability is False:
            self._sigmoids = None
            return
        checked = validate_data(self, X, reset=False, accept_sparse=ACCEPTED, dtype="numeric")
        labels = column_or_1d(y)
        given = as_weights(sample_weight, checked, 1)
        s = np.ones(len(labels)) if given is None else given
        y = np.searchsorted(self.classes_, labels)
        # Probabilities for the weighted classes, like the scores: both agree on the likelier class.
        weighted = with_class_weights(s, y, self.classes_, [self.class_weight])
        assert weighted is not None
        folds = draw_folds(checked, labels, weighted, int(self.probability), self._seed())
        models = [
            clone(self).set_params(probability=False, warm_start=False)
            for _ in range(folds.max() + 1)
        ]
        scores, rows = held_out_scores(models, checked, labels, s, folds), folds >= 0
        self._sigmoids = Sigmoids.fit(scores[rows], y[rows], weighted[rows])

    def _has_probabilities(self) -> bool:
        if self.probability is not False:
            return True
        raise AttributeError(
            "A support vector machine does not define probabilities. Set probability=5 to "
            "calibrate them on 5 folds, or use LogisticRegression."
        )

    def _probabilities(self, X: Any) -> Array:
        scores = self.decision_function(X)
        if self._sigmoids is None:
            raise NotFittedError("The probabilities are not calibrated. Fit with probability set.")
        return self._sigmoids.probabilities(scores.reshape(len(scores), -1))

    def _loss_and_outputs(self, n_classes: int) -> tuple[Loss, int]:
        crammer_singer = self._multiclass() == "crammer_singer"
        loss = LOSSES["crammer_singer" if crammer_singer else self.loss]
        if self._multiclass() == "ovr" and n_classes > 2:
            return OneVsRest(loss), n_classes
        return loss, loss.n_outputs(n_classes)


def _require_folds(probability: Any) -> None:
    """Raise unless `probability` is False or a number of folds."""
    if probability is False:
        return
    whole = isinstance(probability, numbers.Integral) and not isinstance(probability, bool)
    if not whole or probability < 2:
        raise ParameterError(
            Message(
                "{probability:subject} must be False or the number of folds for calibration, a "
                "whole number >= 2. Got {given!r} instead. {usual} is what scikit-learn's SVC "
                "uses for True.",
                probability=Parameter("probability"),
                given=probability,
                usual=Parameter("probability", 5),
            )
        )
