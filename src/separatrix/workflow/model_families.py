"""The model families, and the construction of an estimator from a user's options."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from separatrix.errors import Message, OptionError, Parameter, ParameterNames

if TYPE_CHECKING:
    from separatrix.estimators.linear_classifier import LinearClassifier

DEFAULT_TOL = 1e-6  # tight enough for the same predictions as at the optimum
BIASES = ("free", "penalised", "none")
SVM_LOSSES = ("hinge", "squared_hinge")
GRADIENT = "gradient"
SOLVER_NAMES = ("auto", "newton", "lbfgs", "coordinate", "interior", "dual", GRADIENT)


@dataclass(frozen=True)
class ModelOptions:
    """A user's options for a model; None means the default of the family.

    - `C`: inverse strength of the penalty; `l1`: share of L1 in the penalty
    - `bias`: one of BIASES
    - `loss`: one of SVM_LOSSES, for support vector machines
    - `tol`, `max_iter`: relative duality gap and maximum number of iterations
    - `balanced`: whether all classes get the same total weight
    - `probability`: number of folds for calibrated probabilities, for support vector machines
    - `solver`: one of SOLVER_NAMES; GRADIENT only in `fit_prepared` and `compare_families`
    - `device`: device of PyTorch to train on, such as "cuda"
    - `seed`: random seed of stochastic solvers
    """

    C: float | None = None
    l1: float | None = None
    bias: str | None = None
    loss: str | None = None
    tol: float | None = None
    max_iter: int | None = None
    balanced: bool | None = None
    probability: int | None = None
    solver: str | None = None
    device: str | None = None
    seed: int = 0

    def given(self) -> dict[str, Any]:
        """Return the options that are not None, without the seed."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "seed"}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class ModelFamily:
    """A model family: the estimator's class, and the parameter for each option."""

    name: str
    about: str
    estimator: str
    takes: Mapping[str, str]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    biases: tuple[str, ...] = ("free", "none")

    def about_for(self, n_classes: int) -> str:
        """Return a short description for this number of classes."""
        return self.about if n_classes > 2 else self.about.partition(";")[0]

    def parameters(self, options: ModelOptions) -> dict[str, Any]:
        """Return the parameters of the estimator; raise for an option that it does not have."""
        parameters = dict(self.defaults)
        for name, value in options.given().items():
            if name == "bias":
                parameters |= self._bias(value)
            elif name not in self.takes:
                having = [family.name for family in MODEL_FAMILIES.values() if name in family.takes]
                raise OptionError(
                    Message(
                        "The model '{model}' has no option {option:quoted}. It has {known}. Models "
                        "that have it: {having}.",
                        model=self.name,
                        option=Parameter(name),
                        known=ParameterNames([*self.takes, "bias"]),
                        having=", ".join(having),
                    )
                )
            elif name == "loss" and value not in SVM_LOSSES:
                losses = ", ".join(SVM_LOSSES)
                raise OptionError(
                    f"The loss must be one of {losses}. Got '{value}' instead.", "loss"
                )
            elif name == "solver" and value not in SOLVER_NAMES:
                raise OptionError(
                    Message(
                        "{solver:subject} must be one of {known}. Got '{value}' instead.",
                        solver=Parameter("solver"),
                        known=", ".join(SOLVER_NAMES),
                        value=value,
                    )
                )
            elif name == "solver" and value == GRADIENT:
                raise OptionError(
                    Message(
                        "{solver} cannot be used in a search, which trains every candidate to its "
                        "optimum. Use it with 'fit' or 'compare'. To compare penalties and "
                        "learning rates of gradient descent, use 'study'.",
                        solver=Parameter("solver", GRADIENT),
                    )
                )
            elif name == "balanced":
                parameters[self.takes[name]] = "balanced" if value else None
            else:
                parameters[self.takes[name]] = value
        return parameters | {"random_state": options.seed}

    def _bias(self, bias: str) -> dict[str, Any]:
        if bias not in self.biases:
            raise OptionError(
                f"The bias of the model '{self.name}' must be one of {', '.join(self.biases)}. "
                f"Got '{bias}' instead.",
                "bias",
            )
        if bias == "penalised":
            return {"intercept_scaling": 1.0}
        return {"fit_intercept": bias == "free"}


_OPTIMUM_OPTIONS = {
    "C": "C",
    "l1": "l1_ratio",
    "tol": "tol",
    "max_iter": "max_iter",
    "balanced": "class_weight",
    "solver": "solver",
    "device": "device",
}
_SVM_OPTIONS = {**_OPTIMUM_OPTIONS, "loss": "loss", "probability": "probability"}

MODEL_FAMILIES = {
    family.name: family
    for family in [
        ModelFamily(
            "logistic",
            "logistic regression; with several classes, one against the rest",
            "LogisticRegression",
            _OPTIMUM_OPTIONS,
            {"multiclass": "ovr", "tol": DEFAULT_TOL},
        ),
        ModelFamily(
            "softmax",
            "softmax regression: one score per class, cross-entropy",
            "LogisticRegression",
            _OPTIMUM_OPTIONS,
            {"multiclass": "softmax", "tol": DEFAULT_TOL},
        ),
        ModelFamily(
            "reference",
            "softmax regression with the score of the first class fixed at 0",
            "LogisticRegression",
            _OPTIMUM_OPTIONS,
            {"multiclass": "reference", "tol": DEFAULT_TOL},
        ),
        ModelFamily(
            "svm",
            "support vector machine; with several classes, one against the rest",
            "LinearSVC",
            _SVM_OPTIONS,
            {"multiclass": "ovr", "tol": DEFAULT_TOL},
            BIASES,
        ),
        ModelFamily(
            "weston-watkins",
            "multiclass support vector machine: sum over the wrong classes",
            "LinearSVC",
            _SVM_OPTIONS,
            {"multiclass": "weston_watkins", "tol": DEFAULT_TOL},
            BIASES,
        ),
        ModelFamily(
            "crammer-singer",
            "multiclass support vector machine: maximum over the wrong classes",
            "LinearSVC",
            {**_OPTIMUM_OPTIONS, "probability": "probability"},
            {"multiclass": "crammer_singer", "loss": "hinge", "tol": DEFAULT_TOL},
            BIASES,
        ),
        ModelFamily(
            "perceptron",
            "Rosenblatt's perceptron: changes its weights only at mistakes",
            "Perceptron",
            {"max_iter": "epochs"},
            {"epochs": 100},
        ),
    ]
}
# The models whose scores do not depend on each other; the first one has probabilities.
PROVEN_FAMILIES = ("logistic", "svm")
MODEL_NAMES = ("auto", *MODEL_FAMILIES)


def find_family(name: str, n_classes: int) -> ModelFamily:
    """Return a family; 'auto' is logistic for two classes and softmax for more.

    >>> find_family("auto", 2).name, find_family("auto", 3).name
    ('logistic', 'softmax')
    """
    if name == "auto":
        name = "logistic" if n_classes == 2 else "softmax"
    if name not in MODEL_FAMILIES:
        known = ", ".join(MODEL_NAMES)
        raise OptionError(f"The model must be one of {known}. Got '{name}' instead.", "model")
    return MODEL_FAMILIES[name]


def provable_family(model: str, n_classes: int, epsilon: float, probabilities: bool) -> ModelFamily:
    """Return the family for a search with a proof, whose scores must not depend on each other.

    >>> provable_family("auto", 3, 0.01, probabilities=True).name
    'logistic'
    """
    if not 0.0 < epsilon < math.inf:
        raise OptionError(
            Message(
                "{certify:subject} must be a finite number > 0. Got {given} instead.",
                certify=Parameter("certify"),
                given=epsilon,
            )
        )
    family = find_family("logistic" if model == "auto" else model, n_classes)
    known = PROVEN_FAMILIES[:1] if probabilities else PROVEN_FAMILIES
    if family.name not in known:
        raise OptionError(
            Message(
                "{certify} has no bounds for the {what} '{model}'. Use {known}.",
                certify=Parameter("certify"),
                what="probabilities of the model" if probabilities else "model",
                model=family.name,
                known=" or ".join(known),
            ),
            "model",
        )
    return family


def build_estimator(family: ModelFamily, options: ModelOptions) -> LinearClassifier:
    """Return an estimator that is not fitted yet.

    >>> options = ModelOptions(C=0.1, bias="penalised")
    >>> build_estimator(MODEL_FAMILIES["svm"], options).intercept_scaling
    1.0
    >>> build_estimator(MODEL_FAMILIES["perceptron"], ModelOptions(C=0.1))
    Traceback (most recent call last):
        ...
    separatrix.errors.OptionError: The model 'perceptron' has no option 'C'. It has max_iter, bias.
    Models that have it: logistic, softmax, reference, svm, weston-watkins, crammer-singer.
    """
    import separatrix.estimators as estimators

    model: LinearClassifier = getattr(estimators, family.estimator)(**family.parameters(options))
    return model
