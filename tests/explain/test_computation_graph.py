"""Expressions and their derivatives."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix import (
    LogisticRegression,
    explain,
)
from separatrix.explain.computation_graph.expressions import FUNCTIONS
from separatrix.losses.cross_entropy import CrossEntropy

numbers = st.floats(-3, 3).map(lambda v: round(v, 2))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("-w^2", -4.0),
        ("2^3^w", 2.0**9),
        ("2-3-w", -3.0),
        ("12/3/w", 2.0),
        ("6/-w*3", -9.0),
        ("-w*3+1", -5.0),
        ("2^-w", 0.25),
        ("--w", 2.0),
        (" ( w ) ", 2.0),
        ("1e-1*w + .5", 0.7),
        ("max(w, 3)", 3.0),
        ("w", 2.0),
    ],
)
def test_expressions_follow_the_rules_of_precedence(expression: str, value: float) -> None:
    assert explain.graph(expression, w=2).output.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("expression", "given", "words"),
    [
        ("", {}, "incomplete: a number"),
        ("w +", {"w": 1}, "incomplete"),
        ("w w", {"w": 1}, "Expected an operator"),
        ("(w", {"w": 1}, r"incomplete: '\)'"),
        ("__import__('os')", {}, 'has "\'" at character 12'),
        ("w.real", {"w": 1}, r"has '\.' at character 2"),
        ("eval(w)", {"w": 1}, "no function 'eval'"),
        ("exp w", {"w": 1}, r"Expected '\('"),
        ("max(w)", {"w": 1}, "Expected ','"),
        ("w + v", {"w": 1}, "Give a value for v"),
        ("w", {"w": 1, "v": 2}, "no variable v"),
        ("w", {"w": "x"}, "finite number"),
        ("w", {"w": math.inf}, "finite number"),
        ("log(w)", {"w": -1}, "no finite value"),
        ("1/w", {"w": 0}, "no finite value"),
        ("sqrt(w)", {"w": 0}, "no finite derivative"),
        ("exp(exp(exp(w)))", {"w": 9}, "no finite value"),
        ("1e999 + w", {"w": 1}, "too large"),
        ("(" * 41 + "w" + ")" * 41, {"w": 1}, "nested more than 40"),
        ("w" + "+w" * 300, {"w": 1}, "at most 500 characters"),
        ("w + ١", {"w": 1}, "has '١' at character 5"),
    ],
)
def test_invalid_expressions_are_refused(expression: str, given: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        explain.graph(expression, **given)


@given(st.text(max_size=60) | st.text("wx0123456789.+-*/^(), eE" + "explogsqrtmax", max_size=40))
def test_any_text_gives_a_graph_or_an_error_message(text: str) -> None:
    found = outcome(text)
    if isinstance(found, str):
        assert found.endswith(".")
    else:
        assert math.isfinite(found.output.value)


def outcome(text: str) -> explain.Graph | str:
    """Return the graph, or the error message."""
    given = {name: value for name, value in (("w", 0.7), ("x", -1.3)) if name in text}
    try:
        return explain.graph(text, **given)
    except ValueError as error:
        return str(error)


operands = st.sampled_from(["w", "x", "2", "0.5"])


expressions = st.recursive(
    operands,
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})")
        | st.tuples(st.sampled_from(sorted({*FUNCTIONS} - {"max"})), inner).map(
            "{0[0]}({0[1]})".format
        )
        | inner.map("-{}".format)
        | inner.map("({})^2".format)
    ),
    max_leaves=8,
)


@given(expressions, numbers, numbers)
def test_reverse_mode_agrees_with_finite_differences(expression: str, w: float, x: float) -> None:
    both = f"0*w + 0*x + {expression}"
    try:
        found = explain.graph(both, w=w, x=x)
    except ValueError:
        return
    assert found.agrees, (both, found.to_text())


@pytest.mark.parametrize(
    ("call_it", "words"),
    [
        (lambda: explain.step([1, 2], "a", [1, 2]), r"class numbers 0 to 1. Got \['a'\] instead"),
        (lambda: explain.step([1, 2], 0.5, [1, 2]), r"class numbers 0 to 1. Got \[0.5\] instead"),
        (
            lambda: explain.step([1, "b"], 1, [1, 2]),
            r"X must be numbers.* Got \[1, 'b'\] instead",
        ),
        (
            lambda: explain.step([1, 2], 1, [1, 2], learning_rate="a"),
            "'learning_rate' parameter must be a finite number > 0. Got 'a' instead",
        ),
        (lambda: explain.step([1, 2], 1, [1, 2], l2=-1), "'l2' parameter must be a finite number"),
        (lambda: explain.scores([1, 2], "a"), "class numbers 0 to 1"),
        (
            lambda: explain.check_gradient(3),
            r"one of perceptron.*Got 3, which has no method n_outputs\(\)",
        ),
        (lambda: explain.check_gradient(CrossEntropy), "which is a class: call it"),
        (lambda: explain.check_gradient("logistic", 1), "'n_classes' parameter must be a whole"),
        (lambda: explain.curvature_along("logistic", [[1]], ["a"], [0], [1]), "class numbers 0 to"),
        (
            lambda: explain.weights([1, 2], [1, 2, 3]),
            r"shape \(1,\).* Got \(3,\)",
        ),
        (
            lambda: explain.prediction(explain.weights([1.0]), [2.0], top=-1),
            "'top' parameter must be a whole number >= 0 or None. Got -1 instead",
        ),
        (
            lambda: explain.prediction(LogisticRegression(), [2.0]),
            "LogisticRegression instance is not fitted yet",
        ),
    ],
)
def test_errors_name_the_invalid_argument(call_it, words) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call_it()


def test_a_variable_may_be_called_expression() -> None:
    assert explain.graph("2 * expression", expression=3)["expression"].derivative == 2.0
