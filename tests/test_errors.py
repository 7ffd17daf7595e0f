"""Errors about parameters: names as data, messages, and pickling."""

import pickle

import numpy as np
import pytest

from separatrix import (
    Bundle,
    GradientDescentClassifier,
    LinearSVC,
    LogisticRegression,
    load,
    load_model,
    save,
    set_threads,
)
from separatrix.errors import Message, OptionError, Parameter, ParameterError, message_of
from separatrix.features.settings import Settings
from separatrix.penalty import ElasticNet
from separatrix.study import Study
from separatrix.workflow.model_families import MODEL_FAMILIES, ModelOptions, build_estimator

X, Y = [[0.0], [1.0]], [0, 1]
ROUGH = GradientDescentClassifier(epochs=1)


@pytest.mark.parametrize(
    ("work", "parameter"),
    [
        (lambda: LogisticRegression(C=-1).fit(X, Y), "C"),
        (lambda: LogisticRegression(solver="x").fit(X, Y), "solver"),
        (lambda: LinearSVC(intercept_scaling=-1.0).fit(X, Y), "intercept_scaling"),
        (lambda: build_estimator(MODEL_FAMILIES["perceptron"], ModelOptions(l1=1.0)), "l1"),
        (lambda: build_estimator(MODEL_FAMILIES["svm"], ModelOptions(loss="log")), "loss"),
        (lambda: load("iris", header=True), "header"),
        (lambda: load("iris", split=(0.5, 0.6, 0.1)), "split"),
        (lambda: LogisticRegression(l1_ratio=0.5, solver="newton").fit(X, Y), "solver"),
        (lambda: LinearSVC(loss="hinge", C=np.inf, l1_ratio=0.5).fit(X, Y), "loss"),
        (lambda: LinearSVC(probability=True).fit(X, Y), "probability"),
        (lambda: GradientDescentClassifier("log").fit(X, Y), "loss"),
        (lambda: GradientDescentClassifier("hinge", margin=-1).fit(X, Y), "margin"),
        (lambda: GradientDescentClassifier(patience=2).fit(X, Y), "patience"),
        (lambda: LogisticRegression(class_weight={7: 1.0}).fit(X, Y), "class_weight"),
        (lambda: set_threads(0), "threads"),
        (lambda: set_threads(5000), "threads"),
        (lambda: Settings(ngrams=(2, 1)), "ngrams"),
        (lambda: ElasticNet(-0.1, 0.0), "l1"),
        (lambda: Study("s", ROUGH, {"rate": [0.1]}), "rate"),
        (lambda: Study("s", ROUGH, {"learning_rate": []}), "learning_rate"),
    ],
)
def test_an_error_names_its_parameter(work, parameter):
    with pytest.raises(ParameterError) as found:
        work()
    assert found.value.parameter == parameter


def test_a_message_is_a_string_that_names_python_parameters():
    message = Message(
        "{C:subject} of {file} is {given!r}.", C=Parameter("C"), file="{a}", given="x"
    )
    assert message == "The 'C' parameter of {a} is 'x'."
    assert f"{message}" == str(ValueError(message)) == str(message)
    assert message_of(ValueError(message)) is message
    assert message_of(ValueError("plain")) == "plain"


def test_a_message_in_a_message_keeps_its_parameters():
    remedy = Message("Raise {tol}.", tol=Parameter("tol"))
    joined = Message("Stopped. {remedy}", remedy=remedy)
    assert joined == "Stopped. Raise tol."
    assert joined.render(lambda named: f"--{named}") == "Stopped. Raise --tol."


def test_errors_and_messages_survive_pickling():
    error = OptionError(Message("{C} is odd.", C=Parameter("C", 1)))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is OptionError
    assert (str(again), again.parameter) == ("C=1 is odd.", "C")
    assert again.args[0].render(str) == error.args[0].render(str)
    assert again.args[0].values == error.args[0].values


def test_a_message_is_saved_as_plain_text(tmp_path):
    fitted = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    message = Message("Raise {max_iter}.", max_iter=Parameter("max_iter"))
    save(Bundle(fitted, metrics={"advice": message}), tmp_path / "model.sx")
    found = load_model(tmp_path / "model.sx").metrics["advice"]
    assert (found, type(found)) == ("Raise max_iter.", str)
