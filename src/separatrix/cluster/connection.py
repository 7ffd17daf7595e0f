"""A connected cluster, and the rows that are sent to its workers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from separatrix.cluster.failures import explain, refuse_gone
from separatrix.cluster.library import Client, Collection, delay, join_rows, open_client
from separatrix.data.on_disk import StoredRows, read_manifest
from separatrix.data.on_disk.blocks_on_disk import BlocksOnDisk
from separatrix.errors import ClusterError
from separatrix.text import counted

SIZE = 100_000_000  # bytes of a block that is sent


class Cluster:
    """A cluster of Dask workers, and the client that is connected to it."""

    def __init__(self, address: str, client: Client) -> None:
        self.address, self.client = address, client

    def __repr__(self) -> str:
        return f"connect({self.address!r})"

    def workers(self) -> list[str]:
        """Return the addresses of the workers."""
        return list(self.client.scheduler_info(n_workers=-1)["workers"])

    def note(self) -> str:
        """Return a sentence about the cluster for the notes of a fit."""
        count = counted(len(self.workers()), "worker")
        return f"Trained on {count} of the Dask cluster at {self.address}."

    def spread(self, X: Any) -> Collection:
        """Return the rows of X (n, d) as a Dask array with chunks on the workers.

        Rows in memory are sent one block after the other. The workers read rows on disk themselves,
        from the same path.
        """
        if isinstance(X, StoredRows):
            facts = X.source.facts
            return join_rows(_parts_on_disk(X), facts.lengths, facts.n_features, facts.dtype)
        with explain(self.client):
            return self._send(X.tocsr() if sp.issparse(X) else X)

    def _send(self, X: Any) -> Collection:
        """Send X in blocks of about equal length, the same number of blocks to each worker."""
        workers, n = self.workers(), X.shape[0]
        if not workers:  # since the connection was made
            refuse_gone(self.client, None)
        size = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
        count = min(n, len(workers) * max(1, -(-size // (SIZE * len(workers)))))
        ends = [n * k // count for k in range(count + 1)]
        lengths = [end - first for first, end in pairwise(ends)]
        sent = []
        for k in range(count):
            holder = [workers[k % len(workers)]]
            sent.append(self.client.scatter(X[ends[k] : ends[k + 1]], workers=holder, hash=False))
        return join_rows(sent, lengths, X.shape[1], X.dtype)


def connect(address: str) -> Cluster:
    """Connect to the scheduler of a Dask cluster, or raise a ClusterError within seconds."""
    return Cluster(address, open_client(address))


def _parts_on_disk(rows: StoredRows) -> list[Any]:
    folder, fingerprint = str(rows.folder.resolve()), rows.manifest.fingerprint
    return [
        delay(read_part, folder, fingerprint, part, number)
        for part in rows.parts
        for number in range(len(rows.manifest.parts[part]))
    ]


def read_part(folder: str, fingerprint: str, part: str, number: int) -> Any:
    """Read X of one block on a worker; raise unless the folder is that of the client."""
    place = Path(folder)
    try:
        manifest = read_manifest(place)
        if manifest.fingerprint != fingerprint:
            raise ValueError(f"{folder} holds other data on this machine.")
        block = manifest.parts[part][number]
        return BlocksOnDisk.of(place, manifest, [block], 0).block(0).X.X
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"A worker could not read the rows: {error} All machines of the cluster must have the "
            "same folder of blocks at the same path."
        ) from None
