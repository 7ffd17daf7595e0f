"""PyTorch and its devices. No other file imports torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter, ParameterError
from separatrix.matrix import Array

Tensor: TypeAlias = Any  # torch is not always installed, so its types are not used

PRECISIONS = ("tf32", "float32", "float64")
COMPILE_FROM = 1 << 24  # scores in a pass from which compiling the formulas pays
RECOMPILATIONS = 256  # a process may fit many losses, types and numbers of models
HOST_BYTES = 1 << 30  # memory for the arrays of a pass if the device does not tell what it has
SMALL = 1 << 20  # bytes of an array that is copied to a GPU while the GPU computes
FREE_SHARE = 0.4  # share of the free memory of a GPU that the arrays of a pass may take


@dataclass(frozen=True)
class TorchDevice:
    """A device of PyTorch on which passes over the rows run.

    `tf32` allows matrix products to round float32 to 10 bits. `pass_bytes` is the memory that the
    arrays of a pass may take; None asks the device.
    """

    name: str
    tf32: bool = False
    pass_bytes: int | None = None

    @property
    def torch(self) -> Any:
        return import_torch(self.name)

    def tensor(self, a: Any, dtype: Any = None) -> Tensor:
        """Copy an array to the device, in a numpy type."""
        host = np.ascontiguousarray(a, dtype)
        if not host.flags.writeable:  # torch warns about memory that it must not write to
            host = host.copy()
        tensor = self.torch.from_numpy(host)
        if self.name.startswith("cuda") and host.nbytes < SMALL:  # so that nothing waits for it
            return tensor.pin_memory().to(self.name, non_blocking=True)
        return tensor.to(self.name)

    def room(self) -> int:
        """Return the number of bytes that the arrays of a pass may take."""
        if self.pass_bytes is not None:
            return self.pass_bytes
        if not self.name.startswith("cuda"):
            return HOST_BYTES
        torch = self.torch
        free, _ = torch.cuda.mem_get_info(self.name)
        unused = torch.cuda.memory_reserved(self.name) - torch.cuda.memory_allocated(self.name)
        return int(FREE_SHARE * (free + unused))

    def free_cache(self) -> None:
        """Give memory that no tensor uses back to the device."""
        if self.name.startswith("cuda"):
            self.torch.cuda.empty_cache()

    @contextmanager
    def products(self) -> Iterator[None]:
        """Set the precision of float32 products, and restore it afterwards."""
        torch = self.torch
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high" if self.tf32 else "highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)

    def run(self, formula: Callable[..., Any], *arguments: Any, size: int) -> Any:
        """Call a formula on tensors: compiled if a pass has `size` scores, enough to pay for it.

        Without a working compiler it runs uncompiled, with a warning.
        """
        if size < COMPILE_FROM or self.name in _UNCOMPILED:
            return formula(*arguments)
        try:
            with warnings.catch_warnings():  # about the inside of the compiler
                warnings.simplefilter("ignore")
                return _compiled(formula)(*arguments)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            result = formula(*arguments)  # an error that is not the compiler's is raised here
            _UNCOMPILED.add(self.name)
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            warnings.warn(
                f"torch.compile does not work for device '{self.name}' ({reason}). The formulas "
                "run uncompiled: the results are the same, but epochs take longer.",
                RuntimeWarning,
                stacklevel=2,
            )
            return result


_UNCOMPILED: set[str] = set()  # devices on which the compiler has failed


@cache
def _compiled(formula: Callable[..., Any]) -> Callable[..., Any]:
    torch = import_torch()
    limit = torch._dynamo.config.recompile_limit
    torch._dynamo.config.recompile_limit = max(limit, RECOMPILATIONS)
    return torch.compile(formula)


def import_torch(device: str = "cuda") -> Any:
    """Import PyTorch, or raise an error that says how to install it."""
    try:
        return import_module("torch")
    except ImportError:
        raise ParameterError(
            Message(
                "{device} needs PyTorch, which is not installed. Install it with pip install "
                "'separatrix[gpu]', or omit {omitted}.",
                device=Parameter("device", device),
                omitted=Parameter("device"),
            )
        ) from None


def open_device(name: Any, precision: str | None = None) -> TorchDevice:
    """Return a device by its name, or raise if PyTorch cannot use it on this machine."""
    torch = import_torch(str(name))
    try:
        if not isinstance(name, str):
            raise RuntimeError
        kind = torch.device(name).type
    except RuntimeError:
        raise ParameterError(
            Message(
                "{device:subject} must be None or the name of a device of PyTorch, such as "
                "'cuda', 'cuda:1' or 'cpu'. Got {given!r} instead.",
                device=Parameter("device"),
                given=name,
            )
        ) from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise ParameterError(
            Message(
                "{device} needs a GPU that PyTorch can use, and this machine has none. Omit "
                "{omitted} to train on the processor.",
                device=Parameter("device", name),
                omitted=Parameter("device"),
            )
        )
    try:
        torch.zeros(1, dtype=torch.float64, device=name)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        raise ParameterError(
            Message(
                "{device} cannot be used on this machine: {reason}",
                device=Parameter("device", name),
                reason=str(error).splitlines()[0],
            )
        ) from None
    return TorchDevice(name, tf32=precision == "tf32")


def check_device(name: Any, precision: Any = None) -> None:
    """Raise unless a device and its precision can be used on this machine; None is no device."""
    if precision is not None and precision not in PRECISIONS:
        raise ParameterError(
            Message(
                "{precision:subject} must be one of {allowed} or None. Got {given!r} instead.",
                precision=Parameter("precision"),
                allowed=", ".join(map(repr, PRECISIONS)),
                given=precision,
            )
        )
    if name is not None:
        open_device(name)
    elif precision is not None:
        raise ParameterError(
            Message(
                "{precision} needs {device}: without a device, weights have the type of X.",
                precision=Parameter("precision", precision),
                device=Parameter("device"),
            )
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that a device, or the processor, has no memory left."""
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)


def to_host(a: Any) -> Any:
    """Return a tensor of PyTorch as a numpy array or a CSR matrix; return all else as it is.

    >>> to_host([1, 2])
    [1, 2]
    """
    if not type(a).__module__.startswith("torch"):
        return a
    a = a.detach().cpu()
    layout = str(a.layout)
    if layout == "torch.strided":
        return a.numpy()
    if layout != "torch.sparse_csr":
        a = a.to_sparse_csr()
    parts = (a.values(), a.col_indices(), a.crow_indices())
    return sp.csr_array(tuple(part.numpy() for part in parts), shape=tuple(a.shape))


def as_array(t: Tensor) -> Array:
    """Copy a tensor from the device to a numpy array in C order."""
    return np.ascontiguousarray(t.detach().cpu().numpy())
