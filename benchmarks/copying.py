"""What reading a list that is no Parquet takes: CPU seconds, peak memory of the process, and megabytes of the copy.

Rows of an id of nine digits, a text of sixty letters, a score and a label, planned by score. The peak has the program
itself in it: *program* is that of planning the same list as Parquet.

Run: python -m benchmarks.copying [--items 5e6,5e7] [--kinds csv,duckdb] [--memory 2] [--data FOLDER] [--readme]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.machine import description
from benchmarks.readme import markdown, write_section

_HEAD = ["list", "rows", "bytes given, MB", "copy, MB", "CPU s", "s", "peak, MB"]
_ROWS = """SELECT printf('%09d', i) AS id, printf('%060d', hash(i) % 1000000007) AS text,
    round((hash(i) % 1000000) / 1000000.0, 6)::DOUBLE AS confidence, (i % 3 = 0)::INT AS label FROM range({}) t(i)"""


def _copy(how: str) -> Callable[[Path, int], str]:
    def make(path: Path, items: int) -> str:
        duckdb.sql(f"COPY ({_ROWS.format(items)}) TO '{path}' ({how})")
        return str(path)

    return make


def _database(path: Path, items: int) -> str:
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE preds AS {_ROWS.format(items)}")
    return f"duckdb:{path}#SELECT * FROM preds"


# what makes a list, and gives its address; a relation is the same file's, made in the process that is measured
KINDS: dict[str, Callable[[Path, int], str]] = {
    "parquet": _copy("FORMAT parquet, ROW_GROUP_SIZE 131072"),
    "csv": _copy("FORMAT csv"),
    "csv.gz": _copy("FORMAT csv, COMPRESSION gzip"),
    "jsonl": _copy("FORMAT json"),
    "duckdb": _database,
    "relation": _database,
}


def measure(kind: str, address: str, memory: float) -> dict[str, float]:
    """Plan a list, in this process."""
    import streameval

    source: Any = address
    if kind == "relation":
        path, _, query = address.removeprefix("duckdb:").partition("#")
        connection = duckdb.connect(path, read_only=True, config={"memory_limit": f"{memory / 2}GB"})
        source = connection.sql(query)
    with tempfile.TemporaryDirectory(dir=Path(address.removeprefix("duckdb:").partition("#")[0]).parent) as study:
        began, cpu = time.monotonic(), time.process_time()
        streameval.plan(source, study, score="confidence", budget=2_000, memory=memory)
        copied = sum(path.stat().st_size for path in Path(study).glob("ranking/*.parquet"))
        cpu, seconds = time.process_time() - cpu, time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"cpu": cpu, "seconds": seconds, "peak": peak, "copied": copied}


def row(kind: str, items: int, memory: float, data: str | None) -> list[str]:
    """A row of the table; what was made for it is removed."""
    with tempfile.TemporaryDirectory(dir=data) as folder:
        path = Path(folder) / f"list.{'db' if kind in ('duckdb', 'relation') else kind}"
        address = KINDS[kind](path, items)
        size = path.stat().st_size
        command = [sys.executable, "-m", "benchmarks.copying", "--measure", kind, address, str(memory)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    figures = [f"{found['cpu']:.1f}", f"{found['seconds']:.1f}", f"{found['peak'] / 1e6:,.0f}"]
    return [kind, f"{items:,}", f"{size / 1e6:,.0f}", f"{found['copied'] / 1e6:,.0f}", *figures]


def main() -> None:
    """Print the table, and write it to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", default="5e6,5e7")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--memory", type=float, default=2.0)
    parser.add_argument("--data")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    if arguments.measure:
        kind, address, memory = arguments.measure
        print(json.dumps(measure(kind, address, float(memory))))
        return
    rows = [
        row(kind, int(float(items)), arguments.memory, arguments.data)
        for items in arguments.items.split(",")
        for kind in arguments.kinds.split(",")
    ]
    limit = f"--memory {arguments.memory:g}"
    text = f"{markdown(_HEAD, rows)}\n\n{limit}. {description()}, load {os.getloadavg()[0]:.0f} while it was measured."
    print(text)
    if arguments.readme:
        write_section("copying", text)


if __name__ == "__main__":
    main()
