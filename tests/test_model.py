"""Models of a batch are split and stacked."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.matrix import set_threads
from separatrix.model import Model


def make_model(d: int, B: int, K: int, dtype: type = np.float64) -> Model:
    rng = np.random.default_rng(d + B + K)
    W, b = rng.standard_normal((d, B, K)), rng.standard_normal((B, K))
    return Model(W.astype(dtype), b.astype(dtype))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("d", "B", "K"), [(1, 1, 1), (700, 5, 1), (513, 4, 3), (0, 2, 2)])
def test_models_are_split_and_stacked_bit_for_bit(
    d: int, B: int, K: int, dtype: type, threads: int
) -> None:
    set_threads(threads)
    model = make_model(d, B, K, dtype)
    parts = model.split(np.arange(B))
    for m, part in enumerate(parts):
        np.testing.assert_array_equal(part.W, model.W[:, m : m + 1])
        np.testing.assert_array_equal(part.b, model.b[m : m + 1])
        assert part.W.dtype == dtype
    whole = Model.stack(parts)
    np.testing.assert_array_equal(whole.W, model.W)
    np.testing.assert_array_equal(whole.b, model.b)


def test_parts_are_copies_in_the_order_asked_for() -> None:
    model = make_model(300, 4, 2)
    first, again, last = model.split(np.array([2, 2, -1]))
    np.testing.assert_array_equal(first.W, again.W)
    np.testing.assert_array_equal(last.W, model.W[:, 3:])
    first.W[:], first.b[:] = 0.0, 0.0
    assert again.W.all()
    assert model.W.all()
    assert again.W.base is None  # keeping one does not keep the others in memory


def test_batches_of_several_sizes_and_types_are_stacked_as_numpy_would() -> None:
    parts = [make_model(30, 2, 3), make_model(30, 1, 3, np.float32), make_model(30, 3, 3)]
    whole = Model.stack(parts)
    np.testing.assert_array_equal(whole.W, np.concatenate([part.W for part in parts], axis=1))
    np.testing.assert_array_equal(whole.b, np.concatenate([part.b for part in parts]))
    assert whole.W.dtype == np.float64


def test_weights_in_another_order_are_split_and_stacked_too() -> None:
    model = make_model(40, 3, 2)
    turned = Model(np.asfortranarray(model.W), model.b)
    np.testing.assert_array_equal(turned.split(np.array([1]))[0].W, model.W[:, 1:2])
    np.testing.assert_array_equal(Model.stack([turned, model]).W[:, :3], model.W)


def test_models_of_other_features_are_refused() -> None:
    with pytest.raises(ValueError, match=r"same features\. Got W of \(3, 1, 1\), \(4, 1, 1\)"):
        Model.stack([make_model(3, 1, 1), make_model(4, 1, 1)])


def test_a_model_that_is_not_there_is_not_split_off() -> None:
    with pytest.raises(IndexError):
        make_model(3, 2, 1).split(np.array([2]))
