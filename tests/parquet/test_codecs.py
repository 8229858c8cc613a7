"""Pages decompress to as many bytes as their header says, or not at all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from streameval.parquet.codecs import decompress

_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 5: "hadoop", 6: "zstd", 7: "lz4_raw"}
_RANDOM = np.random.default_rng(0)
_PAGES = [
    b"",
    b"a",
    np.arange(1000, dtype=np.int32).tobytes(),
    _RANDOM.integers(0, 2, 20_000).astype(np.int32).tobytes(),
    _RANDOM.bytes(70_000),
    bytes(70_000),
]


def _compressed(name: str | None, page: bytes) -> memoryview:
    if name == "hadoop":
        body = pa.Codec("lz4_raw").compress(page, asbytes=True)
        return memoryview(len(page).to_bytes(4, "big") + len(body).to_bytes(4, "big") + body)
    return memoryview(pa.Codec(name).compress(page, asbytes=True) if name else page)


@pytest.mark.parametrize("codec", _CODECS)
@pytest.mark.parametrize("page", _PAGES, ids=len)
def test_a_page_of_the_stated_size_is_decompressed(codec: int, page: bytes) -> None:
    assert bytes(decompress(codec, _compressed(_CODECS[codec], page), len(page))) == page


@pytest.mark.parametrize("codec", _CODECS)
@pytest.mark.parametrize("page", _PAGES, ids=len)
@pytest.mark.parametrize("more", [-1, 1, 400])
def test_another_size_is_refused(codec: int, page: bytes, more: int) -> None:
    """Else what Arrow did not fill would be handed out: whatever the memory held before."""
    if len(page) + more >= 0:
        with pytest.raises((OSError, pa.ArrowException)):
            decompress(codec, _compressed(_CODECS[codec], page), len(page) + more)
