"""Grids become configurations, and invalid grids are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix import (
    LOSSES,
    GradientDescentClassifier,
    Study,
)
from separatrix.study import Between, StoreError, log_range
from separatrix.study.planning.data import StudyData
from separatrix.study.planning.default_grid import HOMEWORK, choose_grid
from separatrix.study.planning.grid import draw_configurations, list_configurations
from support.studies import iris, two_classes


def test_the_last_parameter_of_a_grid_varies_fastest():
    found = list_configurations({"a": [1, 2], "b": [3, 4], "c": 5})
    assert [tuple(c.values()) for c in found] == [(1, 3, 5), (1, 4, 5), (2, 3, 5), (2, 4, 5)]


def test_several_grids_are_listed_in_order_without_duplicates():
    found = list_configurations([{"a": [1, 2]}, {"a": [2, 3]}])
    assert [c["a"] for c in found] == [1, 2, 3]


@given(st.floats(1e-6, 1.0), st.floats(1.5, 1e6), st.integers(2, 20))
def test_a_log_range_grows_by_equal_factors(low, times, count):
    found = log_range(low, low * times, count)
    assert (found[0], found[-1], len(found)) == (low, low * times, count)
    factors = np.array(found[1:]) / found[:-1]
    np.testing.assert_allclose(factors, times ** (1 / (count - 1)), rtol=1e-4)


def test_draws_are_within_the_ranges_and_reproducible():
    grid = {"learning_rate": Between(1e-3, 1.0), "momentum": [0.0, 0.9]}
    found = draw_configurations(grid, 30, seed=3)
    assert found == draw_configurations(grid, 30, seed=3) != draw_configurations(grid, 30, seed=4)
    assert len(found) == 30
    assert all(1e-3 <= c["learning_rate"] <= 1.0 for c in found)
    assert len(draw_configurations({"momentum": [0.0, 0.9]}, 10)) == 2


def test_an_empty_grid_is_one_configuration_and_an_empty_list_is_an_error(small):
    assert len(Study("a", GradientDescentClassifier(), {})) == 1
    with pytest.raises(ValueError, match="at least one grid"):
        Study("a", GradientDescentClassifier(), [])


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"learning_rate": Between(0.1, 1.0)}, "Use log_range"),
        ({"learning_rate": []}, "no values"),
        ({"speed": [1]}, "no parameter 'speed'"),
        ({"random_state": [1]}, "seeds=N"),
        ({"loss": [LOSSES["hinge"]]}, "Got Margin for 'loss'"),
        ({"init": [(np.zeros(4), 0.0)]}, "Got tuple for 'init'"),
    ],
)
def test_invalid_grids_are_refused(grid, words):
    with pytest.raises(ValueError, match=words):
        Study("a", GradientDescentClassifier(), grid)


@pytest.mark.parametrize("seeds", [0, -1, 1.5, True, [], [1, 1], [1, 2.5], "ab"])
def test_invalid_seeds_are_refused(seeds):
    with pytest.raises(ValueError, match="seeds must be a whole number"):
        Study("a", GradientDescentClassifier(), {"epochs": [5]}, seeds=seeds)


@pytest.mark.parametrize("values", [(0.1, 0.2), {0.1, 0.2}, tuple(range(1000))])
def test_a_tuple_of_values_is_refused_with_a_hint(values):
    for more in ({}, {"draws": 2}):
        with pytest.raises(ValueError, match=r"'learning_rate'.*Use a list .*\[") as refused:
            Study("a", GradientDescentClassifier(), {"learning_rate": values}, **more)
        assert len(str(refused.value)) < 300


def test_a_wrong_value_is_refused_before_training_and_names_its_configuration(small):
    study = Study("a", GradientDescentClassifier(), {"learning_rate": [0.1, -1.0]})
    with pytest.raises(ValueError, match=r"learning rate -1: The 'learning_rate' parameter"):
        study.run(*iris())
    with pytest.raises(StoreError, match="no study 'a'"):
        study.facts()


# defaults


def test_the_default_grid_depends_on_the_data():
    X, y, X_val, y_val = two_classes(noise=0.5)
    one = choose_grid(GradientDescentClassifier(), StudyData.from_arrays(X, y, X_val, y_val), {})
    ten = choose_grid(
        GradientDescentClassifier(), StudyData.from_arrays(10 * X, y, 10 * X_val, y_val), {}
    )
    times = one.grid["learning_rate"][2] / ten.grid["learning_rate"][2]
    assert 50 < times <= 110  # grows with the square of the features, except for the bias
    assert ten.grid["l2"][1] == pytest.approx(100 * one.grid["l2"][1], rel=0.2)
    assert one.notes[0] != ten.notes[0]
    assert choose_grid(
        GradientDescentClassifier(), StudyData.from_arrays(X, y), {"l2": [0.5]}
    ).grid["l2"] == [0.5]
    named = choose_grid(GradientDescentClassifier(), StudyData.from_arrays(X, y, name="iris"), {})
    assert named.grid != HOMEWORK  # the rows decide, not the name
    hinge = choose_grid(GradientDescentClassifier("hinge"), StudyData.from_arrays(X, y), {})
    assert hinge.grid["l2"] == [0.0]


@pytest.mark.parametrize(
    ("rule", "momenta"), [("adam", [0.0]), ("plain", [0.0]), ("nesterov", [0.0, 0.9])]
)
def test_momentum_is_varied_only_for_rules_that_have_it(rule, momenta):
    data = StudyData.from_arrays(*two_classes()[:2])
    assert choose_grid(GradientDescentClassifier(rule=rule), data, {}).grid["momentum"] == momenta
    chosen = choose_grid(GradientDescentClassifier(), data, {"rule": [rule]}).grid
    assert chosen["momentum"] == momenta
