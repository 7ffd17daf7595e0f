"""Tests of the test helpers."""

from __future__ import annotations

import inspect

import pytest

from support.looped import looped


def test_a_looped_test_meets_all_values_and_names_the_one_that_fails():
    seen = []

    @looped("left", [1, 2])
    @looped("right", "ab")
    def test(left, right, other):
        seen.append((left, right, other))
        assert len(seen) < 4

    assert list(inspect.signature(test).parameters) == ["other"]
    with pytest.raises(AssertionError) as error:
        test(other=0)
    assert seen == [(1, "a", 0), (1, "b", 0), (2, "a", 0), (2, "b", 0)]
    assert error.value.__notes__ == ["right = 'b'", "left = 2"]
