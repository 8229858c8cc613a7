"""What became of a command that was attacked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from attack.worker import Done

# in the order of the table; those after `UNREAD` are failures
SAME, UNCOUNTED, REFUSED, UNSHOWN, UNREAD = "same", "uncounted", "refused", "unshown", "unread"
SILENT, TRACEBACK, ABORT, HANG, MEMORY, UNTIDY, LEFT, LOST = (
    "silent", "traceback", "abort", "hang", "memory", "untidy", "left behind", "lost",
)  # fmt: skip
FAILURES = (SILENT, TRACEBACK, ABORT, HANG, MEMORY, UNTIDY, LEFT, LOST)
MEANING = {
    SAME: "the result of the undamaged file; of a label table: every row has one fate",
    UNCOUNTED: "every row has one fate; how many rows there are is a matter of the reader",
    REFUSED: "status 2 or 3, one line that names the file",
    UNSHOWN: "another result, and nothing in the file contradicts it (by kind below)",
    UNREAD: "another result; what contradicts it lies in rows that the command had no reason to read",
    SILENT: "another result, though the file contradicts itself",
    TRACEBACK: "status 1, or a traceback",
    ABORT: "ended by a signal",
    HANG: "no end within 30 s",
    MEMORY: "more memory than allowed",
    UNTIDY: "refused, but not in one line that names the file",
    LEFT: "files left behind",
    LOST: "a vote lost, or other bytes than an undisturbed run",
}
# what a command may take beyond --memory: libraries' pools, result tables, a report
BASE_KB = 400_000
# what a process holds once its libraries are there
START_KB = 600_000


@dataclass(frozen=True)
class Outcome:
    """One outcome, and what distinguishes failures of one kind from each other."""

    kind: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.kind in FAILURES


def of_run(done: Sequence[Done], names: Sequence[str], memory_kb: int) -> Outcome | None:
    """Judge how commands ended, whatever they computed; None where all ended well.

    Parameters
    ----------
    done : sequence of Done
        All commands up to the first that failed.
    names : sequence of str
        A refusal has to contain one of them.
    memory_kb : int
        What a command may take.
    """
    last = done[-1]
    if last.status is None:
        return Outcome(HANG)
    if last.status < 0 and "more memory" not in last.err:
        return Outcome(ABORT, f"signal {-last.status}: {signature(last.err)}")
    if "Traceback" in last.err or "panicked at" in last.err or last.status == 1:
        return Outcome(TRACEBACK, signature(last.err))
    if (peak := max(one.peak_kb for one in done)) > memory_kb:
        return Outcome(MEMORY, f"more than {round(memory_kb, -5) // 1000} MB" if peak else "")
    if last.status == 0:
        return Outcome(UNTIDY, signature(last.err)) if "Warning" in last.err else None
    lines = last.err.strip().splitlines()
    if last.status not in (2, 3) or len(lines) != 1 or not lines[0].startswith("streameval: "):
        return Outcome(UNTIDY, f"status {last.status}, {len(lines)} lines: {signature(last.err)}")
    if names and not any(name in lines[0] for name in names):
        return Outcome(UNTIDY, f"no file named: {signature(last.err)}")
    return Outcome(REFUSED)


def signature(err: str) -> str:
    """The last line that says something, without numbers and quoted texts: what failures of one cause share."""
    lines = [line.strip() for line in err.splitlines() if line.strip() and not line.startswith(" ")]
    panics = [line for line in err.splitlines() if "panicked at" in line]
    last = (panics or lines or [""])[-1]
    return re.sub(r"'[^']*'|\"[^\"]*\"|[0-9a-f]{8,}|[-+]?\d[\d,.]*", "#", last)[:150]
