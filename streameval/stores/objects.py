"""Files of object stores: ranged requests, many at once, each tried again while the store is in trouble.

A file takes one request to find and one for its end, which is cached while there is room: reading the footer again, and
the page index that lies before it, then costs nothing.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from streameval.process.threads import ThreadPool
from streameval.stores.clients import REQUESTS
from streameval.stores.ranges import HeldRanges, Range, join, join_sparingly, split
from streameval.stores.store import LAST, Need, State
from streameval.stores.trouble import with_retries
from streameval.typing import Int64Array, UInt8Array

_READERS = 16
_TAIL = 1 << 16  # what is read of a file's end before its footer's length is known
_MOST_TAIL = 1 << 24
_KEPT_TAILS = 1 << 26
_KEPT_HANDLES = 4096
# a request takes as long as a megabyte or so; but of what is read, a tenth at most may be unwanted
_GAP, _UNWANTED = 1 << 20, 0.1
# as a quarter of a megabyte where so many are wanted that they wait for each other: that much is always read over
_NEAR_GAP, _AT_ONCE = 1 << 18, 16
_HOLD_GAP = 1 << 16
_PIECE = 1 << 24  # larger reads are several requests at once
_STEP = 1 << 22


class _Object:
    """An object's handle, which remembers its size, and its end."""

    def __init__(self, path: str, handle: Any) -> None:
        self.path, self.handle = path, handle
        self.size = int(handle.size())
        self.state: State = (self.size, _version(handle))
        self.tail = b""


def _version(handle: Any) -> int:
    """A number that changes with an object's content: from its tag, else from the time of its change."""
    metadata = {str(key).lower(): value for key, value in (handle.metadata() or {}).items()}
    facts = [(key, metadata[key]) for key in ("etag", "generation", "last-modified", "updated") if key in metadata]
    return int.from_bytes(hashlib.sha256(repr(facts).encode()).digest()[:7], "big")


class ObjectFile:
    """An open object."""

    def __init__(self, store: ObjectStore, stored: _Object) -> None:
        self._store, self._found = store, stored
        self._held = HeldRanges()
        if stored.tail:
            self._held.add(stored.size - len(stored.tail), stored.tail)
        self._streamed = (0, 0)
        self.bytes_read = 0

    @property
    def state(self) -> State:
        """Size, and a hash of the object's tag."""
        return self._found.state

    def __enter__(self) -> ObjectFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Forget what was held."""
        self._held = HeldRanges()

    def read(self, ranges: Sequence[Range]) -> list[memoryview]:
        """Read ranges, near ones in one request and several at once."""
        wanted = [(at, max(0, min(size, self._found.size - at))) for at, size in ranges]
        if len(wanted) == 1 and self._streamed[0] <= wanted[0][0] < self._streamed[1]:
            self._step(*wanted[0])
        held = {span: self._held.find(span) for span in wanted}
        missing = [span for span, block in held.items() if block is None]
        fresh = self._get(_requests(missing)) if missing else HeldRanges()
        blocks = [fresh.find(span) if held[span] is None else held[span] for span in wanted]
        return [memoryview(b"") if block is None else block for block in blocks]

    def gather(self, ranges: Int64Array) -> tuple[UInt8Array, Int64Array]:
        """Read many ranges, one after another in memory."""
        pieces = self.read([(at, size) for at, size in ranges.tolist()])
        sizes = np.array([len(piece) for piece in pieces], dtype=np.int64)
        return np.frombuffer(b"".join(pieces), np.uint8), np.cumsum(sizes) - sizes

    def advise(self, ranges: Int64Array) -> None:
        """Nothing: the only cache is this process's memory, which is limited."""

    def hold(self, ranges: Int64Array) -> None:
        """Read small pieces, with what lies between them, and keep them until the file is closed."""
        inside = [(at, size) for at, size in ranges.tolist() if at >= 0 and 0 < size <= self._found.size - at]
        missing = [span for span in inside if self._held.find(span) is None]
        if missing:
            self._held = self._get(join(missing, _HOLD_GAP), self._held)

    def stream(self, at: int, end: int) -> None:
        """Read small steps within a stretch in large ones."""
        self._streamed = (at, end)

    def _step(self, at: int, size: int) -> None:
        if self._held.find((at, size)) is None:
            step = min(max(size, _STEP), self._streamed[1] - at)
            self._held = HeldRanges() if step <= 0 else self._get([(at, max(step, size))])

    def _get(self, ranges: Sequence[Range], into: HeldRanges | None = None) -> HeldRanges:
        """Make requests, several at once."""
        blocks = into or HeldRanges()
        pieces = [split(span, _PIECE) for span in ranges]
        flat = [piece for of in pieces for piece in of]
        self.bytes_read += sum(size for _, size in flat)
        got = iter(self._store.map(self._request, flat) if len(flat) > 1 else [self._request(span) for span in flat])
        for (at, _), of in zip(ranges, pieces, strict=True):
            parts = [next(got) for _ in of]
            blocks.add(at, parts[0] if len(parts) == 1 else b"".join(parts))
        return blocks

    def _request(self, span: Range) -> bytes:
        at, size = span

        def get() -> bytes:
            body: bytes = self._found.handle.read_at(size, at)
            if len(body) < size:
                raise ConnectionError(f"{len(body)} of {size} bytes arrived")
            return body

        return with_retries(self._found.path, get)


def _requests(ranges: Sequence[Range]) -> list[Range]:
    """Give what is asked for, to have some ranges."""
    few = join_sparingly(ranges, _GAP, _UNWANTED)
    return few if len(few) <= _AT_ONCE else join_sparingly(join(ranges, _NEAR_GAP), _GAP, _UNWANTED)


class ObjectStore:
    """The objects of one root: a bucket's region, an account."""

    readers = _READERS

    def __init__(self, scheme: str, filesystem: Any) -> None:
        self.scheme, self.filesystem = scheme, filesystem
        self._objects: OrderedDict[str, _Object] = OrderedDict()
        self._tails = 0
        self._guess = _TAIL
        self._lock = threading.Lock()

    @cached_property
    def _pool(self) -> ThreadPool:
        return ThreadPool(REQUESTS, thread_name_prefix="streameval-requests")

    def map(self, work: Any, items: Sequence[Any]) -> list[Any]:
        """Do some requests at once, in order."""
        return list(self._pool.in_order(work, items))

    def key(self, path: str) -> str:
        """The path as the filesystem takes it."""
        return path.split("://", 1)[1]

    def open(self, path: str) -> ObjectFile:
        """Open an object; its handle is reused if it was open before."""
        with self._lock:
            entry = self._objects.get(path)
            if entry is not None:
                self._objects.move_to_end(path)
        return ObjectFile(self, entry or self._find(path))

    def open_anew(self, path: str) -> ObjectFile:
        """Open an object as it is now, without what is cached of it."""
        return ObjectFile(self, self._find(path))

    def _find(self, path: str) -> _Object:
        entry = _Object(path, with_retries(path, lambda: self.filesystem.open_input_file(self.key(path))))
        with self._lock:
            before = self._objects.pop(path, None)
            self._tails -= len(before.tail) if before else 0
            self._objects[path] = entry
            while len(self._objects) > _KEPT_HANDLES:
                _, gone = self._objects.popitem(last=False)
                self._tails -= len(gone.tail)
        return entry

    def tail(self, path: str, need: Need, guess: int = 0) -> tuple[State, bytes]:
        """Find an object anew and read its end, in one request where that is no longer than the longest seen so far."""
        file = self.open_anew(path)
        size = file.state[0]
        guess = min(size, max(guess, self._guess))
        raw = bytes(file.read([(size - guess, guess)])[0])
        length = min(size, need(size, raw[-LAST:]))
        if length > len(raw):
            raw = bytes(file.read([(size - length, length - len(raw))])[0]) + raw
        self._keep(path, raw)
        return file.state, raw[len(raw) - length :]

    def _keep(self, path: str, raw: bytes) -> None:
        with self._lock:
            self._guess = max(self._guess, min(_MOST_TAIL, len(raw)))
            entry = self._objects.get(path)
            if entry is None or len(entry.tail) >= len(raw):
                return
            self._tails += len(raw) - len(entry.tail)
            entry.tail = raw
            for older in self._objects.values():
                if self._tails <= _KEPT_TAILS:
                    break
                if older is not entry:
                    self._tails -= len(older.tail)
                    older.tail = b""

    def state(self, path: str) -> State:
        """Ask the store anew."""
        return _Object(path, with_retries(path, lambda: self.filesystem.open_input_file(self.key(path)))).state


class Ranged(Protocol):
    """A file that is read by ranges."""

    @property
    def state(self) -> State:
        """Its size first."""

    def read(self, ranges: Sequence[Range]) -> list[memoryview]:
        """Read ranges."""


class Stream(io.RawIOBase):
    """A `Ranged` file as a Python file, for readers that seek."""

    def __init__(self, file: Ranged) -> None:
        super().__init__()
        self._file, self._at = file, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.state[0]}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """The position."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read from the position on."""
        left = max(0, self._file.state[0] - self._at)
        size = left if size is None or size < 0 else min(size, left)
        body = bytes(self._file.read([(self._at, size)])[0]) if size else b""
        self._at += len(body)
        return body
