"""Many rankings evaluated exactly: seconds, CPU and peak memory, rows stored together and shuffled.

Run `python -m benchmarks.many --rankings 1e6` for 10^8 rows in a folder of --data; `--peers` runs DuckDB (window
functions) and Polars (streaming, sorted lists by group; and ranks of the positives alone) beside it, which compute six
means in one order of ties where `exact` has twelve in three. Each run is a process; Polars takes the memory it likes.
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
_POLARS = """
import polars as pl
k, label = pl.int_range(1, pl.len() + 1, dtype=pl.Int32), pl.col("label").sort_by("score", descending=True)
found = label.cast(pl.Int32).cum_sum()
each = pl.scan_parquet("{folder}/*.parquet").group_by("query").agg(
    p=pl.col("label").cast(pl.Int32).sum(), s=(found / k * label).sum(), first=label.arg_max() + 1,
    top=label.head(10).cast(pl.Int32).sum(), dcg=(label / (k + 1).log(2)).head(10).sum())
{means}
"""
_POLARS_RANKS = """
import polars as pl
rank = pl.col("score").rank("ordinal", descending=True).filter(pl.col("label") == 1).sort()
each = pl.scan_parquet("{folder}/*.parquet").group_by("query").agg(p=pl.col("label").cast(pl.Int32).sum(), r=rank)
r = pl.col("r").list.eval(pl.element().cast(pl.Float64))
each = each.select("p", s=r.list.eval(pl.int_range(1, pl.len() + 1) / pl.element()).list.sum(), first=r.list.first(),
                   top=r.list.eval(pl.element() <= 10).list.sum(),
                   dcg=r.list.eval((pl.element() <= 10) / (pl.element() + 1).log(2)).list.sum())
{means}
"""
_MEANS = """
has = pl.col("p") > 0
print(each.select(
    pl.when(has).then(pl.col("s") / pl.col("p")).otherwise(0).mean(),
    rr=pl.when(has).then(1 / pl.col("first")).otherwise(0).mean(), precision=(pl.col("top") / 10).mean(),
    recall=pl.when(has).then(pl.col("top") / pl.col("p")).otherwise(0).mean(), success=(pl.col("top") > 0).mean(),
    dcg=pl.col("dcg").mean()).collect(engine="streaming"))
"""
_PEERS = {"duckdb": _DUCKDB, "polars": _POLARS, "polars, ranks of positives": _POLARS_RANKS}


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
        for name, body in (("streameval", _OURS), *(_PEERS.items() if options.peers else ())):
            where = {"folder": str(folder), "scratch": str(options.data / "duckdb"), "means": _MEANS}
            code = _RUN.format(body=body.format(**where))
            ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
            print(f"{name}, rows {order}: {ran.stderr.strip().splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    main()
