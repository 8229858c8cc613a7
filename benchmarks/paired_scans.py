"""What planning the comparison of two rankings takes: scans of one long table, and of two that are joined by key.

Every score is a function of the key, so that two tables in different orders hold the same items. Both fall as steeply
everywhere, so that about as large a share of the top has changed at every cutoff.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import counters, drop_cache, peak_bytes
from benchmarks.readme import markdown

ROWS, JOINED, PEERS = 10**9, 10**8, 10**7
AT, AT_JOINED, AT_PEERS = [10**4, 10**5, 10**6], [10**4, 10**5, 10**6, 10**7], [10**4, 10**5, 10**6]
_FILE_ROWS, _GROUP_ROWS, _STEP = 20_000_000, 1 << 20, 1_000_003
_NOISE = 0.1
_TIED = 3  # items of one score about a cutoff, which go by id there, and by the hash of it here


@nb.njit(cache=True)
def _mixed(value: int) -> int:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@nb.njit(parallel=True, cache=True)
def _scores(ids: Any, old: Any, new: Any) -> None:
    """The old score is exponential; the new one adds noise, nearly normal."""
    for i in nb.prange(ids.size):
        first = _mixed(np.uint64(ids[i]) + np.uint64(0x9E3779B97F4A7C15))
        second = _mixed(first + np.uint64(0x9E3779B97F4A7C15))
        old[i] = -np.log((np.float64(first >> np.uint64(11)) + 0.5) / 2.0**53)
        noise = 0.0
        for part in range(4):
            noise += np.float64((second >> np.uint64(16 * part)) & np.uint64(0xFFFF)) / 65535 - 0.5
        new[i] = old[i] + _NOISE * 1.7320508 * noise


def _write(folder: Path, rows: int, columns: dict[str, int], step: int = 1) -> None:
    """Write a table of items; `columns`: 0 stands for the old score, 1 for the new one. `step` makes another order."""
    folder.mkdir(parents=True)
    for begin in range(0, rows, _FILE_ROWS):
        ids = np.arange(begin, min(begin + _FILE_ROWS, rows)) * step % rows
        scores = np.empty((2, ids.size), np.float32)
        _scores(ids, *scores)
        table = pa.table({"id": ids, **{name: scores[which] for name, which in columns.items()}})
        pq.write_table(table, folder / f"part-{begin // _FILE_ROWS:03}.parquet", row_group_size=_GROUP_ROWS,
                       compression="none", use_dictionary=False, write_page_index=True,
                       column_encoding={"id": "DELTA_BINARY_PACKED"})  # fmt: skip


def scans(_: int) -> str:
    """Seconds, memory and bytes of planning, and what other tools take to count the same changes."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="streameval-paired-") as home:
        both = Path(home, "both")
        _write(both, ROWS, {"old": 0, "new": 1})
        rows.append(_row("one table, two scores", ROWS, _ours(both, both, AT)))
    for count, at in ((JOINED, AT_JOINED), (PEERS, AT_PEERS)):
        with tempfile.TemporaryDirectory(prefix="streameval-paired-") as home:
            old, new = Path(home, "old"), Path(home, "new")
            _write(old, count, {"score": 0})
            _write(new, count, {"score": 1}, _STEP)
            rows.append(_row("two tables, joined by key", count, ours := _ours(new, old, at)))
            for name in ("DuckDB", "Polars") if count == PEERS else ("DuckDB",):
                found = _measured(name, new, old, at)
                if "gains" in found and np.abs(np.subtract(found["gains"], ours["gains"])).max() > _TIED:
                    raise SystemExit(f"{name} counts other gains: {found['gains']}, not {ours['gains']}")
                rows.append(_row(f"{name}: the same counts, no draw", count, found))
    head = ["", "rows of each", "cutoffs", "changed at the last", "labels", "s", "CPU s", "peak MB", "from disk GB"]
    return markdown(head, rows)


def _row(name: str, count: int, found: dict[str, Any]) -> list[str]:
    cutoffs = f"{found['at'][0]:,} to {found['at'][-1]:,}"
    if "failed" in found:
        return [name, f"{count:,}", cutoffs, found["failed"], *[""] * 5]
    labels = f"{found['labels']:,}" if "labels" in found else ""
    return [name, f"{count:,}", cutoffs, f"{found['gains'][-1] / found['at'][-1]:.1%}", labels,
            f"{found['seconds']:.1f}", f"{found['cpu']:.1f}", f"{found['peak'] / 1e6:,.0f}",
            f"{found['read'] / 1e9:.2f}"]  # fmt: skip


def _ours(new: Path, old: Path, at: list[int]) -> dict[str, Any]:
    return _measured("streameval", new, old, at)


def _measured(name: str, new: Path, old: Path, at: list[int]) -> dict[str, Any]:
    """Run one in a process of its own, from the disk."""
    given = json.dumps({"name": name, "new": str(new), "old": str(old), "at": at})
    done = subprocess.run([sys.executable, "-m", "benchmarks.paired_scans", given], check=False, capture_output=True)
    if done.returncode:
        return {"at": at, "failed": f"ended with status {done.returncode}"}
    found = {"at": at, **json.loads(done.stdout.splitlines()[-1])}
    print(name, found, flush=True)
    return found


def _planned(new: str, old: str, at: list[int]) -> dict[str, Any]:
    import streameval

    orders: dict[str, Any] = {"score": "score"} if new != old else {"score": "new", "against_score": "old"}
    with tempfile.TemporaryDirectory() as home:
        asked = f"gain@{', '.join(map(str, at))}"
        plan = streameval.plan(new, Path(home, "s"), against=old, key="id", questions=asked, seed=1, **orders)
    return {"gains": plan.notes["gains"], "labels": plan.table.num_rows}


def _duckdb(new: str, old: str, at: list[int]) -> dict[str, Any]:
    import duckdb

    order = "ORDER BY score DESC, id"
    tops = [f"SELECT id, row_number() OVER ({order}) AS rank FROM "
            f"(SELECT id, score FROM '{one}/*.parquet' {order} LIMIT {at[-1]})" for one in (new, old)]  # fmt: skip
    counted = ", ".join(f"count(*) FILTER (b.rank <= {k} AND coalesce(a.rank, {k + 1}) > {k})" for k in at)
    with duckdb.connect(config={"threads": 2}) as connection:
        found = connection.sql(f"SELECT {counted} FROM ({tops[0]}) b LEFT JOIN ({tops[1]}) a USING (id)").fetchall()[0]
    return {"gains": list(found)}


def _polars(new: str, old: str, at: list[int]) -> dict[str, Any]:
    import polars as pl

    best = [pl.scan_parquet(f"{folder}/*.parquet").top_k(at[-1], by="score").sort("score", descending=True)
            for folder in (new, old)]  # fmt: skip
    b, a = (one.with_row_index(name, offset=1).select("id", name) for one, name in zip(best, "ba", strict=True))
    one = b.join(a, on="id", how="left")
    gained = [((pl.col("b") <= k) & (pl.col("a").fill_null(k + 1) > k)).sum().alias(str(k)) for k in at]
    return {"gains": list(one.select(gained).collect(engine="streaming").row(0))}


_RUNNERS: dict[str, Callable[..., dict[str, Any]]] = {"streameval": _planned, "DuckDB": _duckdb, "Polars": _polars}


def main() -> None:
    """Run what the parent asks for once, and print what it took as JSON."""
    given = json.loads(sys.argv[1])
    drop_cache(path for folder in {given["new"], given["old"]} for path in Path(folder).iterdir())
    before, began, cpu = counters(), time.perf_counter(), time.process_time()
    found = _RUNNERS[given.pop("name")](**given)
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    read = counters()["read_bytes"] - before["read_bytes"]
    print("\n" + json.dumps({**found, "seconds": seconds, "cpu": spent, "peak": peak_bytes(), "read": read}))


if __name__ == "__main__":
    main()
