"""What commands on small lists take: CPU seconds, warm, and on the first run after installation (`--readme`)."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import description
from benchmarks.readme import markdown, write_section

N, LABELS, RUNS = 40_410, 8_000, 5
NIGHTS, OF_A_NIGHT = 30, 300
_GOALS = {
    "plan --help": 0.3,
    "cost": 0.3,
    "plan": 1.0,
    "select": 1.0,
    "evaluate": 1.0,
    "exact": 1.5,
    "exact --score": 1.5,
    "monitor": 2.0,
}


def make(folder: Path) -> None:
    """A list as long as ppdb_human, in the order of its scores, with a label of every item."""
    rng = np.random.default_rng(1)
    score = np.sort(rng.random(N))[::-1]
    label = (rng.random(N) < score**2).astype(np.int8)
    words = [f"sentence {i} and {i * 7 % 1000}" for i in range(N)]
    table = pa.table({"item": np.arange(N), "score": score, "text": words, "good": label})
    pq.write_table(table, folder / "items.parquet", compression="zstd", write_page_index=True)


def make_nights(folder: Path) -> None:
    """Evaluated studies of as many nights as `monitor` is given, of one list and each of its own draw."""
    import streameval

    good = pq.read_table(folder / "items.parquet", columns=["good"]).column("good").to_numpy()
    for night in range(NIGHTS):
        study = folder / "nights" / str(date(2026, 10, 1) + timedelta(night))
        ranks = streameval.plan(folder / "items.parquet", study, method="uniform", budget=OF_A_NIGHT, seed=night).ranks
        streameval.evaluate(study, labels=pa.table({"rank": ranks, "label": good[ranks - 1]}))


def commands(folder: Path) -> dict[str, list[str]]:
    """Arguments of each command; one finds what those before it left."""
    items, study = str(folder / "items.parquet"), str(folder / "study")
    nights = map(str, sorted((folder / "nights").iterdir()))
    return {
        "plan --help": ["plan", "--help"],
        "cost": ["cost", "--items", "1000000"],
        "plan": ["plan", items, "--study", study, "--budget", str(LABELS), "--seed", "1"],
        "select": ["select", study, "--export", str(folder / "tasks.csv")],
        "evaluate": ["evaluate", study, "--labels", str(folder / "labels.parquet")],
        "exact": ["exact", items, "--label", "good"],
        "exact --score": ["exact", items, "--label", "good", "--score", "score"],
        "monitor": ["monitor", *nights, "precision@20000", "--out", str(folder / "history.parquet")],
    }


def cpu_seconds(arguments: list[str], cache: Path) -> float:
    """User and system time of one command, with compiled code kept in `cache`."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = os.times()
    subprocess.run([sys.executable, "-m", "streameval", *arguments], env=environment, check=True, capture_output=True)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def measured(folder: Path, cache: Path | None = None) -> dict[str, float]:
    """One journey from its start; without a cache that is kept, every command compiles what it needs."""
    shutil.rmtree(folder / "study", ignore_errors=True)
    for name in ("tasks.csv", "history.parquet", "history.html"):
        (folder / name).unlink(missing_ok=True)
    taken = {}
    for name, arguments in commands(folder).items():
        if name == "evaluate":
            rank = pq.read_table(folder / "study" / "plan.parquet", columns=["rank"]).column("rank").to_numpy()
            label = pq.read_table(folder / "items.parquet", columns=["good"]).column("good").to_numpy()[rank - 1]
            pq.write_table(pa.table({"rank": rank, "label": label}), folder / "labels.parquet")
        taken[name] = cpu_seconds(arguments, cache or folder / f"empty for {name}")
    return taken


def main() -> None:
    """Print the table, and write it to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder)
        make_nights(folder)
        first = measured(folder)
        warm = [measured(folder, folder / "warm") for _ in range(RUNS + 1)][1:]
    rows = [[f"`{name}`", f"{min(one[name] for one in warm):.2f}", f"{_GOALS[name]:g}", f"{first[name]:.1f}", "2"]
            for name in _GOALS]  # fmt: skip
    busy = f"{description()}, load {os.getloadavg()[0]:.0f} while it was measured."
    text = f"{markdown(['', 'warm, CPU s', 'goal', 'first run, CPU s', 'goal'], rows)}\n\n{busy}"
    print(text)
    if arguments.readme:
        write_section("small", text)


if __name__ == "__main__":
    main()
