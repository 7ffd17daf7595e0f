"""Gradient descent as a classifier with the API of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data import Dataset
from separatrix.device import check_device
from separatrix.errors import ParameterError
from separatrix.estimators.checks.validation import (
    as_seed,
    require_choice,
    require_count,
    require_flag,
    require_loss,
    require_number,
    require_pair,
)
from separatrix.estimators.epoch_classifier import EpochClassifier
from separatrix.estimators.scikit_learn_parameters import own_value
from separatrix.losses import LOSSES, Loss, OneVsRest, make_loss
from separatrix.solvers import RULES, SCHEDULES, Gradient
from separatrix.training.task import Task

EPOCHS = 100
RATE = 0.01


class GradientDescentClassifier(EpochClassifier):
    """A linear classifier trained by gradient descent, with a record of every epoch.

    Minimises

        mean loss + l1 |W|_1 + l2/2 |W|^2

    by full-batch, mini-batch or stochastic gradient descent.

    Parameters
    ----------
    loss : str or Loss, default="auto"
        "auto" (logistic for two classes, softmax for more), a name in `LOSSES`, or a loss object.
    margin : float, default=None
        Margin of a hinge loss that is given by name. None means 1.
    l1, l2 : float, default=0.0
        Strengths of the L1 and the L2 penalty.
    learning_rate : float, default=0.01
        Learning rate in the first epoch.
    schedule : {"constant", "exponential", "inverse"}, default="constant"
        Learning rate in epoch e: `learning_rate` if "constant",
        `learning_rate * exp(-decay (e - 1))` if "exponential", and
        `learning_rate / (1 + decay (e - 1))` if "inverse".
    decay : float, default=0.01
        Decay of the learning rate. Ignored if `schedule` is "constant".
    rule : {"plain", "momentum", "nesterov", "adam", "lazy_adam"}, default="momentum"
        Update rule. "momentum" is v = momentum v - learning_rate g, w = w + v. "lazy_adam" is
        Adam for sparse rows: a step updates only the features that occur in its batch.
    momentum : float, default=0.0
        Momentum of the rules "momentum" and "nesterov", between 0 and 1.
    betas : tuple of two floats, default=(0.9, 0.999)
        Decay rates of Adam's two moving averages.
    batch_size : int, default=None
        Number of rows per step. None means all rows, 1 is stochastic gradient descent.
    epochs : int, default=100
        Maximum number of passes over the data.
    multiclass : {"auto", "ovr"}, default="auto"
        "auto" uses the multiclass form of the loss if it has one, and one-vs-rest otherwise.
        "ovr" always uses one-vs-rest.
    fit_intercept : bool, default=True
        Whether to fit a bias. It is never penalised.
    init : {"zeros", "random"} or tuple (coef, intercept), default="zeros"
        Initial weights. "random" draws them from a normal distribution with standard deviation
        `init_scale`.
    init_scale : float, default=0.01
        Standard deviation of random initial weights.
    random_state : int, RandomState or None, default=0
        Random seed of the initial weights and of the order of the rows.
    tol : float, default=None
        Stop as soon as the relative duality gap is at most `tol`. Without a penalty there is no
        gap: stop as soon as the gradient norm is at most `tol` times its value at zero weights.
    gradient_tol : float, default=None
        Stop as soon as the gradient norm is at most this.
    step_tol : float, default=None
        Stop as soon as no weight changes by more than this in an epoch.
    time_limit : float, default=None
        Stop after this number of seconds.
    patience : int, default=None
        Early stopping: number of validation measurements without improvement to wait for. The
        weights of the best epoch are restored. Requires a validation set in `fit`.
    patience_rule : {"best", "consecutive"}, default="best"
        "best" stops after `patience` measurements in a row that do not improve on the best one
        (0 is the same as 1). "consecutive" stops after more than `patience` measurements in a
        row, each worse than the one before.
    monitor : {"loss", "accuracy"}, default="loss"
        Validation measure for early stopping.
    validate_every : int, default=1
        Number of epochs from one validation measurement to the next.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by label. "balanced" makes them inversely proportional to the
        sums of the sample weights of the classes.
    warm_start : bool, default=False
        Whether the next fit starts from the weights of the previous one.
    device : str, default=None
        Device of PyTorch on which to train, such as "cuda"; None is the processor, without PyTorch.
        A device trains with all rules but "lazy_adam".
    precision : {"tf32", "float32", "float64"}, default=None
        Type of the weights and of the products on a device. "tf32" is float32 whose products round
        their factors to 10 bits, which is several times as fast on a GPU. None is the type of X.
    max_iter, eta0 : default=None
        scikit-learn's names of `epochs` and `learning_rate`.

    Attributes
    ----------
    coef_ : ndarray of shape (K, d)
        Weights. K is the number of outputs: 1 or 2 for two classes, C or C - 1 for C classes,
        depending on the loss.
    intercept_ : ndarray of shape (K,)
        Biases.
    classes_ : ndarray of shape (C,)
        Class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X has column names.
    history_ : History
        One array per measure, with one value per epoch. `history_.to_frame()` returns a data
        frame.
    certificate_ : Certificate
        Objective, lower bound and duality gap, which bounds the distance to the optimum.
    diagnoses_ : list of Diagnosis
        Problems of the fit, each with its cause and a remedy.
    stop_reason_ : str
        Reason why training stopped.
    n_iter_ : int
        Number of epochs trained.
    best_epoch_ : int
        Epoch whose weights were kept.

    Notes
    -----
    A fit that diverges gives a `ConvergenceWarning`. So does a fit that ends far from its optimum
    (diagnosis "not_converged", "oscillating" or "ended_higher"), but only if `epochs` and
    `learning_rate` have their default values. If you set one of them, the diagnosis is in
    `diagnoses_` alone. `partial_fit` and studies do not give this warning.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GradientDescentClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientDescentClassifier(learning_rate=0.1, epochs=250).fit(X, y)
    >>> model.stop_reason_, round(model.history_["train_loss"][-1], 3)
    ('epochs', np.float64(0.238))
    >>> model.objective()
    'mean cross-entropy log(sum_j exp(z_j)) - z_y over 150 rows, no penalty, bias free'
    """

    _pace = ("epochs", "learning_rate", "max_iter", "eta0")

    def __init__(
        self,
        loss: str | Loss = "auto",
        *,
        margin: float | None = None,
        l1: float = 0.0,
        l2: float = 0.0,
        learning_rate: float = RATE,
        schedule: str = "constant",
        decay: float = 0.01,
        rule: str = "momentum",
        momentum: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        batch_size: int | None = None,
        epochs: int = EPOCHS,
        multiclass: str = "auto",
        fit_intercept: bool = True,
        init: Any = "zeros",
        init_scale: float = 0.01,
        random_state: Any = 0,
        tol: float | None = None,
        gradient_tol: float | None = None,
        step_tol: float | None = None,
        time_limit: float | None = None,
        patience: int | None = None,
        patience_rule: str = "best",
        monitor: str = "loss",
        validate_every: int = 1,
        class_weight: Any = None,
        warm_start: bool = False,
        device: str | None = None,
        precision: str | None = None,
        max_iter: int | None = None,
        eta0: float | None = None,
    ) -> None:
        self.loss = loss
        self.margin = margin
        self.l1 = l1
        self.l2 = l2
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.decay = decay
        self.rule = rule
        self.momentum = momentum
        self.betas = betas
        self.batch_size = batch_size
        self.epochs = epochs
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.init = init
        self.init_scale = init_scale
        self.random_state = random_state
        self.tol = tol
        self.gradient_tol = gradient_tol
        self.step_tol = step_tol
        self.time_limit = time_limit
        self.patience = patience
        self.patience_rule = patience_rule
        self.monitor = monitor
        self.validate_every = validate_every
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.device = device
        self.precision = precision
        self.max_iter = max_iter
        self.eta0 = eta0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # No learning rate and number of epochs suit all data, so neither do the defaults.
        tags.classifier_tags.poor_score = True
        return tags

    def _epochs(self) -> int:
        return int(own_value("epochs", self.epochs, "max_iter", self.max_iter, EPOCHS))

    def _first_rate(self) -> float:
        rate = own_value("learning_rate", self.learning_rate, "eta0", self.eta0, RATE)
        return float(rate)

    def _likely_loss(self) -> Loss | None:
        return LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss

    def _check_parameters(self) -> None:
        require_loss(self.loss, ["auto", *LOSSES])
        require_number("margin", self.margin, optional=True)
        require_number("l1", self.l1)
        require_number("l2", self.l2)
        require_number("learning_rate", self.learning_rate, open_low=True)
        require_count("max_iter", self.max_iter, optional=True)
        require_number("eta0", self.eta0, open_low=True, optional=True)
        require_choice("schedule", self.schedule, SCHEDULES)
        require_number("decay", self.decay)
        require_choice("rule", self.rule, RULES)
        require_number("momentum", self.momentum, high=1.0)
        require_pair("betas", self.betas, high=1.0)
        require_count("batch_size", self.batch_size, optional=True)
        require_choice("multiclass", self.multiclass, ("auto", "ovr"))
        require_flag("fit_intercept", self.fit_intercept)
        require_number("init_scale", self.init_scale)
        require_number("tol", self.tol, optional=True)
        require_number("gradient_tol", self.gradient_tol, optional=True)
        require_number("step_tol", self.step_tol, optional=True)
        require_flag("warm_start", self.warm_start)
        self._check_stop_parameters()
        check_device(self.device, self.precision)

    def _make_task(self, data: Dataset) -> Task:
        self._check_parameters()
        n_classes = len(data.classes)
        loss, n_outputs = choose_loss(self.loss, self.margin, self.multiclass, n_classes)
        seed = as_seed(self.random_state)
        return Task(
            loss=loss,
            n_outputs=n_outputs,
            solver=Gradient(
                learning_rate=np.array([self._first_rate()]),
                momentum=np.array([self.momentum], float),
                decay=np.array([self.decay if self.schedule != "constant" else 0.0], float),
                rule=self.rule,
                batch_size=self.batch_size,
                schedule=self.schedule,
                betas=(float(self.betas[0]), float(self.betas[1])),
                seed=seed,
            ),
            stop=self._stop(tol=self.tol, gradient_tol=self.gradient_tol, step_tol=self.step_tol),
            l1=float(self.l1),
            l2=float(self.l2),
            bias=bool(self.fit_intercept),
            start=self._start(n_outputs, data, seed),
            device=self.device,
            precision=self.precision,
        )


def choose_loss(
    loss: str | Loss, margin: float | None, multiclass: str, n_classes: int
) -> tuple[Loss, int]:
    """Return the loss for a number of classes, and its number of outputs.

    >>> choose_loss("auto", None, "auto", 3)[0].name
    'softmax'
    """
    if loss == "auto":
        loss = "logistic" if n_classes == 2 or multiclass == "ovr" else "softmax"
    if isinstance(loss, str):
        chosen = make_loss(loss, margin)
    elif margin is None:
        chosen = loss
    else:
        raise ParameterError(
            "The 'margin' parameter can only be used with a loss given by name. Got "
            f"margin={margin!r} with the loss object '{loss.name}'. Set the margin in the object, "
            "for example with make_loss('hinge', margin=2.0), and use margin=None.",
            parameter="margin",
        )
    if n_classes == 2:
        return chosen, chosen.n_outputs(2)
    outputs = _outputs_for_many(chosen, n_classes)
    if multiclass != "ovr" and outputs is not None:
        return chosen, outputs
    if chosen.n_outputs(2) != 1 or outputs == n_classes - 1:
        raise ParameterError(
            f"multiclass='ovr' needs a loss with a single output, but '{chosen.name}' has one per "
            "class. Use loss='logistic' or another binary loss, or multiclass='auto'.",
            parameter="multiclass",
        )
    return OneVsRest(chosen), n_classes


def _outputs_for_many(loss: Loss, n_classes: int) -> int | None:
    """Return a loss's number of outputs for more than two classes, or None if it is binary."""
    try:
        return loss.n_outputs(n_classes)
    except ValueError:
        return None
