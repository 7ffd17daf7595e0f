"""The option for the cluster on which a command trains."""

import logging
from typing import TYPE_CHECKING, Annotated

import typer

from separatrix.cli.command_decorator import UsageError, at_end

if TYPE_CHECKING:
    from separatrix.cluster import Cluster

Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Scheduler of a Dask cluster to train on, such as tcp://192.168.0.7:8786 (default: "
        "this machine).",
        rich_help_panel="Model",
    ),
]


def connect_to(address: str | None) -> "Cluster | None":
    """Connect to a cluster until the end of the command; None without an address."""
    if address is None:
        return None
    from separatrix.cluster import connect
    from separatrix.errors import ClusterError

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # our errors say the same in words
    try:
        cluster = connect(address)
    except ClusterError as error:
        raise UsageError(f"--dask: {error}") from None
    at_end.callback(cluster.client.close)
    return cluster
