"""Many rankings evaluated exactly: seconds, CPU and peak memory, rows stored together and shuffled, other tools beside.

Run `python -m benchmarks.many --rankings 1e5 1e6 --peers --readme`: lists of 10^7 and 10^8 rows are made in a folder of
--data, every tool runs on each in a process of its own, and the section of benchmarks/README.md is written. What was
measured is kept beside the lists: the least of all runs is shown, and tools can be measured one by one (`--only`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import description, measured_apart
from benchmarks.many_peers import PEERS
from benchmarks.readme import markdown, write_section

_ITEMS = 100
_FILE_ROWS = 10_000_000
_ORDERS = ("together", "shuffled")
_LIMIT = 14  # GB of addresses that ranx may take
_OURS = """
import sys
from streameval.__main__ import main
sys.argv[1:] = ["exact", {folder!r}, "--per", "query", "--score", "score", "--label", "label", "--at", "10",
                "--memory", "2"]
main()
"""
_TOOLS = {"streameval": _OURS, **PEERS}


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


def measured(tool: str, folder: Path) -> list[float] | str:
    """Wall seconds, CPU seconds and peak MB of a whole process; or why there are none."""
    scratch = folder.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    code = _TOOLS[tool].format(folder=str(folder), scratch=str(scratch), limit=_LIMIT)
    used, _ = measured_apart(code, scratch)
    shutil.rmtree(scratch)
    return f"{used} ({_LIMIT} GB)" if used == "out of memory" else used


def table(known: dict[str, list[float] | str]) -> str:
    """A row for each tool, a column for each list: seconds, of them those of the processor, and peak memory."""
    lists = list(dict.fromkeys(key.partition("|")[2] for key in known))
    lists.sort(key=lambda name: (int(name.split("|")[0]), _ORDERS.index(name.split("|")[1])))
    heads = [f"10^{len(str(int(one.split('|')[0]) * _ITEMS)) - 1}, {one.split('|')[1]}" for one in lists]
    tools = [tool for tool in _TOOLS if any(key.startswith(f"{tool}|") for key in known)]
    rows = [[tool, *(_cell(known.get(f"{tool}|{one}", "not run")) for one in lists)] for tool in tools]
    fastest = ["the fastest other, wall / CPU"]
    for one in lists:
        ours, others = (
            [found for tool in some if not isinstance(found := known.get(f"{tool}|{one}", ""), str)]
            for some in (("streameval",), PEERS)
        )
        ratios = [min(other[i] for other in others) / ours[0][i] for i in range(2)] if ours and others else []
        fastest.append(" / ".join(f"{ratio:.1f} x" for ratio in ratios))
    return markdown(["s / CPU s, MB", *heads], [*rows, fastest])


def _cell(found: list[float] | str) -> str:
    return found if isinstance(found, str) else f"{found[0]:.1f} / {found[1]:.1f}, {found[2]:,.0f}"


def main() -> None:
    """Make the lists, run the tools on each in turns, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("benchmark-data"))
    parser.add_argument("--rankings", type=float, nargs="+", default=[1e5])
    parser.add_argument("--stored", choices=_ORDERS, nargs="+", default=_ORDERS)
    parser.add_argument("--peers", action="store_true", help="run the other tools too")
    parser.add_argument("--only", choices=list(_TOOLS), nargs="+", help="run these")
    parser.add_argument("--runs", type=int, default=1, help="of each: the least is shown")
    parser.add_argument("--readme", action="store_true", help="write what was measured so far")
    options = parser.parse_args()
    place = options.data / "many.json"
    known = json.loads(place.read_text()) if place.exists() else {}
    tools = options.only or (list(_TOOLS) if options.peers else ["streameval"])
    for rankings in map(int, options.rankings):
        for order in options.stored:
            folder = options.data / f"many-{rankings}-{order}"
            # in a process of its own, whose memory would else count as that of the tools
            code = f"from pathlib import Path; from benchmarks.many import make; make(Path({str(folder)!r}), "
            subprocess.run([sys.executable, "-c", f"{code}{rankings}, {order!r})"], check=True)
            for tool in tools * options.runs:
                key, found = f"{tool}|{rankings}|{order}", measured(tool, folder)
                before = known.get(key)
                if isinstance(before, list) and isinstance(found, list):
                    known[key] = [min(pair) for pair in zip(before, found, strict=True)]
                else:
                    known[key] = found
                print(f"{key}: {_cell(found)}", flush=True)
                place.write_text(json.dumps(known, indent=1))
    text = f"{table(known)}\n\n{description()}, load {os.getloadavg()[0]:.0f} at the end."
    print(text)
    if options.readme:
        write_section("many", text)


if __name__ == "__main__":
    main()
