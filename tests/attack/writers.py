"""Undamaged rankings: small Parquet files by every writer there is, in every way they write.

All have the columns `item`, `score`, `label`, `country` and some more, and their rows are stored by falling score.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, GROUP = 360, 120


def table(nested: bool, rows: int = ROWS) -> pa.Table:
    """A ranking in memory, with ties in score but one order of its rows."""
    rng = np.random.default_rng(0)
    score = np.sort(np.round(rng.random(rows), 3))[::-1]
    day = datetime.date(2026, 1, 1)
    columns = {
        "item": [f"item {i}" for i in rng.permutation(rows)],
        "score": score,
        "label": (rng.random(rows) < score).astype(np.int8),
        "country": [("de", "fr", "it")[i] for i in rng.integers(0, 3, rows)],
        "text": [f"ein Satz Nr. {i} — é" if i % 7 else None for i in range(rows)],
        "price": pa.array([decimal.Decimal(int(x)) / 100 for x in rng.integers(0, 9999, rows)], pa.decimal128(9, 2)),
        "day": [day + datetime.timedelta(int(d)) for d in rng.integers(0, 300, rows)],
        "ok": rng.random(rows) < 0.5,
    }
    if nested:
        columns["words"] = [[f"w{j}" for j in range(i % 4)] for i in range(rows)]
        columns["place"] = [{"x": i, "name": None if i % 5 else "n"} for i in range(rows)]
    return pa.table(columns)


def _arrow(nested: bool = False, **how: object) -> Callable[[Path], None]:
    return lambda path: pq.write_table(table(nested), path, row_group_size=GROUP, **how)


def _polars(**how: object) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        frame = pl.from_arrow(table(False))
        assert isinstance(frame, pl.DataFrame)
        frame.write_parquet(path, row_group_size=GROUP, **how)

    return write


def _duckdb(how: str, rows: int = ROWS) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with duckdb.connect() as base:
            base.register("ranking", table("NESTED" in how, rows))
            options = how.replace("NESTED", "").strip() or "COMPRESSION snappy"
            base.execute(f"COPY ranking TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE {GROUP}, {options})")

    return write


_PAGED = {"write_page_index": True, "data_page_size": 400, "write_batch_size": 20}
_BARE = {"write_statistics": False, "compression": "none", "use_dictionary": False}

WRITERS: dict[str, Callable[[Path], None]] = {
    "arrow": _arrow(),
    "arrow-index": _arrow(**_PAGED),
    "arrow-crc": _arrow(write_page_checksum=True),
    "arrow-crc-index-v2": _arrow(write_page_checksum=True, data_page_version="2.0", **_PAGED),
    "arrow-plain": _arrow(compression="none", use_dictionary=False),
    "arrow-plain-index": _arrow(compression="none", use_dictionary=False, **_PAGED),
    "arrow-plain-crc-index": _arrow(compression="none", use_dictionary=False, write_page_checksum=True, **_PAGED),
    "arrow-bare": _arrow(**_BARE),
    "arrow-v2": _arrow(data_page_version="2.0"),
    "arrow-v2-zstd-index": _arrow(data_page_version="2.0", compression="zstd", **_PAGED),
    "arrow-gzip": _arrow(compression="gzip"),
    "arrow-brotli": _arrow(compression="brotli"),
    "arrow-lz4": _arrow(compression="lz4"),
    "arrow-delta": _arrow(
        use_dictionary=False,
        column_encoding={
            "item": "DELTA_BYTE_ARRAY",
            "country": "DELTA_LENGTH_BYTE_ARRAY",
            "score": "BYTE_STREAM_SPLIT",
        },
    ),
    "arrow-nested": _arrow(nested=True),
    "arrow-nested-index-crc": _arrow(nested=True, write_page_checksum=True, **_PAGED),
    "arrow-nested-v2": _arrow(nested=True, data_page_version="2.0", compression="zstd"),
    "arrow-no-schema": _arrow(store_schema=False),
    "polars": _polars(),
    "polars-plain": _polars(compression="uncompressed", statistics=False),
    "polars-snappy-pages": _polars(compression="snappy", data_page_size=500),
    "polars-full": _polars(compression="lz4", statistics="full"),
    "duckdb": _duckdb(""),
    "duckdb-zstd-v2": _duckdb("COMPRESSION zstd, PARQUET_VERSION v2"),
    "duckdb-plain": _duckdb("COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1"),
    "duckdb-groups": _duckdb("COMPRESSION snappy", rows=2500),  # its row groups have 2,048 rows at least
    "duckdb-nested": _duckdb("COMPRESSION gzip NESTED"),
}


def write(name: str, folder: Path) -> Path:
    """Write one file; the same bytes each time."""
    path = folder / f"{name}.parquet"
    if not path.exists():
        WRITERS[name](path)
    return path
