"""The requests of the pages of studies.

GET  /api/studies                    all studies, the latest first
GET  /api/studies/{name}             progress and page of a study
GET  /api/studies/{name}/card        its best configuration, and a small curve
GET  /api/studies/{name}/events      server-sent events: progress and page, whenever they change
POST /api/studies/{name}/stop        keep the progress and end its process
POST /api/studies/{name}/resume
GET  /api/new                        data sets and models of the form of a new study
POST /api/new/file?name=             a file -> its key
POST /api/new/data                   source, label, model -> first rows and usual values
POST /api/new/plan                   a form -> number of runs, seconds
POST /api/new                        a form -> the name of its study, which is started
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from separatrix.lab.requests import parsed_json
from separatrix.lab.studies.new_study import StudyForm, free_name
from separatrix.lab.studies.study_files import StudyFiles
from separatrix.lab.studies.study_jobs import StudyJobs
from separatrix.lab.studies.study_snapshots import (
    list_studies,
    require_free,
    stored_command,
    study_card,
    study_signature,
    study_snapshot,
)
from separatrix.lab.studies.study_watch import EventStream, StudyWatch, to_json

CARDS = 200  # kept in memory


class StudyRoutes:
    """The studies of one store."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.jobs = StudyJobs(store)
        self.files = StudyFiles(store)
        self.form = StudyForm(self.files)
        self._form_lock = threading.Lock()  # one plan is estimated at a time
        self._watches: dict[str, StudyWatch] = {}
        self._cards: dict[str, tuple[Any, dict[str, Any]]] = {}

    def routes(self) -> list[Route]:
        return [
            Route("/api/studies", self.list),
            Route("/api/studies/{name}", self.study),
            Route("/api/studies/{name}/card", self.card),
            Route("/api/studies/{name}/events", self.events),
            Route("/api/studies/{name}/stop", self.stop, methods=["POST"]),
            Route("/api/studies/{name}/resume", self.resume, methods=["POST"]),
            Route("/api/new", self.choices),
            Route("/api/new", self.start, methods=["POST"]),
            Route("/api/new/file", self.file, methods=["POST"]),
            Route("/api/new/data", self.data, methods=["POST"]),
            Route("/api/new/plan", self.plan, methods=["POST"]),
        ]

    def close(self) -> None:
        """Stop the studies of this lab, and forget uploaded files."""
        self.jobs.close()
        self.files.close()

    async def list(self, request: Request) -> Response:
        found = await run_in_threadpool(list_studies, self.store)
        for one in found:
            running = one["written"] or self.jobs.state(one["name"]).running
            one["state"] = "finished" if one["finished"] else "running" if running else "stopped"
        return JSONResponse({"store": str(self.store), "studies": found})

    async def study(self, request: Request) -> Response:
        name = request.path_params["name"]
        job = self.jobs.state(name)
        made = await run_in_threadpool(lambda: to_json(study_snapshot(self.store, name, job)))
        return Response(made, media_type="application/json")

    async def card(self, request: Request) -> Response:
        name = request.path_params["name"]

        def made() -> dict[str, Any]:
            signature = study_signature(self.store, name, self.jobs.state(name))
            if self._cards.get(name, (None,))[0] != signature:
                if len(self._cards) >= CARDS:
                    self._cards.clear()
                self._cards[name] = signature, study_card(self.store, name)
            return self._cards[name][1]

        return JSONResponse(await run_in_threadpool(made))

    async def events(self, request: Request) -> Any:
        name = request.path_params["name"]
        self._watches = {key: one for key, one in self._watches.items() if one.clients}
        if name not in self._watches:
            self._watches[name] = StudyWatch(self.store, name, self.jobs.state)
        return EventStream(self._watches[name], request.headers.get("last-event-id", ""))

    async def stop(self, request: Request) -> Response:
        await run_in_threadpool(self.jobs.stop, request.path_params["name"])
        return JSONResponse({})

    async def resume(self, request: Request) -> Response:
        name = request.path_params["name"]

        def resumed() -> None:
            self.jobs.resume(name, stored_command(self.store, name))

        await run_in_threadpool(resumed)
        return JSONResponse({})

    async def choices(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self.form.choices))

    async def file(self, request: Request) -> Response:
        name = request.query_params.get("name", "")[:200]
        content = await request.body()
        key = await run_in_threadpool(self.files.add, name, content)
        return JSONResponse({"file": key})

    async def data(self, request: Request) -> Response:
        return await self._of_form(request, self._described)

    async def plan(self, request: Request) -> Response:
        return await self._of_form(request, self.form.plan)

    async def start(self, request: Request) -> Response:
        return await self._of_form(request, self._started)

    def _described(self, given: Any) -> dict[str, Any]:
        described = self.form.describe(given)
        taken = {one["name"] for one in list_studies(self.store)}
        base = free_name(described["name"])
        numbered = (base, *(f"{base}-{k}" for k in range(2, len(taken) + 3)))
        return described | {"name": next(name for name in numbered if name not in taken)}

    def _started(self, given: Any) -> dict[str, Any]:
        name, source, options, planned = self.form.start_words(given)
        require_free(self.store, name)
        self.jobs.start(name, source, options, planned)
        return {"name": name}

    async def _of_form(self, request: Request, work: Callable[[Any], Any]) -> Response:
        given = parsed_json(await request.body())

        def locked() -> Any:
            with self._form_lock:
                return work(given)

        made = await run_in_threadpool(locked)
        return Response(json.dumps(made), media_type="application/json")
