"""The formulas of the losses give the same numbers in torch as in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.losses import LOSSES, Loss, OneVsRest
from support.looped import looped

torch = pytest.importorskip("torch", reason="torch is not installed (extra gpu)")

EVERY_LOSS: list[Loss] = [
    *LOSSES.values(),
    *(OneVsRest(LOSSES[name]) for name in ("logistic", "hinge", "squared", "modified_huber")),
]
every_loss = looped("loss", EVERY_LOSS)


def rows(loss: Loss) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Labels, scores and directions for two and for four classes, with ties and extremes."""
    rng, out = np.random.default_rng(0), []
    for classes in (2, 4):
        try:
            K = loss.n_outputs(classes)
        except ValueError:  # a loss for two classes
            continue
        Z = np.round(3.0 * rng.standard_normal((60, 3, K)), 1)
        Z[:3], Z[3], Z[4] = 0.0, 1e300, -1e300
        y = rng.integers(0, max(classes, 2), (60, 3), dtype=np.int32)
        out += [(y, Z, rng.standard_normal(Z.shape)), (y[:, 0], Z, rng.standard_normal(Z.shape))]
    return out


def assert_same(found: torch.Tensor, expected: np.ndarray) -> None:
    assert found.dtype == (torch.float64 if expected.dtype == np.float64 else torch.int64)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


@every_loss
def test_formulas_in_torch_equal_those_in_numpy(loss: Loss) -> None:
    for y, Z, V in rows(loss):
        in_torch = [torch.from_numpy(a) for a in (y, Z, V)]
        names = ["value", "gradient", "predict"] + ["hessian_times"] * loss.smooth
        for name in names:
            count = {"predict": slice(1, 2), "hessian_times": slice(0, 3)}.get(name, slice(0, 2))
            found = getattr(loss, name)(*in_torch[count], xp=torch)
            assert_same(found, getattr(loss, name)(*(y, Z, V)[count]))


@looped("loss", [loss for loss in EVERY_LOSS if loss.convex])
def test_conjugates_in_torch_equal_those_of_the_kernels(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    for y, Z, _ in rows(loss):
        usual = np.clip(Z, -50.0, 50.0)
        U = loss.gradient(y, usual) * rng.random((len(Z), 3, 1))
        U[0] = 7.0  # outside most domains
        found = loss.conjugate(torch.from_numpy(y), torch.from_numpy(U), xp=torch)
        assert_same(found, loss.conjugate(y, U))


@every_loss
def test_formulas_write_into_none_of_their_arguments(loss: Loss) -> None:
    for arrays in rows(loss):
        y, Z, V = (torch.from_numpy(a.copy()) for a in arrays)
        loss.value(y, Z, xp=torch), loss.gradient(y, Z, xp=torch)
        if loss.smooth:
            loss.hessian_times(y, Z, V, xp=torch)
        for after, before in zip((y, Z, V), arrays):
            np.testing.assert_array_equal(after.numpy(), before)
