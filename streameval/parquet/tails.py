"""The ends of Parquet files, where their footers are; those of several files in one piece of memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from streameval.errors import InputError, outside_trouble
from streameval.kernels.row_groups import BEGIN, END
from streameval.parquet.files import SUFFIXES, DataFile
from streameval.parquet.images import MAGIC
from streameval.stores import store_of
from streameval.stores.store import LAST, State
from streameval.typing import Int64Array, UInt8Array

_MAX_FOOTER = 1 << 30
_GUESS = 1 << 14  # bytes of the end that is read first
_ROOM = 1 << 19  # bytes of ends that are in memory together, so that they stay in a processor's cache


@dataclass(frozen=True, eq=False)
class FooterBytes:
    """The ends of some files.

    Attributes:
        states: Size and time of change of each file.
        digests: SHA-256 of each footer, its length and the magic number, hex.
        raw: Where the footers lie.
        spans (int64 array, shape (files, 3)): Where each FileMetaData begins and ends in `raw`, and bytes of its file.
    """

    files: Sequence[DataFile]
    states: Sequence[State]
    digests: Sequence[str]
    raw: UInt8Array
    spans: Int64Array

    @classmethod
    def of_one(cls, file: DataFile, state: State, end: bytes) -> FooterBytes:
        """That of one file."""
        spans = np.array([[0, len(end) - LAST, state[0]]], np.int64)
        return cls([file], [state], [hashlib.sha256(end).hexdigest()], np.frombuffer(end, np.uint8), spans)

    def __len__(self) -> int:
        return len(self.files)

    def after(self, first: int) -> FooterBytes:
        """Those from some file on."""
        if not first:
            return self
        return FooterBytes(self.files[first:], self.states[first:], self.digests[first:], self.raw, self.spans[first:])

    @property
    def lengths(self) -> list[int]:
        """Bytes of each FileMetaData."""
        found: list[int] = (self.spans[:, END] - self.spans[:, BEGIN]).tolist()
        return found

    def footer(self, file: int) -> bytes:
        """FileMetaData of a file."""
        return self.raw[self.spans[file, BEGIN] : self.spans[file, END]].tobytes()


def read_tails(files: Sequence[DataFile]) -> Iterator[FooterBytes]:
    """Read the ends of files, as many together as there is room for; each is there until the next is asked for.

    Raises:
        InputError: A file that cannot be read, or is no Parquet file; named.
    """
    room = memoryview(bytearray(_ROOM))
    shared = np.frombuffer(room.toreadonly(), np.uint8)
    states, digests, spans, first, at, guess = list[State](), list[str](), list[tuple[int, int, int]](), 0, 0, _GUESS
    for i, file in enumerate(files):
        state, end = read_tail(file.path, guess)
        size = len(end)
        guess = min(size + size // 16, _ROOM)  # most files of a list have footers of about one length
        if at + size > _ROOM:
            if states:
                yield FooterBytes(files[first:i], states, digests, shared, np.array(spans, np.int64))
            states, digests, spans, first, at = [], [], [], i, 0
            if size > _ROOM:
                yield FooterBytes.of_one(file, state, end)
                first = i + 1
                continue
        room[at : at + size] = end
        states.append(state)
        digests.append(hashlib.sha256(end).hexdigest())
        spans.append((at, at + size - LAST, state[0]))
        at += size
    if states:
        yield FooterBytes(files[first:], states, digests, shared, np.array(spans, np.int64))


def read_tail(path: str, guess: int = _GUESS) -> tuple[State, bytes]:
    """Read the state of a file, and its footer with what follows it, of a guessed length; errors as of `read_tails`."""
    try:
        return store_of(path).tail(path, partial(ending_size, path), guess)
    except OSError as error:
        raise outside_trouble(error) or InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def ending_size(path: str, size: int, last: bytes) -> int:
    """Bytes of the footer, its length and the magic number, as the last eight bytes of a file tell."""
    if size < 12:
        raise InputError(f"{path}: {size} bytes are not a Parquet file", _instead(path))
    if last[4:] != MAGIC:
        what = "an encrypted Parquet footer" if last[4:] == b"PARE" else "not a Parquet file, or a truncated one"
        raise InputError(f"{path}: {what} (it ends in {last[4:]!r}, not {MAGIC!r})", _instead(path))
    length = int.from_bytes(last[:4], "little")
    if not 0 < length <= min(size - 12, _MAX_FOOTER):
        raise InputError(f"{path}: claims a footer of {length:,} bytes in a file of {size:,}")
    return length + LAST


def _instead(path: str) -> str:
    if path.lower().endswith(SUFFIXES):
        return "it is empty, cut short or damaged: write it again"
    return "what is read: Parquet, and CSV, TSV, JSON or JSON lines, packed by gzip or not"
