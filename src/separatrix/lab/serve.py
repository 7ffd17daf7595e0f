"""Serve the lab on this machine and open it in the browser."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from separatrix.lab.access import new_token
from separatrix.lab.app import make_app
from separatrix.lab.plays import LabState
from separatrix.lab.studies.study_routes import StudyRoutes

HOST = "127.0.0.1"
FIRST_PORT = 8650
TRIED = 20


def open_port(port: int | None) -> socket.socket:
    """Return a socket that listens on a port of the loopback interface.

    Without a port, it is the first free one of twenty.
    """
    wanted = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + TRIED)]
    for each in wanted:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, each))
            found.listen()  # until then, another lab can have the same port
        except OSError as error:
            found.close()
            why = error.strerror
            continue
        return found
    what = f"Port {port} is" if port is not None else f"Ports {wanted[0]} to {wanted[-1]} are"
    raise OSError(f"{what} not available: {why}. Choose another one with --port.")


def serve(
    state: LabState,
    store: Path,
    port: int | None,
    *,
    browser: bool,
    announce: Callable[[str], None],
) -> None:
    """Serve the lab until it is interrupted. `announce` is called with its address.

    `store` is the file of the studies. At the end, studies in training keep their progress.
    """
    with open_port(port) as listener:
        number = listener.getsockname()[1]
        token = new_token()
        start = "/" if state.opened is None else "/play"
        address = f"http://{HOST}:{number}{start}?token={token}"
        config = uvicorn.Config(
            make_app(state, StudyRoutes(store), port=number, token=token),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
        )
        announce(address)
        if browser:
            webbrowser.open(address)
        uvicorn.Server(config).run(sockets=[listener])
