"""What can go wrong on a cluster, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from separatrix.cluster.library import Client, failures
from separatrix.errors import ClusterError

RESUME = (
    "A study keeps its checkpoints and finished runs: continue it with resume=True. Any other fit "
    "starts again."
)


@contextmanager
def explain(client: Client) -> Iterator[None]:
    """Turn the errors by which a cluster reports failures into a ClusterError."""
    known = failures()
    try:
        yield
    except known["killed"] as error:
        _refuse_killed(str(error.args[0]) if error.args else "a task", error)
    except known["cancelled"] as error:
        if client.status != "running":
            _refuse_gone(client, error)
        raise ClusterError(
            "A partition was lost together with its worker, and Dask cannot compute it again: it "
            "was sent from this process (`scatter`) or its data was cancelled. Build the "
            "collection from files or functions, which Dask can repeat, or pass it again."
        ) from error
    except (known["closed"], OSError) as error:
        _refuse_gone(client, error)


def scheduler_is_gone(client: Client) -> None:
    """Raise if the client has lost its scheduler."""
    if client.status not in ("running", "newly-created"):
        _refuse_gone(client, None)


def refuse_repeat(times: int) -> NoReturn:
    """Raise because workers were lost in every repeat of a pass."""
    _refuse_killed(f"the same pass, in {times} attempts", None)


def _refuse_gone(client: Client, error: BaseException | None) -> NoReturn:
    address = getattr(client.scheduler, "addr", None) or "the cluster"
    raise ClusterError(
        f"The connection to the scheduler at {address} was lost. Start the cluster again and "
        f"connect a new client. {RESUME}"
    ) from error


def _refuse_killed(what: str, error: BaseException | None) -> NoReturn:
    raise ClusterError(
        f"Workers died repeatedly while computing {what}. Most likely their memory was too small. "
        "Use smaller partitions (rechunk or repartition), fewer models at a time, or workers with "
        f"more memory. The logs of the workers have the reason. {RESUME}"
    ) from error
