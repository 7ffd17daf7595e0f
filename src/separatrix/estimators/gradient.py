"""Gradient descent as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data import Dataset
from separatrix.errors import ParameterError
from separatrix.estimators.epoch_classifier import EpochClassifier, starting_weights
from separatrix.estimators.validation import (
    as_seed,
    require_choice,
    require_count,
    require_flag,
    require_number,
    require_pair,
)
from separatrix.losses import LOSSES, Loss, OneVsRest, make_loss
from separatrix.solvers import RULES, SCHEDULES, Gradient
from separatrix.training.task import Task


class GradientDescentClassifier(EpochClassifier):
    """A linear classifier trained by gradient descent, every epoch of it on record.

    Minimises mean loss + l1 |W|_1 + l2/2 |W|^2 by batch, mini-batch or stochastic descent.

    Parameters
    ----------
    loss : "auto" (logistic for two classes, softmax for more), a name in `LOSSES`, or a Loss
    margin : of a hinge loss given by name; None for 1
    l1, l2 : strengths of the penalty
    learning_rate, schedule, decay : the rate of epoch e is learning_rate ("constant"),
        times exp(-decay (e - 1)) ("exponential") or divided by 1 + decay (e - 1) ("inverse")
    rule, momentum, betas : "plain", "momentum" (v = momentum v - rate g, w = w + v), "nesterov" or
        "adam" (with betas)
    batch_size : rows per step; None for all, 1 for stochastic descent
    epochs : passes over the rows at most
    multiclass : "auto", the loss's own form for many classes where it has one, or "ovr", one
        against the rest
    fit_intercept : whether there is a bias; it is never penalised
    init, init_scale : "zeros", "random" (normal, times init_scale), or (coef, intercept)
    random_state : seed of the start and of the order of the rows
    tol : stop when the relative duality gap is proven to be at most this (without a penalty, when
        the gradient's norm has fallen to this share of its start)
    gradient_tol, step_tol, time_limit : stop when the gradient's norm, the largest change of a
        weight in an epoch, or the seconds reach this
    patience, patience_rule, monitor, validate_every : stop when the validation "loss" or
        "accuracy", measured every so many epochs, has not improved on its best `patience` times
        running ("best"; 0 is the same as 1) or has risen more than `patience` times running
        ("consecutive"); the best weights are restored

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn
    history_ : a mapping of arrays, one value an epoch; `to_frame()` makes it a data frame
    certificate_ : how far from the optimum the model can be
    diagnoses_ : what went wrong, why, and what to do
    stop_reason_, n_iter_, best_epoch_ : why and after how many epochs training ended, and the epoch
        whose weights were kept

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GradientDescentClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientDescentClassifier(learning_rate=0.1, epochs=250).fit(X, y)
    >>> model.stop_reason_, round(model.history_["train_loss"][-1], 3)
    ('epochs', np.float64(0.238))
    >>> model.objective()
    'mean cross-entropy log(sum_j exp(z_j)) - z_y over 150 rows, no penalty, bias free'
    """

    def __init__(
        self,
        loss: str | Loss = "auto",
        *,
        margin: float | None = None,
        l1: float = 0.0,
        l2: float = 0.0,
        learning_rate: float = 0.01,
        schedule: str = "constant",
        decay: float = 0.01,
        rule: str = "momentum",
        momentum: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        batch_size: int | None = None,
        epochs: int = 100,
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

    def _likely_loss(self) -> Loss | None:
        return LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss

    def _check_parameters(self) -> None:
        if not isinstance(self.loss, Loss) or isinstance(self.loss, type):
            require_choice("loss", self.loss, ["auto", *LOSSES])
        require_number("margin", self.margin, optional=True)
        require_number("l1", self.l1)
        require_number("l2", self.l2)
        require_number("learning_rate", self.learning_rate, open_low=True)
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
        self._check_stop_parameters()

    def _make_task(self, data: Dataset) -> Task:
        self._check_parameters()
        n_classes = len(data.classes)
        loss, n_outputs = choose_loss(self.loss, self.margin, self.multiclass, n_classes)
        seed = as_seed(self.random_state)
        return Task(
            loss=loss,
            n_outputs=n_outputs,
            solver=Gradient(
                learning_rate=np.array([self.learning_rate], float),
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
            start=starting_weights(self.init, self.init_scale, seed, data.n_features, n_outputs),
        )


def choose_loss(
    loss: str | Loss, margin: float | None, multiclass: str, n_classes: int
) -> tuple[Loss, int]:
    """The loss for so many classes, and its number of outputs.

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
            f"The 'margin' parameter is for a loss given by its name. Got margin={margin!r} with "
            f"the loss '{loss.name}' given as an object. Set the margin in the object, for example "
            "by make_loss('hinge', margin=2.0), and leave margin=None.",
            parameter="margin",
        )
    if n_classes == 2:
        return chosen, chosen.n_outputs(2)
    outputs = _outputs_for_many(chosen, n_classes)
    if multiclass != "ovr" and outputs is not None:
        return chosen, outputs
    if chosen.n_outputs(2) != 1 or outputs == n_classes - 1:
        raise ParameterError(
            f"multiclass='ovr' needs a loss with one output, and '{chosen.name}' has one for "
            "every class. Use loss='logistic' or another binary loss, or multiclass='auto'.",
            parameter="multiclass",
        )
    return OneVsRest(chosen), n_classes


def _outputs_for_many(loss: Loss, n_classes: int) -> int | None:
    """The outputs of a loss for more than two classes; None if it takes two only, and says so."""
    try:
        return loss.n_outputs(n_classes)
    except ValueError:
        return None
