"""A server for one session, until Ctrl-C: slow clients are dropped, and the study is evaluated as people answer."""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from streameval.errors import InputError
from streameval.serving.page_server import application
from streameval.serving.session import LabellingSession

EVERY = 30.0
"""Seconds between two evaluations; at once where a question is answered, or no task is open."""
_HEAD = 15.0  # seconds in which the head of a request has to be there
_MOST_CONNECTIONS, _IDLE = 1_000, 75  # seconds


class PatientProtocol(H11Protocol):
    """HTTP by uvicorn; a connection on which the head of a request stays incomplete is closed."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
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
        super().connection_lost(exc)

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


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; an `InputError` where that cannot be."""
    if not 0 <= port < 1 << 16:
        raise InputError(f"--port is {port}, and ports end at 65535", "0 takes any that is free")
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=512
        )
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{host}:{port}: cannot be listened to ({why})", "--port names another, 0 any") from error


def serve(session: LabellingSession, listening: socket.socket, told: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        told: Is called when it begins.
    """
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(session, over), daemon=True)
    config = Config(
        application(session), http=PatientProtocol, ws="none", lifespan="off", log_config=None,
        log_level="error", access_log=False, server_header=False, limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_IDLE, timeout_graceful_shutdown=3, h11_max_incomplete_event_size=16_384,
    )  # fmt: skip
    try:
        watch.start()
        told()
        Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn has ended what was under way, and raises what it heard again
        pass
    finally:
        over.set()
        session.wanted.set()
        if watch.is_alive():
            watch.join()
        session.close()


def _watch(session: LabellingSession, over: threading.Event) -> None:
    """Look after every few answers, for half of the time at most, and evaluate every half minute."""
    evaluated = -math.inf
    while not over.is_set():
        begun = time.monotonic()
        session.look()
        if begun >= evaluated + EVERY:
            session.refresh()
            evaluated = begun
        if not over.wait(time.monotonic() - begun):
            session.wanted.wait(EVERY)
