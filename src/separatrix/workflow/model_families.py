"""The families of models, in one table, and how one is built from a user's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from separatrix.errors import Message, OptionError, Parameter, ParameterNames

if TYPE_CHECKING:
    from separatrix.estimators.linear_classifier import LinearClassifier

DEFAULT_TOL = 1e-6  # accuracies that differ in no row from those of the optimum
BIASES = ("free", "penalised", "none")
SVM_LOSSES = ("hinge", "squared_hinge")


@dataclass(frozen=True)
class ModelOptions:
    """What a user may say of a model; None is not said, and the family's default.

    - `C`: inverse strength of the penalty; `l1`: the share of L1 in it
    - `bias`: one of BIASES
    - `loss`: one of SVM_LOSSES, of support vector machines
    - `tol`, `max_iter`: when to stop
    - `balanced`: whether classes weigh the same, however many rows they have
    - `probability`: folds to calibrate probabilities by, of support vector machines
    - `seed`: of solvers that take rows in random order
    """

    C: float | None = None
    l1: float | None = None
    bias: str | None = None
    loss: str | None = None
    tol: float | None = None
    max_iter: int | None = None
    balanced: bool | None = None
    probability: int | None = None
    seed: int = 0

    def given(self) -> dict[str, Any]:
        """The options that were said."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "seed"}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class ModelFamily:
    """A kind of model: the class of its estimator, and which options are which parameters."""

    name: str
    about: str
    estimator: str
    takes: Mapping[str, str]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    biases: tuple[str, ...] = ("free", "none")

    def about_for(self, n_classes: int) -> str:
        """What it is, in a sentence for so many classes."""
        return self.about if n_classes > 2 else self.about.partition(";")[0]

    def parameters(self, options: ModelOptions) -> dict[str, Any]:
        """The parameters of the estimator; an option that it does not have is refused."""
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
                raise OptionError(f"The loss is one of {losses}. Got '{value}' instead.", "loss")
            elif name == "balanced":
                parameters[self.takes[name]] = "balanced" if value else None
            else:
                parameters[self.takes[name]] = value
        return parameters | {"random_state": options.seed}

    def _bias(self, bias: str) -> dict[str, Any]:
        if bias not in self.biases:
            raise OptionError(
                f"The bias of the model '{self.name}' is one of {', '.join(self.biases)}. "
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
}
_SVM_OPTIONS = {**_OPTIMUM_OPTIONS, "loss": "loss", "probability": "probability"}

MODEL_FAMILIES = {
    family.name: family
    for family in [
        ModelFamily(
            "logistic",
            "logistic regression; of several classes, each against the rest",
            "LogisticRegression",
            _OPTIMUM_OPTIONS,
            {"multiclass": "ovr", "tol": DEFAULT_TOL},
        ),
        ModelFamily(
            "softmax",
            "softmax regression: a score for every class, cross-entropy",
            "LogisticRegression",
            _OPTIMUM_OPTIONS,
            {"multiclass": "softmax", "tol": DEFAULT_TOL},
        ),
        ModelFamily(
            "reference",
            "softmax regression with the first class's score fixed at 0",
            "LogisticRegression",
            _OPTIMUM_OPTIONS,
            {"multiclass": "reference", "tol": DEFAULT_TOL},
        ),
        ModelFamily(
            "svm",
            "support vector machine; of several classes, each against the rest",
            "LinearSVC",
            _SVM_OPTIONS,
            {"multiclass": "ovr", "tol": DEFAULT_TOL},
            BIASES,
        ),
        ModelFamily(
            "weston-watkins",
            "support vector machine of all classes: the sum over the wrong ones",
            "LinearSVC",
            _SVM_OPTIONS,
            {"multiclass": "weston_watkins", "tol": DEFAULT_TOL},
            BIASES,
        ),
        ModelFamily(
            "crammer-singer",
            "support vector machine of all classes: the worst wrong one",
            "LinearSVC",
            {**_OPTIMUM_OPTIONS, "probability": "probability"},
            {"multiclass": "crammer_singer", "loss": "hinge", "tol": DEFAULT_TOL},
            BIASES,
        ),
        ModelFamily(
            "perceptron",
            "Rosenblatt's perceptron: only mistakes teach",
            "Perceptron",
            {"max_iter": "epochs"},
            {"epochs": 100},
        ),
    ]
}
MODEL_NAMES = ("auto", *MODEL_FAMILIES)


def find_family(name: str, n_classes: int) -> ModelFamily:
    """The family of this name; 'auto' is logistic regression, or softmax for several classes.

    >>> find_family("auto", 2).name, find_family("auto", 3).name
    ('logistic', 'softmax')
    """
    if name == "auto":
        name = "logistic" if n_classes == 2 else "softmax"
    if name not in MODEL_FAMILIES:
        known = ", ".join(MODEL_NAMES)
        raise OptionError(f"The model must be one of {known}. Got '{name}' instead.", "model")
    return MODEL_FAMILIES[name]


def build_estimator(family: ModelFamily, options: ModelOptions) -> LinearClassifier:
    """An estimator, not yet fitted.

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
