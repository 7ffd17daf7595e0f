"""Only the browser that opened the lab can use it, and hostile requests do not stop the server."""

import json
import resource
import socket

import pytest

from separatrix.lab.serve import HOST, open_port
from support.running_lab import TOKEN


def play(lab):
    status, _, body = lab.ask("/api/play", "POST", b'{"data": {"kind": "moons", "count": 20}}')
    assert status == 200
    return json.loads(body)["id"]


def test_the_opening_address_sets_a_cookie_that_scripts_cannot_read(lab):
    status, headers, _ = lab.ask(f"/?token={TOKEN}", Cookie=None)
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
@pytest.mark.parametrize("path", ["/", "/play", "/api/choices", "/api/studies/rates/events"])
def test_requests_of_others_are_refused(lab, path, headers):
    given = {k: v and v.format(port=lab.port) for k, v in headers.items()}
    status, _, body = lab.ask(path, **given)
    assert status in (400, 403), body
    assert b"moons" not in body
    assert b"rates" not in body


def test_a_wrong_token_is_refused(lab):
    assert lab.ask("/?token=guess", Cookie=None)[0] == 403


def test_pages_allow_their_own_scripts_only(lab):
    for path in ("/", "/new", "/studies/rates", "/play", "/api/choices", "/files/home.js"):
        status, headers, _ = lab.ask(path)
        assert status == 200
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert b"<script>" not in lab.ask("/")[2]


@pytest.mark.parametrize(
    "path",
    ["/files/../app.py", "/files/..%2fapp.py", "/files/%2e%2e/access.py", "/files/app.py",
     "/files/", "/files/../../../../etc/passwd", "/etc/passwd", "/files/1-learning-rate.md",
     "/files/shell.html", "/api/studies/..%2f..%2fetc%2fpasswd", "/api/studies/../../etc/passwd",
     "/api/studies/unknown", "/api/studies/unknown/card", "/api/studies/unknown/events"],
)  # fmt: skip
def test_only_scripts_and_styles_are_served(lab, path):
    status, _, body = lab.ask(path)
    assert status == 404
    assert b"import" not in body


def test_large_bodies_are_refused_before_they_are_read(lab):
    files = ("/api/files?name=a.csv", "/api/new/file?name=a.csv")
    for path, claimed in (("/api/play", 2_000_000), *((path, 1_000_000_000) for path in files)):
        with socket.create_connection((HOST, lab.port), timeout=10) as one:
            head = f"POST {path} HTTP/1.1\r\nHost: {lab.host}\r\nContent-Length: {claimed}\r\n"
            one.sendall(f"{head}Cookie: {lab.cookie}\r\n\r\n".encode())
            assert b" 413 " in one.recv(200)


@pytest.mark.parametrize("path", ["/api/play", "/api/files?name=a.csv", "/api/new/file?name=a.csv"])
def test_a_gigabyte_without_an_announced_length_is_refused_early(lab, path):
    """The server and this test are one process: its largest memory shows what was kept."""
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with socket.create_connection((HOST, lab.port), timeout=10) as one:
        head = f"POST {path} HTTP/1.1\r\nHost: {lab.host}\r\nTransfer-Encoding: chunked\r\n"
        one.sendall(f"{head}Cookie: {lab.cookie}\r\n\r\n".encode())
        sent, answer = 0, b""
        try:
            while sent < 1000:
                one.sendall(chunk)
                sent += 1
        except OSError:  # the server has closed the connection
            pass
        try:
            answer = one.recv(200)
        except OSError:
            answer = b" 413 "  # the answer was lost with the connection
    assert b" 413 " in answer
    assert sent < 100
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 300_000  # kilobytes
    assert lab.ask("/api/studies")[0] == 200


@pytest.mark.parametrize("path", ["/api/play", "/api/new", "/api/new/plan", "/api/new/data"])
@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 100_000, b'"\xff"', b"NaN", b'{"seed": NaN}', b"null", b"1e999"]
)
def test_malformed_json_is_refused_in_words(lab, path, body):
    status, _, answer = lab.ask(path, "POST", body)
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
def test_wrong_requests_are_refused_in_words(lab, path, status):
    asked = path.format(id=play(lab)).replace("²", "%C2%B2").replace("<", "%3C")
    found, headers, body = lab.ask(asked)
    assert found == status
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["error"]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"source": {"name": "/etc/passwd"}}, "The 'source' parameter must be one of"),
        ({"source": {"name": ["iris"]}}, "The 'source' parameter must be one of"),
        ({"source": {"file": "../../etc/passwd"}, "name": "a"}, "no longer has this file"),
        ({"source": {"name": "iris"}, "name": "../x"}, "must consist of letters"),
        ({"source": {"name": "iris"}, "name": "--store=/tmp/x"}, "must consist of letters"),
        ({"source": {"name": "iris"}, "name": "rates"}, "There is a study 'rates' already"),
        ({"source": {"name": "iris"}, "name": "a", "values": {"log": "/tmp/x"}}, "Got 'log'"),
        ({"source": {"name": "iris"}, "name": "a", "values": {"epochs": "x"}}, "takes numbers"),
        ({"source": {"name": "iris"}, "name": "a", "values": {"C": "1"}}, "has no 'C'"),
        (
            {"source": {"name": "iris"}, "name": "a", "model": "--log"},
            "The 'model' parameter must be",
        ),
        ({"source": {"name": "iris"}, "name": "a", "seeds": 1e9}, "The repeats must be"),
        ({"source": {"name": "iris"}, "name": "a", "seeds": 10**6}, "at most 100"),
    ],
)
def test_forms_that_ask_for_more_than_a_study_are_refused(lab, form, words):
    status, found = lab.json("/api/new", form)
    assert status == 400
    assert words in found["error"]


@pytest.mark.parametrize("name", ["a.py", "../../a.csv", "a", "a.csv.sh", "<script>.csv"])
def test_uploads_are_read_as_tables_under_a_name_of_their_own(lab, name):
    body = b"<script>alert(1)</script>,b,y\n" + b"1,2,u\n2,1,v\n" * 20
    quoted = name.replace("<", "%3C").replace(">", "%3E")
    status, _, answer = lab.ask(f"/api/files?name={quoted}", "POST", body)
    found = json.loads(answer)
    if name.endswith(".csv"):
        assert status == 200
        assert found["columns"][0] == "<script>alert(1)</script>"
    else:
        assert status == 400


def test_idle_connections_do_not_stop_the_server(lab):
    idle = [socket.create_connection((HOST, lab.port), timeout=10) for _ in range(200)]
    try:
        assert lab.ask("/api/choices")[0] == 200
    finally:
        for one in idle:
            one.close()
    assert lab.ask("/")[0] == 200


def test_a_port_in_use_is_reported(lab):
    with pytest.raises(OSError, match=f"Port {lab.port} is not available"):
        open_port(lab.port)


def test_a_port_belongs_to_a_lab_before_its_server_runs():
    with open_port(None) as one, open_port(None) as other:
        assert one.getsockname()[1] != other.getsockname()[1]
