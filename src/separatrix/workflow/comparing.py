"""Comparison of all model families, with Naive Bayes as the generative baseline."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, OptionError, Parameter, ParameterError
from separatrix.metrics import measure
from separatrix.workflow.fitting import OnProgress, fit_prepared
from separatrix.workflow.gradient_descent import GradientOptions
from separatrix.workflow.model_families import MODEL_FAMILIES, ModelOptions
from separatrix.workflow.preparing import PreparedSource

BASELINE = "naive-bayes"
_TINY = float(np.finfo(np.float64).tiny)  # a probability of 0 has no logarithm
_DENSE = 1 << 26  # largest number of entries of a sparse matrix that is made dense for GaussianNB


def families_for(n_classes: int) -> list[str]:
    """Return the families that are different models for this number of classes.

    >>> families_for(2)
    ['logistic', 'svm', 'perceptron']
    """
    if n_classes > 2:
        return list(MODEL_FAMILIES)
    same = {"softmax", "reference", "weston-watkins", "crammer-singer"}
    return [name for name in MODEL_FAMILIES if name not in same]


def compare_families(
    prepared: PreparedSource,
    options: ModelOptions | None = None,
    names: Sequence[str] | None = None,
    on_progress: OnProgress | None = None,
    descent: GradientOptions | None = None,
    *,
    strict: bool = False,
) -> Iterator[dict[str, Any]]:
    """Train one family after the other on the same rows, and yield the facts of each.

    An option is passed to the families that have it, and a solver to those that it can train;
    "notes" says which families are trained without it. If `strict`, an option that a family does
    not have is an error. `descent` holds the options of gradient descent.

    "validation" has two arrays with one entry per validation row: whether it is classified
    correctly ("right"), and the logarithmic loss of its probabilities ("log_loss", None without
    probabilities). With sample weights, these losses are multiplied by the weight of the row
    divided by the mean weight, and "weighted_accuracy" is the weighted share of correct rows (None
    without weights). "validation" is None without validation rows.

    >>> from separatrix import load
    >>> from separatrix.workflow.preparing import prepare_source
    >>> iris = prepare_source(load("iris"))
    >>> found = list(compare_families(iris, names=["softmax", "naive-bayes"]))
    >>> [(row["model"], round(row["metrics"]["test"]["accuracy"], 2)) for row in found]
    [('softmax', 0.88), ('naive-bayes', 0.84)]
    """
    options = ModelOptions() if options is None else options
    names = [*families_for(prepared.n_classes), BASELINE] if names is None else names
    for name in names:
        if name == BASELINE:
            if strict and options.given():
                raise OptionError(_no_options(options))
            yield naive_bayes(prepared)
            continue
        own, notes = (options, []) if strict else _taken(name, options)
        try:
            trained = fit_prepared(prepared, name, own, on_progress, descent)
        except ParameterError as error:
            if strict or isinstance(error, OptionError) or error.parameter != "solver":
                raise
            trained = fit_prepared(prepared, name, replace(own, solver=None), on_progress)
            notes = [f"{name} was trained with its automatic choice of solver. {error}"]
        yield {
            "model": name,
            "about": MODEL_FAMILIES[name].about,
            "seconds": trained.facts["verdict"]["seconds"],
            "verdict": trained.facts["verdict"],
            "learning_rate": trained.facts["model"]["parameters"].get("learning_rate"),
            "notes": notes,
            "metrics": trained.facts["metrics"],
            "validation": _validate(prepared, trained.bundle.estimator, prepared.X),
        }


def naive_bayes(prepared: PreparedSource) -> dict[str, Any]:
    """Train scikit-learn's Naive Bayes: multinomial for counts and images, else Gaussian."""
    from sklearn.naive_bayes import GaussianNB, MultinomialNB

    X = prepared.X["train"]
    counts = sp.issparse(X) and all(part.data.min(initial=0.0) >= 0 for part in prepared.X.values())
    pixels = getattr(prepared.source.table, "dtype", None) == np.uint8
    model: Any = MultinomialNB() if counts or pixels else GaussianNB()
    facts = {
        "model": BASELINE,
        "about": f"scikit-learn's {type(model).__name__}",
        "verdict": None,
        "notes": list[str](),
    }
    matrices = prepared.X
    if sp.issparse(X) and not counts:
        if len(prepared.source) * X.shape[1] > _DENSE:
            return facts | {
                "seconds": None,
                "metrics": {},
                "validation": None,
                "problem": "needs too much memory",
            }
        matrices = {part: matrix.toarray() for part, matrix in prepared.X.items()}
    began = time.perf_counter()
    model.fit(matrices["train"], prepared.y["train"], prepared.weights.get("train"))
    seconds = time.perf_counter() - began
    metrics = {
        part: measure(
            prepared.y[part],
            model.predict(matrix),
            model.classes_,
            model.predict_proba(matrix),
            prepared.weights.get(part),
        )
        for part, matrix in matrices.items()
    }
    validation = _validate(prepared, model, matrices)
    return facts | {"seconds": seconds, "metrics": metrics, "validation": validation}


def _validate(prepared: PreparedSource, model: Any, X: dict[str, Any]) -> dict[str, Any] | None:
    if "validation" not in X:
        return None
    y, log_loss = prepared.y["validation"], None
    weights = prepared.weights.get("validation")
    factor = 1.0 if weights is None else weights / np.mean(weights)
    if hasattr(model, "predict_proba"):
        own = np.searchsorted(model.classes_, y)
        P = np.asarray(model.predict_proba(X["validation"]), np.float64)
        log_loss = -np.log(np.maximum(P[np.arange(len(y)), own], _TINY)) * factor
    right = model.predict(X["validation"]) == y
    weighted = None if weights is None else float((right * factor).mean())
    return {"right": right, "log_loss": log_loss, "weighted_accuracy": weighted}


def _taken(name: str, options: ModelOptions) -> tuple[ModelOptions, list[str]]:
    """Return the options that this family has, and a sentence if it has no choice of solvers."""
    family = MODEL_FAMILIES[name]
    taken = {k: v for k, v in options.given().items() if k in family.takes}
    if options.bias in family.biases:
        taken["bias"] = options.bias
    notes: list[str] = []
    if options.solver is not None and "solver" not in taken:
        sentence = "{model} was trained without {solver}: it has only one solver."
        solver = Parameter("solver", options.solver)
        notes.append(Message(sentence, model=name, solver=solver))
    return ModelOptions(**taken, seed=options.seed), notes


def _no_options(options: ModelOptions) -> Message:
    return Message(
        "The model '{model}' has no option {option:quoted}. Leave it out, or choose another model.",
        model=BASELINE,
        option=Parameter(next(iter(options.given()))),
    )
