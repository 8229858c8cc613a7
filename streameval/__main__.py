"""The program: `streameval`, and `python -m streameval`.

Next to nothing is imported before signals are heard. Until the command runs there is nothing to clean up, and an
interrupt ends the process at once; afterwards it unwinds, so that temporary files are removed, and a second one does
not wait for that.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from streameval.process import interrupts
from streameval.process.probes import refuse_probes

_STATUS = 130
_ONCE = "interrupted; what was complete is kept, nothing half-written was left behind"
_TWICE = "interrupted twice; temporary files may have been left behind"


def main() -> NoReturn:
    """Run a command, and leave with the exit status: 0 done, 1 defect, 2 input, 3 outside, 130 interrupted."""
    _hear(partial(_end, _ONCE))
    refuse_probes()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of numpy: one for each core would spin, with nothing to do
    gc.set_threshold(200_000, 20, 20)  # most of what a command makes lives to its end
    from streameval.cli import run

    sys.unraisablehook = _again(sys.unraisablehook)
    _hear(_unwind)
    status = run(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # what was asked for is done
    _leave(status)


def _leave(status: int) -> NoReturn:
    """Exit without the destructors of C++ libraries: one whose thread is still running would abort the process."""
    atexit._run_exitfuncs()  # temporary folders are removed there
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):  # nobody reads it; the status is known
                stream.flush()
    os._exit(status)


def _hear(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # schedulers ask by SIGTERM
        signal.signal(number, handler)


def _end(what: str, number: int, frame: Any) -> NoReturn:
    """End at once, in one line."""
    _hear(signal.SIG_IGN)
    message = f"streameval: {what}"
    if "--log=json" in sys.argv or ("--log", "json") in zip(sys.argv, sys.argv[1:], strict=False):
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        head = f'"time": "{moment}", "level": "error", "event": "error", "kind": "interrupted"'
        message = f'{{{head}, "message": "{what}", "exit_status": {_STATUS}}}'
    os.write(2, f"{message}\n".encode())
    os._exit(_STATUS)


def _unwind(number: int, frame: Any) -> NoReturn:
    """Interrupt what is under way; once more ends at once."""
    _hear(partial(_end, _TWICE))
    interrupts.heard.append(number)
    raise KeyboardInterrupt


def _again(show: Any) -> Any:
    """Interrupt again where the interruption was raised in a function whose errors Python can only print."""

    def hook(lost: Any) -> None:
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            show(lost)
            return
        _hear(_unwind)
        threading.Timer(0.01, signal.raise_signal, [signal.SIGINT]).start()  # raised here, it would be lost again

    return hook


if __name__ == "__main__":
    main()
