"""Passes and certificates on a device equal the native ones, for all losses and in any pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data import Dataset
from separatrix.device import DeviceObjective, TorchDevice
from separatrix.device.rows import DeviceRows
from separatrix.losses import LOSSES, Loss, OneVsRest
from separatrix.model import Model
from separatrix.objective import Objective
from separatrix.penalty import ElasticNet
from separatrix.verdict.certificate import certify
from support.looped import looped

pytest.importorskip("torch", reason="torch is not installed (extra gpu)")

EVERY_LOSS: list[Loss] = [
    *LOSSES.values(),
    *(OneVsRest(LOSSES[name]) for name in ("logistic", "hinge", "squared", "modified_huber")),
]
B, D = 3, 6
PENALTIES = (
    ElasticNet(0.0, [0.0, 0.1, 1.0]),
    ElasticNet([0.05, 0.1, 0.2], 0.0, factors=np.linspace(0.5, 2.0, D)),
    ElasticNet(0.0, 0.3, bias_factor=[0.0, 1.0, 2.0]),
)


def problem(classes: int, K: int, own: bool = False) -> tuple[Dataset, Model]:
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((120, D)) * (rng.random((120, D)) < 0.6)
    y = rng.integers(0, classes, (120, B) if own else 120)
    s = rng.integers(0, 3, (120, B)).astype(float) if own else None
    data = Dataset.of(sp.csr_array(X) if own else X, y, s, classes=np.arange(classes))
    return data, Model(rng.standard_normal((D, B, K)), rng.standard_normal((B, K)))


def pair(
    data: Dataset, loss: Loss, penalty: ElasticNet, bytes_: int | None = None, **given: Any
) -> tuple[Objective, Objective]:
    place = DeviceRows(TorchDevice("cpu", pass_bytes=bytes_))
    on_device = DeviceObjective(data, loss, penalty, rows=place, **given)
    return on_device, Objective(data, loss, penalty, **given)


def assert_same(ours: Objective, theirs: Objective, model: Model) -> None:
    found, expected = ours.evaluate(model), theirs.evaluate(model)
    for name in ("loss", "accuracy", "penalty", "gradient_norm", "GW", "gb"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-11)
    for mine, native in zip(certify(ours, model), certify(theirs, model)):
        assert mine.kind == native.kind
        assert mine.primal == pytest.approx(native.primal, abs=1e-11)
        if native.dual is not None:
            assert mine.dual == pytest.approx(native.dual, abs=1e-10)


@looped("loss", EVERY_LOSS)
@pytest.mark.parametrize("own", [False, True], ids=["shared rows", "own labels and weights"])
def test_evaluations_and_certificates_equal_the_native_ones(loss: Loss, own: bool) -> None:
    for classes in (2, 4):
        try:
            K = loss.n_outputs(classes)
        except ValueError:  # a loss for two classes
            continue
        data, model = problem(classes, K, own)
        for penalty in PENALTIES:
            for bias in (True, False):
                if bias or not penalty.bias_factor.any():
                    assert_same(*pair(data, loss, penalty, bias=bias), model)


def test_many_classes_are_balanced_by_shifting_their_scores() -> None:
    data, model = problem(40, 40)
    assert_same(*pair(data, LOSSES["softmax"], PENALTIES[0]), model)


@looped("memory", [1 << 12, 1 << 14, 1 << 17])
def test_rows_that_do_not_fit_are_computed_in_pieces(memory: int) -> None:
    data, model = problem(3, 3)
    other, _ = problem(3, 3, own=True)
    for rows in (data, other):
        assert_same(*pair(rows, LOSSES["softmax"], PENALTIES[0], memory), model)


def test_several_blocks_give_the_sums_of_one() -> None:
    data, model = problem(3, 3)
    block = data.only_block()
    cut = Dataset.of(block.X.X, block.y, rows_per_block=50)
    ours, _ = pair(cut, LOSSES["softmax"], PENALTIES[0])
    assert_same(ours, Objective(data, LOSSES["softmax"], PENALTIES[0]), model)


def test_a_pass_that_runs_out_of_memory_is_repeated_in_smaller_pieces() -> None:
    import torch

    place = DeviceRows(TorchDevice("cpu", pass_bytes=1 << 20))

    def in_pieces(most: int) -> int:
        if place.room() > most:
            raise torch.OutOfMemoryError
        return place.room()

    assert place.attempt(in_pieces, 1 << 18) == 1 << 18
    with pytest.raises(MemoryError, match="'cpu' ran out of memory"):
        place.attempt(in_pieces, 1)
    with pytest.raises(ZeroDivisionError):  # another error is not repeated
        place.attempt(lambda: 1 // 0)
