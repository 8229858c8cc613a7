"""Decompress pages: Parquet's codecs by number, through Arrow."""

from __future__ import annotations

import os
import threading

import numpy as np
import pyarrow as pa

from streameval.kernels.jit import small
from streameval.kernels.thrift import varint
from streameval.parquet.chunks import UnfitError

UNCOMPRESSED, _SNAPPY, _GZIP, BROTLI, _HADOOP_LZ4, _ZSTD, _LZ4 = 0, 1, 2, 4, 5, 6, 7
_CODECS = {_SNAPPY: "snappy", _GZIP: "gzip", BROTLI: "brotli", _ZSTD: "zstd", _LZ4: "lz4_raw"}
_MARK = os.urandom(16)
# in a block of LZ4, behind literals: the last byte four times more, and then the mark as literals
_REPEATED, _BEHIND = 4, b"\x01\x00" + b"\xf0" + bytes([len(_MARK) - 15]) + _MARK


def decompress(codec: int, body: memoryview, size: int) -> memoryview | bytes:
    """Decompress a page.

    Args:
        codec: Parquet's number.
        size: Bytes decompressed.

    Raises:
        UnfitError: A codec that cannot be decompressed alone.
        pyarrow.ArrowException, OSError: Damaged data, or another number of bytes in it.
    """
    if codec == _HADOOP_LZ4:
        body, codec = memoryview(_hadoop_lz4(body)), UNCOMPRESSED
    elif codec != UNCOMPRESSED and codec not in _CODECS:
        raise UnfitError(f"codec {codec} cannot be decompressed alone")
    if codec == _LZ4 and size:
        return _lz4(body, size)
    held = _size(codec, body, size)
    if held != size:
        raise OSError(f"a page of {size:,} bytes decompresses to {held:,}" if held >= 0 else "a page is damaged")
    # memory of Python's is used again at once: bytes take two thirds of the time of a buffer of Arrow's
    return _own.by_number(codec).decompress(body, size, asbytes=True) if codec else body


class _Codecs(threading.local):
    """Arrow's codecs of a thread: to make one takes as long as a small page."""

    def __init__(self) -> None:
        self._made: dict[int, pa.Codec] = {}

    def by_number(self, codec: int) -> pa.Codec:
        """Give that with Parquet's number."""
        if codec not in self._made:
            self._made[codec] = pa.Codec(_CODECS[codec])
        return self._made[codec]


_own = _Codecs()


def _size(codec: int, body: memoryview, size: int) -> int:
    """Bytes that are in a page; Arrow does not tell, and what it does not fill is whatever the memory held before."""
    raw = np.frombuffer(body, np.uint8)
    if codec == UNCOMPRESSED:
        return raw.size
    if codec == _LZ4:  # of no byte
        return 0 if bytes(body) == b"\0" else -1
    if codec == _SNAPPY:
        with small(10):
            stated, at = varint(raw[:10], 0)
        return int(stated) if at > 0 else -1
    if codec == _GZIP:
        return int.from_bytes(body[-4:], "little") if size < 1 << 32 else -1
    return _brotli_size(body, size) if codec == BROTLI else size  # Zstandard's own check is enough


def _brotli_size(body: memoryview, size: int) -> int:
    """`size`, or -1 where there is less: Brotli does not say how much, so what is smaller has to be too small."""
    try:
        pa.Codec("brotli").decompress(body, max(0, size - 1))
    except OSError:
        return size
    return -1 if size else 0


def _lz4(body: memoryview, size: int) -> memoryview:
    """Decompress a block of LZ4 of some bytes, at least one.

    No block says how many there are. So a mark that nobody foresaw is put behind it: where there are fewer bytes than
    `size`, the mark is elsewhere, and where there are more, there is no room for it.
    """
    whole = _own.by_number(_LZ4).decompress(b"".join((body, _BEHIND)), size + _REPEATED + len(_MARK), asbytes=True)
    if not whole.endswith(_MARK):
        raise OSError(f"a page of {size:,} bytes decompresses to fewer")
    return memoryview(whole)[:size]


def _hadoop_lz4(body: memoryview) -> bytes:
    """Hadoop's frames: decompressed and compressed size, four bytes each, big end first, then a block of LZ4."""
    out = []
    while body:
        size, length = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
        if not 0 < length <= len(body) - 8 or size > 255 * length:
            raise UnfitError("its LZ4 pages are not in Hadoop's frames")
        out.append(bytes(decompress(_LZ4, body[8 : 8 + length], size)))
        body = body[8 + length :]
    return b"".join(out)
