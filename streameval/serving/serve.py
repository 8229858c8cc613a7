"""A server for one session, until Ctrl-C: slow clients are dropped, and the study is evaluated as people answer."""

from __future__ import annotations

import errno
import math
import socket
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any

from uvicorn import Config, Server

from streameval.errors import InputError, outside_trouble
from streameval.process.interrupts import heard, hold_interrupts
from streameval.process.system import open_files
from streameval.serving.connections import Connections, LimitedProtocol
from streameval.serving.page_server import application
from streameval.serving.session import LabellingSession

EVERY = 30.0
"""Seconds between two evaluations; at once where a question is answered, or no task is open."""
_MOST_CONNECTIONS, _FEWEST, _MOST_STRANGERS = 1_000, 20, 250
_IDLE = 75  # seconds that a connection may rest between two requests
_ACCEPTED, _QUEUE = 16, 4_096  # connections that are accepted at a time, and that may wait for that
_ENDED = 20  # seconds in which all connections are closed; each takes two at most, and a busy machine many
_OTHER_FILES = 200  # that are open besides connections: those being accepted, and all of the study


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; an `InputError` where that cannot be."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_QUEUE
        )
    except OSError as error:
        if (trouble := outside_trouble(error)) is not None:
            raise trouble from error
        why = (error.strerror or str(error)).partition(" (while")[0]
        is_taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "--host=:0 takes any that is free" if is_taken else "--host names one of this machine, as 127.0.0.1"
        raise InputError(f"{host}:{port}: cannot be listened to ({why})", hint) from error


def serve(
    session: LabellingSession, listening: socket.socket, names: Collection[str], on_start: Callable[[], None]
) -> None:
    """Serve until Ctrl-C or SIGTERM, and evaluate what has come since the last evaluation.

    Args:
        names: That the server goes by: see `application`.
        on_start: Is called when it begins.

    Raises:
        StreamevalError: It cannot be evaluated; all answers are in the study.
    """
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(session, over), daemon=True)
    most = max(open_files(_MOST_CONNECTIONS + _OTHER_FILES) - _OTHER_FILES, _FEWEST)
    connections = Connections(most, strangers=min(most // 2, _MOST_STRANGERS))
    protocol: Any = partial(LimitedProtocol, connections)
    config = Config(
        application(session, names), http=protocol, ws="none", lifespan="off", log_config=None,
        log_level="error", access_log=False, server_header=False, backlog=_ACCEPTED, timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_ENDED, h11_max_incomplete_event_size=16_384,
    )  # fmt: skip
    try:
        watch.start()
        with suppress(KeyboardInterrupt), hold_interrupts() as arrived:
            _Server(config, on_start, arrived).run(sockets=[listening])
        heard.clear()  # it was the way to end: what fails from here on has another reason
    finally:
        over.set()
        session.wanted.set()
        watch.join()
        try:
            session.finish()
        finally:
            session.close()


class _Server(Server):
    """Says where it is once it hears signals: one that came before would be raised wherever Python happens to be."""

    def __init__(self, config: Config, on_start: Callable[[], None], arrived: list[int]) -> None:
        super().__init__(config)
        self._told, self._arrived = on_start, arrived

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        for one in sockets or []:
            one.listen(_QUEUE)  # uvicorn has made the queue as short as what is accepted at a time
        self._told()

    async def on_tick(self, counter: int) -> bool:
        """Whether to end."""
        return bool(self._arrived) or await super().on_tick(counter)


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
