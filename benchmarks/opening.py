"""What opening many small files takes, beside pyarrow's reading of the same footers: CPU seconds of one process.

Files of 20 row groups and 3 columns, in the page cache; the least of several. *Wall*: seconds of that run, by as many
threads as the machine has. *First*: in a new process, imports left out, with kernels that are compiled already; *empty
cache*: with none.

Run: python -m benchmarks.opening [--files 100,1000,10000] [--readme]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import description
from benchmarks.readme import markdown, write_section

GROUPS, GROUP_ROWS, RUNS = 20, 50, 7
_WRITTEN = 10_000  # files beyond are copies of these: to write one takes a hundred times as long as to open it
_HEAD = ["files", "opened", "wall", "by score", "footers, pyarrow", "× pyarrow", "first", "empty cache"]


def make(folder: Path, n_files: int) -> None:
    """Write files whose rows are a list of id, score and label, ranked in the first of them."""
    each = GROUPS * GROUP_ROWS
    for number in range(min(n_files, _WRITTEN)):
        rank = np.arange(number * each, (number + 1) * each)
        score = (1 - rank / (n_files * each)).astype(np.float32)
        table = pa.table(
            {"id": rank * 7919 % (n_files * each), "score": score, "label": (rank % 3 == 0).astype(np.int8)}
        )
        pq.write_table(table, folder / f"part-{number:06d}.parquet", row_group_size=GROUP_ROWS, write_page_index=True)
    for number in range(_WRITTEN, n_files):
        shutil.copyfile(folder / f"part-{number % _WRITTEN:06d}.parquet", folder / f"part-{number:06d}.parquet")


def seconds(run: Callable[[], object]) -> float:
    """CPU seconds of this process, all threads."""
    began = time.process_time()
    run()
    return time.process_time() - began


def measured(folder: str, cache: Path) -> dict[str, float]:
    """Open the files in a process of its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "benchmarks.opening", "--measure", folder]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(folder: str) -> dict[str, float]:
    """Time each way of opening the files."""
    from streameval.rankings import open_ranking
    from streameval.rows.options import RankingOptions

    def opened(score: str | None = None) -> object:
        return open_ranking(folder, RankingOptions(score=score)).n_items

    def footers() -> object:
        return [pq.read_metadata(path) for path in sorted(Path(folder).iterdir())]

    first = seconds(opened)
    ways = {"open": opened, "score": lambda: opened("score"), "pyarrow": footers}
    found: dict[str, list[float]] = {"wall": []}
    for _ in range(RUNS if first < 5 else 3):  # in turns, so that a busy machine slows all of them
        for name, run in ways.items():
            began = time.perf_counter()
            found.setdefault(name, []).append(seconds(run))
            if name == "open":
                found["wall"].append(time.perf_counter() - began)
    return {"first": first} | {name: min(times) for name, times in found.items()}


def row(n_files: int) -> list[str]:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "list"
        folder.mkdir()
        make(folder, n_files)
        empty = measured(str(folder), Path(place) / "kernels")["first"]
        found = measured(str(folder), Path(place) / "kernels")
    ratio = found["open"] / found["pyarrow"]
    times = [f"{found[name]:.3f}" for name in ("open", "wall", "score", "pyarrow")]
    return [f"{n_files:,}", *times, f"{ratio:.2f}", f"{found['first']:.2f}", f"{empty:.1f}"]


def main() -> None:
    """Print the table, and write it to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", default="100,1000,10000")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    rows = [row(int(n_files)) for n_files in arguments.files.split(",")]
    text = f"{markdown(_HEAD, rows)}\n\n{description()}, load {os.getloadavg()[0]:.0f} while it was measured."
    print(text)
    if arguments.readme:
        write_section("opening", text)


if __name__ == "__main__":
    main()
