"""A lab that runs in a thread, and requests to it."""

import http.client
import json
import threading
import time
from contextlib import contextmanager

import uvicorn

from separatrix.lab.app import make_app
from separatrix.lab.lessons import read_lessons
from separatrix.lab.plays import LabState
from separatrix.lab.serve import HOST, open_port
from separatrix.lab.studies.study_routes import StudyRoutes

TOKEN = "the-token-of-this-test"


class RunningLab:
    """A lab with its port; `ask` sends a request with its cookie."""

    def __init__(self, port, studies):
        self.port, self.studies, self.store = port, studies, studies.store
        self.host = f"{HOST}:{port}"
        self.cookie = f"separatrix-{port}={TOKEN}"

    def address(self, path="/"):
        """Return the address that opens a page for the first time."""
        page, _, fragment = path.partition("#")
        return f"http://{self.host}{page}?token={TOKEN}{'#' if fragment else ''}{fragment}"

    def ask(self, path, method="GET", body=None, **headers):
        """Return status, headers and body; a header that is None is left out."""
        given = {"Host": self.host, "Cookie": self.cookie} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        connection = http.client.HTTPConnection(HOST, self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    def json(self, path, value=None):
        """Return the JSON of a path, which gets a value by POST if there is one."""
        method, body = ("GET", None) if value is None else ("POST", json.dumps(value).encode())
        status, _, found = self.ask(path, method, body)
        return status, json.loads(found)

    def wait_for(self, name, *states, seconds=120):
        """Wait until a study is in one of these states, and return its snapshot."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            status, found = self.json(f"/api/studies/{name}")
            if status == 200 and found["progress"]["state"] in states:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{name} is not {states}: {found}")


@contextmanager
def running_lab(store):
    """Serve a lab with a store from a thread."""
    with open_port(None) as listener:
        port = listener.getsockname()[1]
        studies = StudyRoutes(store)
        app = make_app(LabState(read_lessons()), studies, port=port, token=TOKEN)
        config = uvicorn.Config(
            app, log_level="error", timeout_keep_alive=5, timeout_graceful_shutdown=2
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the lab did not start"
            time.sleep(0.01)
        try:
            yield RunningLab(port, studies)
        finally:
            server.should_exit = True
            thread.join()
