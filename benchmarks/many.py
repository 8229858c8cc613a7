"""Many rankings evaluated exactly: seconds, CPU and peak memory, rows stored together and shuffled.

Run `python -m benchmarks.many --rankings 1e6` for 10^8 rows in a folder of --data; `--peers` runs DuckDB (window
functions) beside it, which computes six means where `exact` has twelve in three orders of ties. Each run is a process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_ITEMS = 100
_FILE_ROWS = 10_000_000
_RUN = """
import os, resource, sys, time
began, before = time.monotonic(), os.times()
{body}
now = os.times()
cpu = now.user + now.system - before.user - before.system
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{{time.monotonic() - began:.1f}} s, {{cpu:.1f}} s of CPU, {{peak:,.0f}} MB", file=sys.stderr)
"""
_OURS = """
from streameval.cli import run
run(["exact", {folder!r}, "--per", "query", "--score", "score", "--label", "label", "--at", "10", "--memory", "2"])
"""
_DUCKDB = """
import duckdb
connection = duckdb.connect()
connection.execute("SET memory_limit = '2GB'; SET threads = 2; SET temp_directory = {scratch!r}")
print(connection.sql('''
    WITH placed AS (SELECT query, label, row_number() OVER (PARTITION BY query ORDER BY score DESC) AS k
                    FROM read_parquet('{folder}/*.parquet')),
    found AS (SELECT query, k, label, sum(label) OVER (PARTITION BY query ORDER BY k) AS found FROM placed),
    each AS (SELECT query, sum(label) AS p, sum(CASE WHEN label = 1 THEN found / k END) AS s,
                    min(CASE WHEN label = 1 THEN k END) AS first, sum(CASE WHEN k <= 10 THEN label END) AS top,
                    sum(CASE WHEN k <= 10 AND label = 1 THEN 1 / log2(k + 1) ELSE 0 END) AS dcg
             FROM found GROUP BY query)
    SELECT avg(coalesce(s / p, 0)), avg(coalesce(1 / first, 0)), avg(top / 10), avg(coalesce(top / p, 0)),
           avg(least(top, 1)), avg(dcg) FROM each''').fetchall())
"""


def make(folder: Path, rankings: int, order: str) -> None:
    """Write rankings of 100 items, one in twenty positive; nothing where they are."""
    if (folder / "_done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng, total = np.random.default_rng(1), rankings * _ITEMS
    for part, first in enumerate(range(0, total, _FILE_ROWS)):
        n = min(_FILE_ROWS, total - first)
        query = (first + np.arange(n)) // _ITEMS if order == "together" else rng.integers(0, rankings, n)
        table = pa.table({"query": query, "score": rng.random(n, np.float32),
                          "label": (rng.random(n, np.float32) < 0.05).astype(np.int8)})  # fmt: skip
        pq.write_table(table, folder / f"part-{part:04d}.parquet", row_group_size=1 << 20, compression="zstd",
                       compression_level=1, use_dictionary=["label"])  # fmt: skip
    (folder / "_done").touch()


def main() -> None:
    """Make the data, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("benchmark-data"))
    parser.add_argument("--rankings", type=float, default=1e5)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    for order in ("together", "shuffled"):
        folder = options.data / f"many-{int(options.rankings)}-{order}"
        make(folder, int(options.rankings), order)
        for name, body in (("streameval", _OURS), *([("duckdb", _DUCKDB)] if options.peers else [])):
            code = _RUN.format(body=body.format(folder=str(folder), scratch=str(options.data / "duckdb")))
            ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
            print(f"{name}, rows {order}: {ran.stderr.strip().splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    main()
