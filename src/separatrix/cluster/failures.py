"""What can go wrong on a cluster, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from separatrix.cluster.library import Client, failures
from separatrix.errors import ClusterError, Message, Parameter

RESUME = Message(
    "A study keeps its checkpoints and finished runs: continue it with {resume}. Any other fit "
    "starts again.",
    resume=Parameter("resume", True),
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
            refuse_gone(client, error)
        raise ClusterError(
            "Rows were lost together with their worker, and Dask cannot compute them again, "
            "because this process had sent them (`scatter`) or they were cancelled. Start again, "
            "or use rows that the workers read themselves: a folder of blocks, or a collection "
            "made of files or functions."
        ) from error
    except (known["closed"], OSError) as error:
        refuse_gone(client, error)


def scheduler_is_gone(client: Client) -> None:
    """Raise if the client has lost its scheduler."""
    if client.status not in ("running", "newly-created"):
        refuse_gone(client, None)


def refuse_repeat(times: int) -> NoReturn:
    """Raise because workers were lost in every repeat of a pass."""
    _refuse_killed(f"the same pass, in {times} attempts", None)


def refuse_gone(client: Client, error: BaseException | None) -> NoReturn:
    """Raise because the connection to the scheduler is lost."""
    address = getattr(client.scheduler, "addr", None) or "the cluster"
    raise ClusterError(
        Message(
            "The connection to the scheduler at {address} was lost. Start the cluster again, and "
            "connect to it. {resume}",
            address=address,
            resume=RESUME,
        )
    ) from error


def _refuse_killed(what: str, error: BaseException | None) -> NoReturn:
    raise ClusterError(
        Message(
            "Workers died repeatedly while computing {what}. Most likely their memory was too "
            "small. Use smaller partitions (rechunk or repartition), fewer models at a time, or "
            "workers with more memory. The logs of the workers have the reason. {resume}",
            what=what,
            resume=RESUME,
        )
    ) from error
