"""What lists of 10⁹ to 10¹² rows would take: arithmetic from figures measured at one size, on this machine.

    python -m benchmarks.scaling --data /big/disk [--items 1e9] [--readme]

Measured: opening the files, one scan of the scores, reading planned items, memory. Everything at other sizes is
computed from that, and from how many scans so many items need in a given memory: nothing larger was run.
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
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from benchmarks.data import Dataset
from benchmarks.machine import description
from benchmarks.readme import markdown, write_section
from streameval.methods import create
from streameval.order.locate import BYTES_PER_BIN, BYTES_PER_CANDIDATE, MOST_BINS
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions

SIZES = ((10**9, 10**2), (10**10, 10**3), (10**11, 10**4), (10**12, 10**5))
MEMORY = 2e9  # the default of --memory
WORKERS = 100  # cores that share the scans


@dataclass(frozen=True)
class Measured:
    """What was measured at one size.

    Attributes
    ----------
    n_items, files, labels : int
    footer_seconds : float
        Of one file.
    footer_bytes : float
        Of one file.
    score_bytes : float
        Of one row, as stored.
    scan_seconds : float
        Of one row, of all cores together.
    item_bytes, item_seconds : float
        Of one planned item.
    peak : int
        Bytes of the whole process.
    """

    n_items: int
    files: int
    labels: int
    footer_seconds: float
    footer_bytes: float
    score_bytes: float
    scan_seconds: float
    item_bytes: float
    item_seconds: float
    peak: int


def measure(dataset: Dataset) -> Measured:
    """Plan and select by score, in a process of its own."""
    started = time.perf_counter()
    opened = open_ranking(str(dataset.folder), RankingOptions(score="score"))
    seconds = time.perf_counter() - started
    footers = sum(_footer_bytes(path) for path in dataset.files)
    with tempfile.TemporaryDirectory() as folder:
        study = f"{folder}/study"
        _run("plan", str(dataset.folder), "--study", study, "--seed", "0", "--score", "score")
        events = _run("select", study, "--columns", "id", "--log", "json")
    steps = {event["step"]: event for event in events if event["event"] == "step_ends"}
    # of select, the one that says what was read
    (done,) = (event for event in events if event["event"] == "select")
    count, items = steps["count"], steps["items"]
    return Measured(
        opened.n_items, len(dataset.files), done["items"], seconds / len(dataset.files), footers / len(dataset.files),
        count["bytes"] / count["rows"], count["seconds"] * (os.cpu_count() or 1) / count["rows"],
        done["bytes_read"] / done["items"], items["seconds"] * (os.cpu_count() or 1) / done["items"],
        resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
    )  # fmt: skip


def _footer_bytes(path: Path) -> int:
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        return int.from_bytes(file.read(4), "little") + 8


def _run(*arguments: str) -> list[dict]:
    done = subprocess.run([sys.executable, "-m", "streameval", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


def scans(n_items: int, labels: int) -> int:
    """Scans that finding so many single ranks takes: counted into bins, those split until candidates fit, collected.

    Likely candidates are kept while the first scan counts, and where they fit, it is the only one.
    """
    most_candidates, bins = MEMORY / 4 / BYTES_PER_CANDIDATE, min(MOST_BINS, MEMORY / 4 / BYTES_PER_BIN)
    in_bins, done = labels * max(1.0, n_items / bins), 1
    if in_bins <= most_candidates and 200 * n_items**0.5 <= most_candidates:
        return done
    while in_bins > most_candidates:
        in_bins, done = max(labels, in_bins / max(1.0, bins / labels)), done + 1
    return done + 1


def row(n_items: int, files: int, found: Measured) -> list[str]:
    """What one size would take."""
    labels = create("loguniform").cost(n_items)["labels"]
    times = scans(n_items, labels)
    cores = times * n_items * found.scan_seconds + labels * found.item_seconds + files * found.footer_seconds
    moved = times * n_items * found.score_bytes + labels * found.item_bytes + files * found.footer_bytes
    sent = (MOST_BINS * 8 + labels * BYTES_PER_CANDIDATE) * times  # a worker's counts and candidates
    return [
        f"{n_items:,}", f"{files:,}", f"{labels:,}", f"{files:,} / {_size(files * found.footer_bytes)}", f"{times}",
        _size(moved), _size(labels * found.item_bytes), _span(cores / 2), _span(cores / WORKERS), _size(sent),
    ]  # fmt: skip


def _size(value: float) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e3:.3g} kB"


def _span(seconds: float) -> str:
    for unit, scale in (("h", 3600.0), ("min", 60.0)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{ceil(seconds)} s"


def main() -> None:
    """Measure, compute, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--items", type=float, default=1e9)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    dataset = Dataset(options.data.resolve(), int(options.items), "shuffled", 7)
    if not dataset.complete:
        print(f"making {dataset.folder}: about {dataset.disk_bytes / 1e9:.1f} GB")
        dataset.make()
    found = measure(dataset)
    head = ["rows", "files", "labels", "footers: requests / bytes", "scans of scores", "bytes read", "of them items",
            "2 cores", f"{WORKERS} cores", "sent by a worker"]  # fmt: skip
    table = markdown(head, [row(*size, found) for size in SIZES])
    text = (
        f"{table}\n\nArithmetic: measured were {found.n_items:,} rows in {found.files} files, in memory: "
        f"{found.footer_seconds * 1e3:.1f} ms and {found.footer_bytes / 1e3:.1f} kB a footer, "
        f"{found.scan_seconds * 1e9:.1f} ns of a core and {found.score_bytes:.1f} bytes a row and scan, "
        f"{found.item_seconds * 1e6:.0f} µs of a core and {found.item_bytes / 1e3:.0f} kB an item, "
        f"{found.peak / 1e6:,.0f} MB at the peak. No larger list was run, and a store's speed is not in it."
        "\n\n"
        f"{description()}."
    )
    print(text)
    if options.readme:
        write_section("scaling", text)


if __name__ == "__main__":
    main()
