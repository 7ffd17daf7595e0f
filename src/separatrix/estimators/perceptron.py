"""Rosenblatt's perceptron as a classifier with the API of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.data import Dataset
from separatrix.estimators.checks.validation import as_seed, require_count, require_number
from separatrix.estimators.scikit_learn_parameters import own_value
from separatrix.estimators.stochastic import StochasticClassifier
from separatrix.losses import LOSSES
from separatrix.solvers import PerceptronRule
from separatrix.training import OnEpoch
from separatrix.training.task import Task

EPOCHS = 1000


class Perceptron(StochasticClassifier):
    """Rosenblatt's perceptron: only misclassified rows change the weights.

    A positive row with a score below 0 is added to the weights, and a negative row with a score of
    0 or more is subtracted. With several classes, a misclassified row is added to the weights of
    its class and subtracted from the weights of the class with the highest score. Training stops
    after an epoch without a mistake.

    scikit-learn's class of this name is stochastic gradient descent on the perceptron loss, with
    several classes each against all others. Setting `penalty`, `tol`, `eta0` or shuffle=False
    selects it, because Rosenblatt's rule has none of them.

    Parameters
    ----------
    epochs : int, default=1000
        Maximum number of passes over the data.
    fit_intercept : bool, default=True
        Whether to fit a bias.
    init : {"zeros", "random"} or tuple (coef, intercept), default="zeros"
        Initial weights. "random" draws them from a normal distribution with standard deviation
        `init_scale`.
    init_scale : float, default=0.01
        Standard deviation of random initial weights.
    random_state : int, RandomState or None, default=0
        Random seed of the initial weights and of the order of the rows.
    time_limit, patience, patience_rule, monitor, validate_every
        See GradientDescentClassifier.
    max_iter : int, default=None
        scikit-learn's name of `epochs`.
    penalty : {"l2", "l1", "elasticnet"} or None, default=None
        Penalty on the weights.
    tol : float, default=None
        Stop after `n_iter_no_change` epochs in a row whose objective, with the loss of every row
        before its step, is not lower than the lowest one by `tol`. None trains until an epoch
        has no mistakes.
    eta0 : float, default=1.0
        Learning rate.
    early_stopping : bool, default=False
        Whether to hold out validation rows, and to stop after `n_iter_no_change` epochs in a row
        without a higher accuracy on them. The weights of the best epoch are kept.
    alpha, l1_ratio, shuffle, validation_fraction, n_iter_no_change, class_weight, warm_start
        See SGDClassifier.
    verbose, n_jobs
        Parameters of scikit-learn without a meaning here.

    Attributes
    ----------
    stop_reason_ : str
        Reason why training stopped: "no mistakes" if an epoch had none, so that the classes are
        separated.
    coef_, intercept_, classes_, history_, certificate_, ...
        See GradientDescentClassifier.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> tumours = [[10, 52], [2, 73], [5, 55], [12, 49]]
    >>> model = Perceptron().fit(tumours, [1, 0, 0, 1])
    >>> model.stop_reason_, model.score(tumours, [1, 0, 0, 1])
    ('no mistakes', 1.0)
    """

    loss = "perceptron"
    _pace = ("epochs", "max_iter")

    def __init__(
        self,
        *,
        epochs: int = EPOCHS,
        fit_intercept: bool = True,
        init: Any = "zeros",
        init_scale: float = 0.01,
        random_state: Any = 0,
        time_limit: float | None = None,
        patience: int | None = None,
        patience_rule: str = "best",
        monitor: str = "loss",
        validate_every: int = 1,
        max_iter: int | None = None,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        tol: float | None = None,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.epochs = epochs
        self.fit_intercept = fit_intercept
        self.init = init
        self.init_scale = init_scale
        self.random_state = random_state
        self.time_limit = time_limit
        self.patience = patience
        self.patience_rule = patience_rule
        self.monitor = monitor
        self.validate_every = validate_every
        self.max_iter = max_iter
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        coef_init: Any = None,
        intercept_init: Any = None,
        on_epoch: OnEpoch | None = None,
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or rows on disk
            Training data. Rows on disk come from `separatrix.open`.
        y : array-like of shape (n,), default=None
            Class labels. Rows on disk have their own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. None means 1 for every row.
        X_val, y_val : array-like of shape (m, d) and (m,), default=None
            Validation set, as in GradientDescentClassifier.
        coef_init, intercept_init : array-like of shape (K, d) and (K,), default=None
            Starting weights. None means those of `init` or, with `warm_start`, those of the
            previous fit.
        on_epoch : callable, default=None
            Function to call after every epoch, as in GradientDescentClassifier.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if np.asarray(sample_weight).ndim == 2:
            raise ValueError(
                "The third positional argument of Perceptron.fit is sample_weight, of shape (n,). "
                f"Got a matrix of shape {np.shape(sample_weight)}. Pass starting weights by name, "
                "as in fit(X, y, coef_init=W, intercept_init=b)."
            )
        held_out = X_val, y_val
        return self._fit_from(coef_init, intercept_init, X, y, sample_weight, held_out, on_epoch)

    def _stops_early(self) -> bool:
        return bool(self.early_stopping)

    def _follows_rosenblatt(self) -> bool:
        """Return whether Rosenblatt's rule has everything that the parameters ask for."""
        return self.penalty is None and self.tol is None and self.eta0 == 1.0 and bool(self.shuffle)

    def _epochs(self) -> int:
        return int(own_value("epochs", self.epochs, "max_iter", self.max_iter, EPOCHS))

    def _check_parameters(self) -> None:
        require_count("max_iter", self.max_iter, optional=True)
        self._check_stop_parameters()
        self._check_descent_parameters()
        require_number("init_scale", self.init_scale)

    def _make_task(self, data: Dataset) -> Task:
        self._check_parameters()
        if not self._follows_rosenblatt():
            return self._descent_task(data)
        loss = LOSSES["perceptron"]
        n_outputs = loss.n_outputs(len(data.classes))
        seed = as_seed(self.random_state)
        return Task(
            loss=loss,
            n_outputs=n_outputs,
            solver=PerceptronRule(seed=seed),
            stop=self._stop(),
            bias=bool(self.fit_intercept),
            start=self._start(n_outputs, data, seed),
        )
