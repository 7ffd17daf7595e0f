"""Training of a model family by gradient descent, on the same objective as by its solvers."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from separatrix.data import Dataset
from separatrix.errors import Message, OptionError, Parameter
from separatrix.estimators import GradientDescentClassifier
from separatrix.estimators.checks.training_data import make_dataset
from separatrix.estimators.optimum_classifier import OptimumClassifier
from separatrix.losses import OneVsRest
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.rate_limits import rounded_down
from separatrix.verdict.smoothness import smoothness
from separatrix.workflow.model_families import (
    DEFAULT_TOL,
    GRADIENT,
    ModelFamily,
    ModelOptions,
    build_estimator,
)

DEFAULT_EPOCHS = 1000

# Words of remedies, and the parameters that the command line writes as options instead.
_REMEDIES = {
    "the learning rate, or let it decay (schedule 'inverse')": "{learning_rate}",
    "Let the learning rate decay (schedule 'inverse'), or use larger batches": (
        "Lower {learning_rate}, or raise {batch_size}"
    ),
    "Let the learning rate decay (schedule 'inverse')": "Lower {learning_rate}",
    "Train for more epochs": "Raise {epochs}",
    "train longer": "raise {epochs}",
    "the learning rate": "{learning_rate}",
    "the momentum": "{momentum}",
    "(patience": "({patience}",
    "Standardise the features first, for example with scikit-learn's StandardScaler": (
        "Use {standardise}"
    ),
    "raise l2": "lower {C}",
    "Add a penalty (l2)": "Use a finite {C}",
}


@dataclass(frozen=True)
class GradientOptions:
    """The options of gradient descent; None means the default.

    - `learning_rate`: by default half of the largest one that is stable at all weights
    - `momentum`: from 0 to 1 (default 0)
    - `epochs`: maximum number of passes over the data
    - `batch_size`: rows per step; by default all rows
    - `patience`: early stopping after this number of epochs without improvement of the validation
      loss; by default no early stopping
    """

    learning_rate: float | None = None
    momentum: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    patience: int | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def build_gradient_descent(
    family: ModelFamily,
    options: ModelOptions,
    descent: GradientOptions,
    X: Any,
    y: Any,
    weights: Any = None,
) -> tuple[GradientDescentClassifier, list[str]]:
    """Return the estimator for the objective of a family, and sentences about what was chosen.

    X (n, d), y (n,) and `weights` (n,) are the training rows: the strength of the penalty depends
    on their total weight, and the learning rate on X.
    """
    _require_supported(family, options)
    model = build_estimator(family, replace(options, solver=None))
    assert isinstance(model, OptimumClassifier)
    model._check_parameters()
    classes = np.unique(y)
    loss, _ = model._loss_and_outputs(len(classes))
    rest = isinstance(loss, OneVsRest)
    estimator = GradientDescentClassifier(
        loss=loss.base.name if isinstance(loss, OneVsRest) else loss.name,
        multiclass="ovr" if rest else "auto",
        fit_intercept=model.fit_intercept,
        tol=DEFAULT_TOL if options.tol is None else options.tol,
        random_state=options.seed,
        device=options.device,
        epochs=options.max_iter or DEFAULT_EPOCHS,
    )
    data = make_dataset(GradientDescentClassifier(), X, y, weights)
    l1, l2 = model._strengths(data)
    estimator.set_params(l1=l1, l2=l2, **descent.given())
    notes = []
    if descent.learning_rate is None:
        rate, why = _learning_rate(estimator, data)
        estimator.set_params(learning_rate=rate)
        notes.append(f"Chose the learning rate {rate:g}: {why}.")
    return estimator, notes


def remedy_of(remedy: str) -> Message:
    """Return a remedy that names its parameters, so that the command line can write its options.

    >>> remedy_of("Stop there (patience, or epochs=7), raise l2, or use more data.")
    'Stop there (patience, or epochs=7), lower C, or use more data.'
    """
    template = remedy.replace("{", "{{").replace("}", "}}")
    for words, parameters in _REMEDIES.items():
        template = template.replace(words, parameters)
    named = ("learning_rate", "momentum", "batch_size", "patience", "C", "epochs")
    values = {name: Parameter(name) for name in named}
    values["standardise"] = Parameter("standardise", True)
    if found := re.search(r"epochs=(\d+)", template):
        template = template.replace(found[0], "{epochs}")
        values["epochs"] = Parameter("epochs", int(found[1]))
    return Message(template, **values)


def _learning_rate(estimator: GradientDescentClassifier, data: Dataset) -> tuple[float, str]:
    """Return a learning rate that is stable at all weights, and the reason in words."""
    task = estimator._make_task(data)
    penalty = ElasticNet(estimator.l1, estimator.l2)
    objective = Objective(data, task.loss, penalty, bias=task.bias)
    L = smoothness(objective, Model.zeros(data.n_features, 1, task.n_outputs))
    if L is not None and L[0] > 0.0:
        stable = float(L[0])
        why = (
            f"half of {rounded_down(2.0 / stable)}, the largest rate that is stable at all weights "
            "(2/L, where L bounds the curvature of the objective)"
        )
        return float(rounded_down(1.0 / stable)), why
    squares = data.sum_of_squares() / data.n_samples
    return float(rounded_down(1.0 / (1.0 + float(squares)))), (
        "1 divided by (1 + the mean squared length of a row)"
    )


def _require_supported(family: ModelFamily, options: ModelOptions) -> None:
    solver = Parameter("solver", GRADIENT)
    if "solver" not in family.takes:
        raise OptionError(
            Message(
                "The model '{model}' cannot be trained with {solver}. Leave it out, or choose "
                "another model.",
                model=family.name,
                solver=solver,
            )
        )
    for name in ("balanced", "probability"):
        if getattr(options, name):
            raise OptionError(
                Message(
                    "{option:quoted} cannot be combined with {solver}. Leave one of them out.",
                    option=Parameter(name),
                    solver=solver,
                )
            )
    if options.bias == "penalised":
        raise OptionError(
            Message(
                "{solver} has no penalised bias. Use 'free' or 'none'.",
                solver=solver,
            ),
            "bias",
        )
