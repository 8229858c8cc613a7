"""Decompress pages: Parquet's codecs by number, through Arrow."""

from __future__ import annotations

import pyarrow as pa

from streameval.parquet.chunks import UnfitError

_HADOOP_LZ4 = 5
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


def decompress(codec: int, body: memoryview, size: int) -> pa.Buffer | memoryview | bytes:
    """Decompress a page.

    Args:
        codec: Parquet's number.
        size: Bytes decompressed.

    Raises:
        UnfitError: A codec that Arrow has not.
        pyarrow.ArrowException, OSError: Damaged data.
    """
    if codec == _HADOOP_LZ4:
        return _hadoop_lz4(body)
    if codec and codec not in _CODECS:
        raise UnfitError(f"codec {codec} cannot be decompressed alone")
    return pa.Codec(_CODECS[codec]).decompress(body, size) if codec else body


def _hadoop_lz4(body: memoryview) -> bytes:
    """Hadoop's frames: decompressed and compressed size, four bytes each, big end first, then a block of LZ4."""
    out, codec = [], pa.Codec("lz4_raw")
    while body:
        size, length = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
        if not 0 < length <= len(body) - 8 or size > 255 * length:
            raise UnfitError("its LZ4 pages are not in Hadoop's frames")
        out.append(codec.decompress(body[8 : 8 + length], size, asbytes=True))
        body = body[8 + length :]
    return b"".join(out)
