"""Only the browser that opened the lab can use it, and hostile requests do not stop the server."""

import http.client
import json
import socket
import threading
import time

import pytest
import uvicorn

from separatrix.lab.app import make_app
from separatrix.lab.plays import LabState
from separatrix.lab.serve import HOST, open_port

TOKEN = "the-token-of-this-test"


@pytest.fixture(scope="module")
def port():
    with open_port(None) as listener:
        number = listener.getsockname()[1]
        app = make_app(LabState(), port=number, token=TOKEN)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield number
        server.should_exit = True
        thread.join()


def ask(port, path, method="GET", body=None, **headers):
    """Send a request with the cookie of the lab; a header that is None is left out."""
    given = {"Host": f"{HOST}:{port}", "Cookie": f"separatrix-{port}={TOKEN}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    connection = http.client.HTTPConnection(HOST, port, timeout=20)
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


def play(port):
    status, _, body = ask(port, "/api/play", "POST", b'{"data": {"kind": "moons", "count": 20}}')
    assert status == 200
    return json.loads(body)["id"]


def test_the_opening_address_sets_a_cookie_that_scripts_cannot_read(port):
    status, headers, _ = ask(port, f"/?token={TOKEN}", Cookie=None)
    assert status == 303
    assert headers["location"] == "/"
    cookie = headers["set-cookie"]
    assert TOKEN in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": None},
        {"Cookie": "separatrix-1=the-token-of-this-test"},
        {"Cookie": "separatrix-{port}=wrong"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": None},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/choices", "/files/playground.js"])
def test_requests_of_others_are_refused(port, path, headers):
    given = {k: v and v.format(port=port) for k, v in headers.items()}
    status, _, body = ask(port, path, **given)
    assert status in (400, 403), body
    assert b"moons" not in body


def test_a_wrong_token_is_refused(port):
    assert ask(port, "/?token=guess", Cookie=None)[0] == 403


def test_pages_allow_their_own_scripts_only(port):
    for path in ("/", "/api/choices", "/files/playground.js"):
        status, headers, _ = ask(port, path)
        assert status == 200
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert b"<script>" not in ask(port, "/")[2]


@pytest.mark.parametrize(
    "path",
    ["/files/../app.py", "/files/..%2fapp.py", "/files/%2e%2e/access.py", "/files/app.py",
     "/files/", "/files/../../../../etc/passwd", "/etc/passwd", "/files/1-learning-rate.md"],
)  # fmt: skip
def test_only_scripts_and_styles_are_served(port, path):
    status, _, body = ask(port, path)
    assert status == 404
    assert b"import" not in body


def test_large_bodies_are_refused_before_they_are_read(port):
    for path, claimed in (("/api/play", 2_000_000), ("/api/files?name=a.csv", 1_000_000_000)):
        with socket.create_connection((HOST, port), timeout=10) as one:
            head = f"POST {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Length: {claimed}\r\n"
            one.sendall(f"{head}Cookie: separatrix-{port}={TOKEN}\r\n\r\n".encode())
            assert b" 413 " in one.recv(200)


def test_chunks_without_an_announced_length_are_limited(port):
    with socket.create_connection((HOST, port), timeout=10) as one:
        head = f"POST /api/play HTTP/1.1\r\nHost: {HOST}:{port}\r\nTransfer-Encoding: chunked\r\n"
        one.sendall(f"{head}Cookie: separatrix-{port}={TOKEN}\r\n\r\n".encode())
        chunk = b"40000\r\n" + b"x" * 0x40000 + b"\r\n"
        answer = b""
        try:
            for _ in range(20):
                one.sendall(chunk)
            answer = one.recv(200)
        except OSError:  # the server has closed the connection
            answer = answer or b" 413 "
        assert b" 413 " in answer


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 100_000, b'"\xff"', b"NaN", b'{"seed": NaN}', b"null", b"1e999"]
)
def test_malformed_json_is_refused_in_words(port, body):
    status, _, answer = ask(port, "/api/play", "POST", body)
    assert status == 400
    assert json.loads(answer)["error"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/play/unknown?from=0&count=1", 404),
        ("/api/play/{id}?from=-1&count=1", 400),
        ("/api/play/{id}?from=0&count=100000", 400),
        ("/api/play/{id}?from=99999999&count=1", 400),
        ("/api/play/{id}?from=²&count=1", 400),
        ("/api/play/{id}/grid?size=100000&reach=1", 400),
        ("/api/play/{id}/grid?size=4&reach=nan", 400),
        ("/api/play/{id}/surface?model=0&epoch=1&axes=9,9,9,9", 400),
        ("/api/play/{id}/surface?model=0&epoch=1&axes=<script>", 400),
        ("/api/play/{id}/step?model=7&epoch=0", 400),
        ("/api/play/{id}/point?model=0&epoch=0&x=1&y=inf&label=0", 400),
        ("/api/play/{id}/point?model=0&epoch=0&x=1&y=1&label=9", 400),
    ],
)
def test_wrong_requests_are_refused_in_words(port, path, status):
    asked = path.format(id=play(port)).replace("²", "%C2%B2").replace("<", "%3C")
    found, headers, body = ask(port, asked)
    assert found == status
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["error"]


@pytest.mark.parametrize("name", ["a.py", "../../a.csv", "a", "a.csv.sh", "<script>.csv"])
def test_uploads_are_read_as_tables_under_a_name_of_their_own(port, name):
    body = b"<script>alert(1)</script>,b,y\n" + b"1,2,u\n2,1,v\n" * 20
    quoted = name.replace("<", "%3C").replace(">", "%3E")
    status, _, answer = ask(port, f"/api/files?name={quoted}", "POST", body)
    found = json.loads(answer)
    if name.endswith(".csv"):
        assert status == 200
        assert found["columns"][0] == "<script>alert(1)</script>"
    else:
        assert status == 400


def test_idle_connections_do_not_stop_the_server(port):
    idle = [socket.create_connection((HOST, port), timeout=10) for _ in range(200)]
    try:
        assert ask(port, "/api/choices")[0] == 200
    finally:
        for one in idle:
            one.close()
    assert ask(port, "/")[0] == 200


def test_a_port_in_use_is_reported(port):
    with pytest.raises(OSError, match=f"Port {port} is not available"):
        open_port(port)
