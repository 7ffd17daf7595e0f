"""Round the weights of a fit to the type of X, and certify the rounded weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from separatrix.errors import Message, Parameter
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.training.result import Result
from separatrix.training.task import Task
from separatrix.verdict.certificate import Certificate, certify
from separatrix.verdict.diagnosis import Diagnosis


def round_results(
    tasks: Sequence[Task],
    results: Mapping[int, Result],
    models: Mapping[int, int],
    whole: Objective,
) -> dict[int, Result]:
    """Return the results of a batch with their weights in the type of X.

    Weights are kept in float64 if rounding would raise the relative duality gap above `tol`.
    `models` gives the model of the batch for each task.
    """
    numbers = list(results)
    objective = whole.select(np.array([models[t] for t in numbers]))
    rounded = [_centred(results[t], tasks[t]).astype(whole.data.dtype) for t in numbers]
    certificates = certify(objective, Model.stack(rounded).astype(np.float64))
    out = {}
    for t, model, certificate in zip(numbers, rounded, certificates):
        result, tol = results[t], float(tasks[t].stop.tol[0])
        dual = result.certificate.dual
        found = certificate if dual is None else certificate.raised_to(dual)
        if _is_close(found, result.certificate, tol):
            out[t] = replace(result, model=model, certificate=found)
        else:
            out[t] = replace(result, diagnoses=[*result.diagnoses, _diagnose(found, tol)])
    return out


def _centred(result: Result, task: Task) -> Model:
    """Return the model with biases of mean 0 if a common shift of them changes nothing."""
    model = result.model
    if task.loss.name != "softmax" or not task.ignores_constants:
        return model
    return Model(model.W, model.b - model.b.mean(axis=1, keepdims=True))


def _is_close(found: Certificate, before: Certificate, tol: float) -> bool:
    """Return whether a rounded model is as good as was asked for, or as it was before rounding."""
    if found.relative_gap is None or before.relative_gap is None:
        return found.primal - before.primal <= tol * abs(before.primal)
    return found.relative_gap <= max(tol, before.relative_gap)


def _diagnose(found: Certificate, tol: float) -> Diagnosis:
    gap = found.primal if found.relative_gap is None else found.relative_gap
    return Diagnosis(
        "not_rounded",
        Message(
            "The weights are float64 although X is float32: rounded to float32, their relative "
            "duality gap would be {gap:.1e} ({tol}).",
            gap=gap,
            tol=Parameter("tol", tol),
        ),
        Message("Raise {tol} to get float32 weights.", tol=Parameter("tol")),
    )
