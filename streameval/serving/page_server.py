"""The pages and what they ask for, over HTTP.

Whoever asks says who they are by a secret in a header, which a page takes from the part of its link that browsers never
send; so no other site can ask in their name, and no secret is in a log. Nothing is served but what stands here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streameval.errors import OutsideError, StreamevalError
from streameval.labelling.exports.page import served_page
from streameval.serving.connections import has_link
from streameval.serving.messages import RefusedError
from streameval.serving.owner_page import owner_page
from streameval.serving.session import LabellingSession

MOST_BYTES = 400_000
"""Of what a page may send at once: 50 answers with notes."""
PATIENCE = 10.0
"""Seconds in which it has to be sent."""

_HEADERS = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
}  # fmt: skip
# the report draws with a bundled library that makes functions; it gets an origin of its own, and can ask for nothing
_REPORT = ("sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
           "style-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'self'")  # fmt: skip
_NO_FRAMES = "; frame-ancestors 'none'"
_NOT_HERE = JSONResponse({"error": "this server does not go by that name; label --url names it"}, 421)


def application(session: LabellingSession, names: Collection[str] = ("localhost",)) -> ASGIApp:
    """Make what answers requests.

    Args:
        names: That the server goes by, besides addresses of numbers. A site whose name is made to lead here, so that
            its page may read what this server says, is told nothing.
    """
    page, owner = served_page(), owner_page()

    async def shown(request: Request) -> Response:
        html, policy = owner if request.url.path == "/owner" else page
        return HTMLResponse(html, headers={"Content-Security-Policy": policy + _NO_FRAMES})

    async def start(request: Request) -> Response:
        return await _answered(session.start, _person(session, request))

    async def work(request: Request) -> Response:
        person = _person(session, request)
        return await _answered(session.work, person, await _message(request))

    async def state(request: Request) -> Response:
        if not session.links.is_owner(_secret(request)):
            raise HTTPException(401, "this link is not one of this study's owner")
        has_link(request)
        return await _answered(session.owner)

    async def report(request: Request) -> Response:
        if not session.links.is_report(request.path_params["secret"]):
            raise HTTPException(404, "there is nothing here")
        html = await run_in_threadpool(session.report)
        return HTMLResponse(html, headers={"Content-Security-Policy": _REPORT})

    routes = [Route("/", shown), Route("/owner", shown), Route("/report/{secret}", report),
              Route("/api/start", start, methods=["POST"]), Route("/api/work", work, methods=["POST"]),
              Route("/api/owner", state, methods=["POST"])]  # fmt: skip
    handlers: dict[Any, Any] = {HTTPException: _refusal, FileNotFoundError: _missing}
    return _Headers(Starlette(routes=routes, exception_handlers=handlers), {host.lower() for host in names})


class _Headers:
    """Adds the headers that every answer has, and refuses requests for another server."""

    def __init__(self, inner: ASGIApp, names: Collection[str]) -> None:
        self._inner, self._names = inner, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inner = self._inner if self._goes_by(Headers(scope=scope).get("Host", "")) else _NOT_HERE

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", "default-src 'none'" + _NO_FRAMES)
            await send(message)

        await inner(scope, receive, with_headers)

    def _goes_by(self, host: str) -> bool:
        name = ""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return bool(ip_address(name))
        except ValueError:
            return name in self._names


async def _refusal(request: Request, error: HTTPException) -> Response:
    return JSONResponse({"error": error.detail}, error.status_code)


async def _missing(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "there is nothing here yet"}, 404)


def _secret(request: Request) -> str:
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret if kind == "Bearer" else ""


def _person(session: LabellingSession, request: Request) -> str:
    person = session.links.person(_secret(request))
    if person is None:
        raise HTTPException(401, "This link is not valid, or not any more: ask for a new one")
    has_link(request)
    return person


async def _message(request: Request) -> Any:
    """What a page sent, as JSON: small, whole and in time."""
    if request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "send JSON")
    content = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                content += part
                if len(content) > MOST_BYTES:
                    raise HTTPException(413, f"more than {MOST_BYTES:,} bytes")
        message = json.loads(content)
    except TimeoutError:
        raise HTTPException(408, "that took too long") from None
    except (ClientDisconnect, ValueError, RecursionError):
        raise HTTPException(400, "that is no JSON") from None
    if not isinstance(message, dict):
        raise HTTPException(400, "that is no object")
    return message


async def _answered(ask: Callable[..., dict[str, Any]], *given: Any) -> Response:
    try:
        return JSONResponse(await run_in_threadpool(ask, *given))
    except RefusedError as error:
        raise HTTPException(400, str(error)) from error
    except StreamevalError as error:
        raise HTTPException(507 if isinstance(error, OutsideError) else 500, f"not saved: {error.what}") from error
