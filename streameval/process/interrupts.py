"""Signals that wait: an interruption answers when the piece of work that it would damage is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

heard: list[int] = []  # signals that interrupted the command line's verb
_NUMBERS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def hold_interrupts() -> Iterator[list[int]]:
    """Hold back Ctrl-C and a scheduler's SIGTERM; what arrives is delivered when the block ends.

    Python raises KeyboardInterrupt wherever its main thread happens to be. In a function that C code calls back, the
    exception is printed and lost, and the C code goes on with no answer: loading a cached kernel then ends in
    a call of address 0. Other threads hear no signals, and nothing is done there.

    Yields:
        list of int: Signals that have arrived, for blocks that want to end early.
    """
    arrived: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return
    before = {number: handler for number in _NUMBERS if callable(handler := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, lambda number, frame: arrived.append(number))
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])
