"""Connections: at most so many at once, people with a link before all others, and slow ones are closed.

Whoever connects without a link, and says nothing or little, takes a place until somebody else needs it: the oldest such
connection is closed for the newest. So a crowd of them keeps nobody out who has a link and asks for something; and as
there are few of them at a time, an answer does not wait for many of them to be heard.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

_HEAD = 15.0  # seconds in which the head of a request has to be there
_ENDING = 2.0  # seconds that an answer under way may take once the server ends
_LET_IN = "streameval.let_in"


class Connections:
    """Who is connected, oldest first."""

    def __init__(self, most: int, strangers: int) -> None:
        """Allow so many at once, of which so many may have shown no link."""
        self._most, self._most_strangers = most, strangers
        self._strangers: dict[LimitedProtocol, None] = {}
        self._known: dict[LimitedProtocol, None] = {}

    def __len__(self) -> int:
        """Tell how many there are."""
        return len(self._strangers) + len(self._known)

    def came(self, new: LimitedProtocol) -> None:
        """Count one that is new, and close the oldest where there are too many: of strangers, if there is any."""
        self._strangers[new] = None
        if len(self._strangers) > self._most_strangers:
            self._close(next(iter(self._strangers)))
        elif len(self) > self._most:
            self._close(next(iter(self._strangers if len(self._strangers) > 1 else self._known)))

    def let_in(self, protocol: LimitedProtocol) -> None:
        """Whoever is at the other end has shown a link."""
        if protocol in self._strangers:
            del self._strangers[protocol]
            self._known[protocol] = None

    def went(self, protocol: LimitedProtocol) -> None:
        """Count one no more."""
        self._strangers.pop(protocol, None)
        self._known.pop(protocol, None)

    def _close(self, protocol: LimitedProtocol) -> None:
        self.went(protocol)
        protocol.transport.abort()


def has_link(request: Request) -> None:
    """Say that whoever asks has shown a link; nothing where no connections are counted."""
    let_in = request.scope.get("state", {}).get(_LET_IN)
    if let_in is not None:
        let_in()


class LimitedProtocol(H11Protocol):
    """HTTP by uvicorn; a connection on which the head of a request stays incomplete is closed."""

    _limit: asyncio.TimerHandle | None = None

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._all = connections
        self.app_state = {**self.app_state, _LET_IN: lambda: connections.let_in(self)}

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._all.came(self)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on waiting until the head of a request is there."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._limit is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        self._all.went(self)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End: at once where a request is not all there, else when it is answered, or when that takes too long."""
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete and self.cycle.more_body:
            self.transport.abort()
        else:
            self.loop.call_later(_ENDING, self.transport.abort)

    def _wait(self) -> None:
        self._limit = self.loop.call_later(_HEAD, self._drop)

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _drop(self) -> None:
        self._limit = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
