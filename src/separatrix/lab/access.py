"""Who may talk to the lab: the browser that opened it, and no other page or program.

    Host     must be a name of this machine's loopback interface, with the port of the lab. A page
             of another site that makes its own name point here (DNS rebinding) has another host.
    token    the address that the terminal prints has a random token, which becomes a cookie that
             scripts cannot read and other sites cannot send.
    Origin   a request that names another origin is refused, and so is one that the browser marks
             as coming from another site.
    size     a body above its limit is refused before it is read.

Every response has a Content-Security-Policy that allows the lab's own scripts and no others.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY = 1_000_000  # bytes of a request
MOST_UPLOAD = 50_000_000  # bytes of a file
UPLOADS = ("/api/files", "/api/new/file")
OPENED = ("/", "/play")  # pages that the opening address can name
NAMES = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(24)


class TooLargeError(Exception):
    """A body is larger than its limit."""


class Guard:
    """Middleware that lets only requests of the lab's own pages through.

    `port` is the port of the lab, and `token` the secret of its opening address.
    """

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self.app = app
        self.token = token
        self.hosts = {f"{name}:{port}" for name in NAMES}
        self.cookie = f"separatrix-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        answer = self._answer(scope, headers)
        if answer is not None:
            await answer(scope, receive, _with_headers(send))
            return
        limit = MOST_UPLOAD if scope["path"] in UPLOADS else MOST_BODY
        try:
            await self.app(scope, _limited(receive, limit), _with_headers(send))
        except TooLargeError:
            await _too_large(limit)(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        """Return the response to a request that goes no further, or None."""
        if headers.get("host") not in self.hosts:
            return _refusal("This address does not belong to the lab.")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return _refusal("Requests from other pages are refused.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refusal("Requests from other sites are refused.")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["method"] == "GET" and given and self._is_token(given):
            return self._welcome(scope)
        if not self._is_token(_cookie(headers.get("cookie", ""), self.cookie)):
            return _refusal(
                "Open the lab with the address that 'separatrix lab' printed in the terminal: it "
                "contains a token that this request lacks."
            )
        length = headers.get("content-length", "0")
        limit = MOST_UPLOAD if scope["path"] in UPLOADS else MOST_BODY
        if not length.isdecimal() or int(length) > limit:
            return _too_large(limit)
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _welcome(self, scope: Scope) -> Response:
        """Set the cookie and continue without the token in the address."""
        page = scope["path"] if scope["path"] in OPENED else "/"
        response = RedirectResponse(page, status_code=303)
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return response


def _refusal(words: str) -> Response:
    return PlainTextResponse(f"{words}\n", status_code=403)


def _too_large(limit: int) -> Response:
    return PlainTextResponse(
        f"The request is larger than {limit // 1_000_000} MB.\n",
        status_code=413,
        headers={"connection": "close"},
    )


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _limited(receive: Receive, limit: int) -> Receive:
    """Return a function that receives at most `limit` bytes of a body."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLargeError
        return message

    return limited


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    """Return a function that sends a response with the headers of every page."""

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *own]
        await send(message)

    return sender
