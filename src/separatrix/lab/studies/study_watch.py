"""Snapshots of stored studies for any number of clients.

A snapshot is built once for all clients, at most four times a second, and only if the stored study
or its process has changed. There is no queue: a client that was away or slow gets the present one.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from separatrix.lab.studies.study_jobs import JobState
from separatrix.lab.studies.study_snapshots import study_signature, study_snapshot
from separatrix.study.store.errors import StoreError

INTERVAL = 0.25  # seconds between two snapshots, and between two looks at the store
SHARE = 0.25  # largest fraction of the time for building snapshots
PULSE = 15.0  # seconds after which an event without data shows that the connection works
SLOW = 10.0  # seconds a client may take to read a piece; then it has to connect again
PIECE = 1 << 14  # bytes written at once, so that little waits in memory for a slow client


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The present state of a study: `body` is JSON. The `key` is that of no other snapshot."""

    key: str
    body: bytes


class StudyWatch:
    """The present snapshot of one study, kept up to date while there are clients."""

    def __init__(self, path: Path, name: str, job: Callable[[str], JobState]) -> None:
        self.path, self.name, self.job = path, name, job
        self.clients = 0
        self.snapshot: Snapshot | None = None
        self._signature: tuple[Any, ...] | None = None
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._error: Exception | None = None

    async def __aenter__(self) -> StudyWatch:
        self.clients += 1
        if self._task is None or self._task.done():
            self._error = None
            self._task = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.clients -= 1
        if not self.clients and self._task is not None:
            self._task.cancel()
            self._task, self.snapshot, self._signature = None, None, None

    async def newer(self, key: str) -> Snapshot:
        """Return the present snapshot as soon as it is another one than that of the key."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: self._error or (self.snapshot and self.snapshot.key != key)
            )
        if self._error is not None:
            raise self._error
        assert self.snapshot is not None
        return self.snapshot

    async def _look(self) -> None:
        """Build a snapshot whenever the study has changed."""
        while True:
            began = time.monotonic()
            try:
                await run_in_threadpool(self._build)
            except Exception as error:
                self._error = error
            async with self._changed:
                self._changed.notify_all()
            if self._error is not None:
                return
            await asyncio.sleep(max(INTERVAL, (time.monotonic() - began) / SHARE))

    def _build(self) -> None:
        job = self.job(self.name)
        signature = study_signature(self.path, self.name, job)
        if signature == self._signature:
            return
        made = study_snapshot(self.path, self.name, job)
        self._signature = signature
        self.snapshot = Snapshot(secrets.token_hex(8), to_json(made))


def to_json(value: Any) -> bytes:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class EventStream:
    """A response of server-sent events: the snapshots of a study, the first one immediately.

    `key` is that of the snapshot that the client has.
    """

    def __init__(self, watch: StudyWatch, key: str) -> None:
        self.watch, self.key = watch, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.watch:
            snapshot = await self.watch.newer("")  # an unknown study is an error before the start
            headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            leaving = asyncio.create_task(_disconnected(receive))
            try:
                if snapshot.key != self.key:
                    await self._send(send, snapshot)
                await self._follow(send, leaving)
            except (TimeoutError, StoreError):
                pass  # the client connects again when it is back
            finally:
                leaving.cancel()
            with suppress(TimeoutError):
                await _write(send, b"", more=False)

    async def _follow(self, send: Send, leaving: asyncio.Task[None]) -> None:
        while not leaving.done():
            newer = asyncio.create_task(self.watch.newer(self.key))
            try:
                await asyncio.wait(
                    {newer, leaving}, timeout=PULSE, return_when=asyncio.FIRST_COMPLETED
                )
                if newer.done() and not leaving.done():
                    await self._send(send, newer.result())
                elif not leaving.done():
                    await _write(send, b": still here\n\n")
            finally:
                newer.cancel()

    async def _send(self, send: Send, snapshot: Snapshot) -> None:
        await _write(send, f"id: {snapshot.key}\ndata: ".encode())
        for start in range(0, len(snapshot.body), PIECE):
            await _write(send, snapshot.body[start : start + PIECE])
        await _write(send, b"\n\n")
        self.key = snapshot.key


async def _write(send: Send, piece: bytes, *, more: bool = True) -> None:
    message = {"type": "http.response.body", "body": piece, "more_body": more}
    await asyncio.wait_for(send(message), SLOW)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
