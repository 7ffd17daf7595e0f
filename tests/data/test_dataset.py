"""A data set checks labels and weights, and rescales very large or small weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from separatrix.data import Block, Dataset
from separatrix.matrix import Matrix
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from support.forms import BINARY, MULTICLASS
from support.objectives import B, random_model, refused, rows


def test_ordinary_weights_are_not_changed() -> None:
    X, y, _ = rows(BINARY[0])
    for s in (np.linspace(0.0, 1e19, 50), np.linspace(0.0, 1e-19, 50)):
        block = Dataset.of(X, y, s).only_block()
        np.testing.assert_array_equal(block.s, s)


def test_blocks_share_the_scale_of_their_weights() -> None:
    form = BINARY[0]
    X, y, s = rows(form)
    cuts = [slice(0, 20), slice(20, 30), slice(30, 50)]
    s[cuts[0]], s[cuts[2]] = 1e-200, 1e200
    one = Objective(Dataset.of(X, y, np.where(s > 1.0, s, 0.0)), form.loss, ElasticNet(0.0, 0.0))
    parts = [Block.of(X[c], y[c], None if c == cuts[1] else s[c]) for c in cuts]
    many = Objective(Dataset(parts, np.arange(2)), form.loss, ElasticNet(0.0, 0.0))
    model = random_model(form)
    np.testing.assert_allclose(many.value(model), one.value(model), rtol=1e-12)


def test_taken_rows_keep_their_weights_and_a_given_scale_is_used() -> None:
    form = MULTICLASS[-1]
    X, y, s = rows(form, each=True)
    s[:10] = 1e-300
    whole = Dataset.of(X, y, s)
    block = whole.only_block()
    few = np.array([9, 2, 5])
    taken = block.take(few)
    part = Dataset([taken], whole.classes)
    assert part.n_samples == 3
    np.testing.assert_array_equal(taken.s, s[few])
    np.testing.assert_array_equal(taken.X.X, X[few])
    scale = np.array([1.0, 2.0, 3.0])
    objective = Objective(part, form.loss, ElasticNet(0.0, 0.0), scale=scale)
    np.testing.assert_array_equal(objective.scale(B), scale)
    np.testing.assert_array_equal(objective.select(np.array([2, 0])).scale(2), [3.0, 1.0])


@pytest.mark.parametrize("shape", [(10,), (60,), (10, 2), (50, 2, 2), ()])
def test_labels_and_weights_that_do_not_fit_the_rows_are_refused(shape: Any) -> None:
    X, y, _ = rows(BINARY[0])
    for make in (Block.of, Dataset.of):
        with refused(r"X has 50 rows: y must be of shape \(50,\), or \(50, B\) .*Got \("):
            make(X, np.zeros(shape, int))
        with refused(r"X has 50 rows: s must be of shape \(50,\), or \(50, B\) .*Got \("):
            make(X, y, np.ones(shape))


@pytest.mark.parametrize("wrong", [0.5, -1, np.nan, np.inf, 2**31, 1e300])
def test_labels_that_are_not_class_numbers_are_refused(wrong: float) -> None:
    for labels in ([0, 1, wrong], [[0, 1], [1, wrong], [0, 0]]):
        with refused(r"y must hold whole class numbers >= 0\. Row [12] has .*Number the classes"):
            Dataset.of(np.ones((3, 2)), labels)
    with refused(r"y must hold class numbers 0, 1, \.\.\.\. Got type <U3.*Number the classes"):
        Dataset.of(np.ones((2, 2)), ["yes", "no"])


@pytest.mark.parametrize("kind", [float, np.uint8, np.int64, bool])
def test_labels_of_any_type_are_accepted_if_they_are_integers(kind: type) -> None:
    block = Dataset.of(np.ones((3, 2)), np.array([1, 0, 1], kind)).only_block()
    assert block.y.dtype == np.int32
    np.testing.assert_array_equal(block.y, [1, 0, 1])


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_weights_below_zero_or_not_finite_are_refused(wrong: float) -> None:
    with refused(r"s must be finite and >= 0\. Row 1 has .*weight of 0\."):
        Dataset.of(np.ones((3, 2)), [0, 1, 1], [1.0, wrong, 1.0])
    with refused(r"s must hold numbers\. Got type object instead"):
        Dataset.of(np.ones((2, 2)), [0, 1], np.array([1, None]))


def test_labels_beyond_the_classes_are_refused() -> None:
    X, y, _ = rows(BINARY[0])
    y[7] = 10**7
    words = r"numbers of the 3 classes, 0 to 2\. Row 7 has 10000000\. Name every class in 'classes'"
    with refused(words):
        Dataset.of(X, y, classes=[0, 1, 2])
    with refused(words):
        Dataset([Block.of(X, y)], np.arange(3))
    y[7] = -1
    with refused(r"Row 7 has -1"):
        Dataset([Block(Matrix(X), y)], np.arange(3))


def test_blocks_with_different_features_are_refused() -> None:
    parts = [Block.of(np.ones((2, d)), [0, 1]) for d in (3, 5)]
    with refused(r"the same features\. Got blocks of 3 and 5 columns instead"):
        Dataset(parts, np.arange(2))
    with refused(r"Got no blocks instead"):
        Dataset([], np.arange(2))


def test_a_block_made_by_hand_has_the_types_of_the_kernels() -> None:
    X = Matrix(np.ones((3, 2)))
    with refused(r"y must be int32 in C order\. Got int64 instead\. Use Block\.of"):
        Block(X, np.zeros(3, np.int64))
    with refused(r"s must be float64 in C order"):
        Block(X, np.zeros(3, np.int32), np.ones((3, 4))[:, ::2])
