"""Models, labels and penalties that do not fit the data are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from separatrix.data import Dataset
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.certificate import dual_values
from support.forms import BINARY, SMOOTH, Form
from support.objectives import B, D, every_form, random_model, refused, rows
from support.uncompiled import Uncompiled

MISFITS = {
    "W of other features": (Model.zeros(2, B, 1), r"6 features: a model must have W of shape \(6,"),
    "b of other models": (Model(np.zeros((D, 1, 1)), np.zeros((300, 1))), r"Got \(6, 1, 1\) and"),
    "W flat": (Model(np.zeros((D, B)), np.zeros((B, 1))), r"Got \(6, 3\) and \(3, 1\) instead"),
    "no models": (Model.zeros(D, 0, 1), r"Got \(6, 0, 1\) and \(0, 1\) instead"),
    "integers": (Model.zeros(D, B, 1, np.int64), r"float32 or both float64\. Got int64 and int64"),
    "half": (Model.zeros(D, B, 1, np.float16), r"Got float16 and float16.*Model\.astype"),
    "two types": (Model(np.zeros((D, B, 1)), np.zeros((B, 1), "f")), r"Got float64 and float32"),
    "Fortran order": (Model(np.zeros((D, B, 1), order="F"), np.zeros((B, 1))), r"C order.*copy"),
}


@pytest.mark.parametrize("misfit", MISFITS)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "own loss"])
def test_a_model_that_does_not_fit_the_data_is_refused(misfit: str, compiled: bool) -> None:
    form = BINARY[0]
    loss: Any = form.loss if compiled else Uncompiled(form.loss)
    data = Dataset.of(*rows(form))
    objective = Objective(data, loss, ElasticNet(0.0, 0.1))
    model, words = MISFITS[misfit]
    for look in (
        objective.evaluate,
        objective.loss_and_accuracy,
        lambda m: dual_values(objective, m),
        lambda m: objective.hessian_times(m, m),
    ):
        with refused(words):
            look(model)


def test_a_direction_unlike_the_model_is_refused() -> None:
    form = SMOOTH[0]
    objective = Objective(Dataset.of(*rows(form)), form.loss, ElasticNet(0.0, 0.1))
    with refused(r"direction must have the shapes of the model, W \(6, 3, 1\)"):
        objective.hessian_times(random_model(form), Model.zeros(D, 2, 1))


@pytest.mark.parametrize("what", ["labels", "weights"])
def test_data_of_other_models_is_refused(what: str) -> None:
    form = BINARY[0]
    X, y, s = rows(form)
    if what == "labels":
        y = np.tile(y[:, None], 2)
    else:
        s = np.tile(s[:, None], 2)
    objective = Objective(Dataset.of(X, y, s), form.loss, ElasticNet(0.0, 0.1))
    with refused(rf"The {what} of the data must have .* one for each of 1000\. Got 2 instead"):
        objective.evaluate(Model.zeros(D, 1000, 1))


@every_form
def test_labels_beyond_the_number_of_outputs_are_refused(form: Form) -> None:
    X, y, _ = rows(form)
    y[3] = form.classes
    objective = Objective(Dataset.of(X, y), form.loss, ElasticNet(0.0, 0.1))
    words = rf"has only {form.classes} classes\. The data has the class number {form.classes}\."
    with refused(words):
        objective.evaluate(random_model(form))
    legal = Dataset.of(X, np.minimum(y, form.classes - 1), classes=np.arange(9))
    objective = Objective(legal, form.loss, ElasticNet(0.0, 0.1))
    assert np.isfinite(objective.value(random_model(form))).all()


def test_a_penalty_of_other_models_or_features_is_refused() -> None:
    form = BINARY[0]
    data, model = Dataset.of(*rows(form)), random_model(form)
    with refused(r"The l1 and l2 of the penalty must be .* one for each of 3\. Got 2 instead"):
        Objective(data, form.loss, ElasticNet(0.0, [0.1, 0.2])).strengths(B)
    for factors in (np.ones(D - 1), np.ones((D, 2))):
        objective = Objective(data, form.loss, ElasticNet(0.0, 0.1, factors))
        with refused(r"The 'factors' of the penalty must be of shape \(6,\) or \(6, 3\)\. Got"):
            objective.evaluate(model)
