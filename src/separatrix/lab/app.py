"""The lab's web application: pages, scripts, and the requests that the pages make.

GET  /                            the home page: studies, and what to do
GET  /new, /studies/{name}        the form of a new study, the live page of a study
GET  /play, /lessons              the playground, the list of its guided tours
GET  /files/{name}                scripts and style
GET  /api/choices                 data sets, losses, rules and other choices of the playground
POST /api/play                    settings -> the description of a new play
GET  /api/play/{id}?from=&count=  epochs, as float32 numbers
GET  /api/play/{id}/grid?size=    features of a grid of pixels, as float32 numbers
GET  /api/play/{id}/verdicts?epoch=
GET  /api/play/{id}/step?model=&epoch=
GET  /api/play/{id}/surface?model=&epoch=&axes=j,k,j,k
GET  /api/play/{id}/point?model=&epoch=&x=&y=&label=
POST /api/files?name=&label=      a table -> its columns

The requests of studies are in `study_routes.py`. Every page has its data as JSON: `/api/studies`,
`/api/new`, `/api/studies/{name}`, `/api/choices`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from separatrix.errors import ParameterError, message_of
from separatrix.lab.access import Guard
from separatrix.lab.details import Axis, explained_point, loss_surface, step_numbers, verdicts
from separatrix.lab.feature_maps import MAPS
from separatrix.lab.field_names import name_fields
from separatrix.lab.pages import PAGES, Page, page_html
from separatrix.lab.play import Play
from separatrix.lab.plays import LabState, grid_features
from separatrix.lab.point_sets import SHAPES
from separatrix.lab.requests import number, parsed_json, whole
from separatrix.lab.settings import MOST_MODELS, PARAMETERS
from separatrix.lab.studies.study_routes import StudyRoutes
from separatrix.lab.studies.study_snapshots import UnknownStudyError
from separatrix.losses import LOSSES
from separatrix.solvers import RULES
from separatrix.study.store.errors import StoreError

HERE = Path(__file__).parent
MOST_COUNT = 500  # epochs of one request
MOST_PIXELS = 160  # pixels along a side of a plane
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
LEFT_OUT = ("softmax_reference", "crammer_singer")  # need a fixed number of classes


def make_app(state: LabState, studies: StudyRoutes, *, port: int, token: str) -> Starlette:
    """Return the application of a lab on a port."""
    lab = _Lab(state)
    routes = [
        *(Route(page.path, _show(page)) for page in PAGES),
        *studies.routes(),
        Route("/files/{name}", lab.file),
        Route("/api/choices", lab.choices),
        Route("/api/play", lab.start, methods=["POST"]),
        Route("/api/play/{id}", lab.epochs),
        Route("/api/play/{id}/grid", lab.grid),
        Route("/api/play/{id}/points", lab.points),
        Route("/api/play/{id}/verdicts", lab.verdicts),
        Route("/api/play/{id}/step", lab.step),
        Route("/api/play/{id}/surface", lab.surface),
        Route("/api/play/{id}/point", lab.point),
        Route("/api/files", lab.upload, methods=["POST"]),
    ]

    @asynccontextmanager
    async def closing(app: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(studies.close)  # before the server ends by a signal

    guard = Middleware(Guard, port=port, token=token)
    return Starlette(
        routes=routes,
        middleware=[guard],
        lifespan=closing,
        exception_handlers={
            ParameterError: _refuse,
            ValueError: _refuse,
            TypeError: _refuse,
            KeyError: _forgotten,
            OSError: _refuse,
            StoreError: _refuse,
            UnknownStudyError: _unknown,
        },
    )


class _Lab:
    def __init__(self, state: LabState) -> None:
        self.state = state

    async def file(self, request: Request) -> Response:
        found = _served_files().get(request.path_params["name"])
        if found is None:
            return Response("There is no such file.\n", status_code=404)
        return Response(found.read_bytes(), media_type=TYPES[found.suffix])

    async def choices(self, request: Request) -> Response:
        return JSONResponse(
            {
                "data": list(SHAPES),
                "losses": [name for name in LOSSES if name not in LEFT_OUT],
                "rules": list(RULES),
                "features": list(MAPS),
                "parameters": PARAMETERS,
                "models": MOST_MODELS,
                "file": self.state.opened,
                "lessons": [lesson.to_dict() for lesson in self.state.lessons],
            }
        )

    async def start(self, request: Request) -> Response:
        given = parsed_json(await request.body())
        return JSONResponse(await run_in_threadpool(self.state.start, given))

    async def epochs(self, request: Request) -> Response:
        first, count = whole(request, "from"), whole(request, "count")
        if not 1 <= count <= MOST_COUNT:
            raise ParameterError(
                f"'count' must be from 1 to {MOST_COUNT}. Got {count} instead.", parameter="count"
            )
        found = await self._of_play(request, lambda play: play.epochs(first, count))
        return Response(found.astype("<f4").tobytes(), media_type="application/octet-stream")

    async def grid(self, request: Request) -> Response:
        size, reach = whole(request, "size"), number(request, "reach")
        if not 2 <= size <= MOST_PIXELS or not 0.0 < reach <= 1e3:
            raise ParameterError(
                f"'size' must be from 2 to {MOST_PIXELS} and 'reach' from 0 to 1000.",
                parameter="size",
            )
        found = await self._of_play(request, lambda play: grid_features(play, reach, size))
        return Response(found.astype("<f4").tobytes(), media_type="application/octet-stream")

    async def points(self, request: Request) -> Response:
        found = await self._of_play(request, lambda play: play.features)
        return Response(found.astype("<f4").tobytes(), media_type="application/octet-stream")

    async def verdicts(self, request: Request) -> Response:
        epoch = whole(request, "epoch")
        return JSONResponse(await self._of_play(request, lambda play: verdicts(play, epoch)))

    async def step(self, request: Request) -> Response:
        model, epoch = whole(request, "model"), whole(request, "epoch")
        return JSONResponse(
            await self._of_model(request, model, lambda play: step_numbers(play, model, epoch))
        )

    async def surface(self, request: Request) -> Response:
        model, epoch = whole(request, "model"), whole(request, "epoch")
        try:
            a, b, c, d = (int(part) for part in request.query_params["axes"].split(","))
        except (KeyError, ValueError):
            raise ParameterError(
                "'axes' must be four whole numbers: feature, output, feature, output.",
                parameter="axes",
            ) from None
        axes = Axis(a, b), Axis(c, d)
        return JSONResponse(
            await self._of_model(
                request, model, lambda play: loss_surface(play, model, epoch, axes)
            )
        )

    async def point(self, request: Request) -> Response:
        model, epoch, label = (whole(request, name) for name in ("model", "epoch", "label"))
        at = number(request, "x"), number(request, "y")

        def explain(play: Play) -> dict[str, Any]:
            if not 0 <= label < len(play.settings.points.classes):
                raise ParameterError("'label' must be the number of a class.", parameter="label")
            return explained_point(play, model, epoch, at, label)

        return JSONResponse(await self._of_model(request, model, explain))

    async def upload(self, request: Request) -> Response:
        name = request.query_params.get("name", "")[:200]
        label = request.query_params.get("label") or None
        content = await request.body()
        return JSONResponse(await run_in_threadpool(self.state.upload, name, content, label))

    async def _of_play(self, request: Request, work: Callable[[Play], Any]) -> Any:
        play, lock = self.state.play(request.path_params["id"])

        def locked() -> Any:
            with lock:
                return work(play)

        return await run_in_threadpool(locked)

    async def _of_model(self, request: Request, model: int, work: Callable[[Play], Any]) -> Any:
        def checked(play: Play) -> Any:
            if not 0 <= model < len(play.places):
                raise ParameterError(
                    f"'model' must be from 0 to {len(play.places) - 1}. Got {model} instead.",
                    parameter="model",
                )
            return work(play)

        return await self._of_play(request, checked)


def _show(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def shown(request: Request) -> Response:
        return HTMLResponse(page_html(page, request.path_params.get("name", "")))

    return shown


@cache
def _served_files() -> dict[str, Path]:
    """Return the scripts and styles of the lab, and those that it shares with reports, by name."""
    scripts, web = HERE / "scripts", HERE.parent / "web"
    folders = (HERE, scripts, scripts / "playground", web, web / "scripts")
    return {
        path.name: path for folder in folders for path in folder.iterdir() if path.suffix in TYPES
    }


async def _refuse(request: Request, error: Exception) -> Response:
    body = {"error": name_fields(message_of(error)), "parameter": getattr(error, "parameter", None)}
    return JSONResponse(body, status_code=400)


async def _forgotten(request: Request, error: Exception) -> Response:
    words = "The lab no longer has this play. Reload the page to start it again."
    return JSONResponse({"error": words, "parameter": None}, status_code=404)


async def _unknown(request: Request, error: Exception) -> Response:
    words = f"The store has no study {str(error)!r}."
    return JSONResponse({"error": words, "parameter": None}, status_code=404)
