"""Dask and `distributed`. No other file imports them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from separatrix.errors import ClusterError

Client: TypeAlias = Any  # Dask is not always installed, so its types are not used
Collection: TypeAlias = Any
Delayed: TypeAlias = Any
Future: TypeAlias = Any


def is_collection(X: Any) -> bool:
    """Return whether X is an array, a data frame or a series of Dask.

    >>> is_collection([[1.0]])
    False
    """
    kind = type(X)
    return kind.__module__.partition(".")[0] == "dask" and hasattr(X, "to_delayed")


def is_frame(X: Collection) -> bool:
    """Return whether a collection is a data frame or a series."""
    return hasattr(X, "npartitions") and hasattr(X, "map_partitions")


def find_client() -> Client:
    """Return the current client of the process, or raise and say how to connect."""
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise ClusterError(
            "Training on a Dask collection needs the package 'distributed', which is not "
            "installed. Install it with pip install 'separatrix[dask]'."
        ) from None
    try:
        return distributed.default_client()
    except ValueError:
        raise ClusterError(
            "Training on a Dask collection needs a client of a cluster, and this process has none. "
            "Connect first with client = distributed.Client(address), or start workers on this "
            "machine with distributed.Client()."
        ) from None


def delay(f: Any, *arguments: Any) -> Delayed:
    """Return f(*arguments) as a task of Dask."""
    return import_module("dask").delayed(f)(*arguments)


def pickled(value: Any) -> bytes:
    """Return the pickle of a value; functions and classes of a notebook are included in it."""
    return bytes(import_module("distributed.protocol.pickle").dumps(value))


def wait(future: Future, seconds: float) -> bool:
    """Wait until a future is finished or has failed, and return whether it is."""
    distributed = import_module("distributed")
    try:
        distributed.wait(future, timeout=seconds)
    except TimeoutError:
        return False
    except distributed.CancelledError:  # `result` raises it again, with its reason
        return True
    return True


def failures() -> dict[str, type[Exception]]:
    """Return the errors of `distributed` by which a cluster reports failures, by name."""
    distributed = import_module("distributed")
    return {
        "killed": distributed.KilledWorker,
        "cancelled": distributed.client.FutureCancelledError,
        "closed": distributed.comm.CommClosedError,
    }
