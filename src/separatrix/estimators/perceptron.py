"""Rosenblatt's perceptron as a classifier with the API of scikit-learn."""

from __future__ import annotations

from typing import Any

from separatrix.data import Dataset
from separatrix.estimators.epoch_classifier import EpochClassifier, starting_weights
from separatrix.estimators.validation import as_seed, require_flag, require_number
from separatrix.losses import LOSSES, Loss
from separatrix.solvers import PerceptronRule
from separatrix.training.task import Task


class Perceptron(EpochClassifier):
    """Rosenblatt's perceptron: only misclassified rows change the weights.

    A positive row with a score below 0 is added to the weights, and a negative row with a score of
    0 or more is subtracted. With several classes, a misclassified row is added to the weights of
    its class and subtracted from the weights of the class with the highest score. Training stops
    after an epoch without a mistake.

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

    def __init__(
        self,
        *,
        epochs: int = 1000,
        fit_intercept: bool = True,
        init: Any = "zeros",
        init_scale: float = 0.01,
        random_state: Any = 0,
        time_limit: float | None = None,
        patience: int | None = None,
        patience_rule: str = "best",
        monitor: str = "loss",
        validate_every: int = 1,
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

    def _likely_loss(self) -> Loss | None:
        return LOSSES["perceptron"]

    def _check_parameters(self) -> None:
        self._check_stop_parameters()
        require_flag("fit_intercept", self.fit_intercept)
        require_number("init_scale", self.init_scale)

    def _make_task(self, data: Dataset) -> Task:
        self._check_parameters()
        loss = LOSSES["perceptron"]
        n_outputs = loss.n_outputs(len(data.classes))
        seed = as_seed(self.random_state)
        return Task(
            loss=loss,
            n_outputs=n_outputs,
            solver=PerceptronRule(seed=seed),
            stop=self._stop(),
            bias=bool(self.fit_intercept),
            start=starting_weights(self.init, self.init_scale, seed, data.n_features, n_outputs),
        )
