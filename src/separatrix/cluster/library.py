"""Dask and `distributed`. No other file imports them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeAlias

from separatrix.errors import ClusterError

Client: TypeAlias = Any  # Dask is not always installed, so its types are not used
Collection: TypeAlias = Any
Delayed: TypeAlias = Any
Future: TypeAlias = Any

CONNECTING = 5.0  # seconds until a scheduler must have answered


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
    distributed = _distributed()
    try:
        return distributed.default_client()
    except ValueError:
        raise ClusterError(
            "Training on a Dask collection needs a client of a cluster, and this process has none. "
            "Connect first with client = distributed.Client(address), or start workers on this "
            "machine with distributed.Client()."
        ) from None


def open_client(address: str) -> Client:
    """Connect to a scheduler, or raise within seconds and say what is wrong with the address."""
    distributed = _distributed()
    try:
        # Asked first: a client that fails to connect waits again when it is deleted.
        found = asyncio.run(asyncio.wait_for(_identify(distributed, address), CONNECTING))
    except (OSError, ValueError, TimeoutError) as error:
        why = (
            f"no answer within {CONNECTING:g} s" if isinstance(error, TimeoutError) else str(error)
        )
        raise ClusterError(
            f"No scheduler of Dask at {address!r}: {why.rstrip('.')}. Give the address that 'dask "
            "scheduler' prints when it starts, such as tcp://192.168.0.7:8786."
        ) from None
    if found.get("type") != "Scheduler":
        raise ClusterError(
            f"{address!r} is the address of a {found.get('type')}, and not of a scheduler of Dask. "
            "Give the address that 'dask scheduler' prints when it starts."
        )
    if not found["workers"]:
        raise ClusterError(
            f"The scheduler at {address!r} has no workers. Start some with: dask worker {address}"
        )
    return distributed.Client(address, timeout=CONNECTING)


async def _identify(distributed: Any, address: str) -> dict[str, Any]:
    """Ask a server of Dask what it is."""
    security = distributed.Security().get_connection_args("client")
    async with distributed.rpc(address, connection_args=security) as server:
        found: dict[str, Any] = await server.identity()
    return found


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise ClusterError(
            "Training on a Dask cluster needs the package 'distributed', which is not installed. "
            "Install it with pip install 'separatrix[dask]'."
        ) from None


def join_rows(parts: Sequence[Any], lengths: Sequence[int], width: int, dtype: Any) -> Collection:
    """Return an array whose chunks are futures or tasks, one below the other."""
    da = import_module("dask.array")
    shapes = [(length, width) for length in lengths]
    return da.concatenate(
        [da.from_delayed(part, shape, dtype) for part, shape in zip(parts, shapes)]
    )


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
