"""Intervals of average precision and AUC: `exact --sample-of rows` beside scikit-learn with 500 bootstrap replicates.

Run `python -m benchmarks.sample_peers --items 1e5 1e6 --readme`: each tool reads the same Parquet file of scores and
labels in a process of its own. *Ends* says how far the ends of a bootstrap's percentile intervals lie from ours, in
parts of our interval: the ends of 500 replicates have a standard error of about .03 of it by themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import description, measured_apart
from benchmarks.readme import markdown, write_section

_REPLICATES = 500
_HEAD = ["items", "tool", "s", "CPU s", "peak, MB", "AP", "AUC", "ends"]
_OURS = """
import json, streameval
found = streameval.exact({path!r}, score="score", label="label", sample_of="rows")
rows = {{row["metric"]: row for row in found.metrics.to_pylist() if row["argument"] in ("", "positives")}}
print(json.dumps([[rows[name]["low"], rows[name]["high"]] for name in ("average_precision", "roc_auc")]))
"""
_SCIKIT_LEARN = f"""
import json
import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import average_precision_score, roc_auc_score
rows = pq.read_table({{path!r}})
score, label = rows["score"].to_numpy(), rows["label"].to_numpy()
rng, found = np.random.default_rng(1), []
for _ in range({_REPLICATES}):
    drawn = rng.integers(0, label.size, label.size)
    found.append([of(label[drawn], score[drawn]) for of in (average_precision_score, roc_auc_score)])
print(json.dumps(np.quantile(found, [0.025, 0.975], axis=0).T.tolist()))
"""
TOOLS = {"streameval": _OURS, f"scikit-learn, {_REPLICATES} replicates": _SCIKIT_LEARN}


def make(path: Path, items: int) -> None:
    """Write a list: scores normal in each class, one in ten positive."""
    rng = np.random.default_rng(7)
    label = (rng.random(items) < 0.1).astype(np.int8)
    pq.write_table(pa.table({"score": rng.normal(size=items) + 1.2 * label, "label": label}), path)


def rows(items: int, folder: Path) -> list[list[str]]:
    """Run each tool on a list of some items, and give the lines of the table."""
    path, lines, ours = folder / f"{items}.parquet", list[list[str]](), np.zeros((2, 2))
    # in a process of its own, whose memory would else count as that of the tools
    measured_apart(
        f"from pathlib import Path; from benchmarks.sample_peers import make; make(Path({str(path)!r}), {items})",
        folder,
    )
    for tool, code in TOOLS.items():
        used, text = measured_apart(code.format(path=str(path)), folder)
        if isinstance(used, str):
            lines.append([f"{items:,}", tool, used, "", "", "", "", ""])
            continue
        ends = np.array(json.loads(text))
        ours = ends if tool == "streameval" else ours
        apart = float(np.max(np.abs(ends - ours) / np.diff(ours, axis=1)))
        intervals = [f"{low:.5f} to {high:.5f}" for low, high in ends.tolist()]
        figures = [f"{used[0]:.1f}", f"{used[1]:.1f}", f"{used[2]:,.0f}"]
        lines.append([f"{items:,}", tool, *figures, *intervals, f"{apart:.3f}" if apart else ""])
        print(" | ".join(lines[-1]), flush=True)
    return lines


def main() -> None:
    """Print the table, and write it to benchmarks/README.md where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = [line for items in options.items for line in rows(int(items), Path(folder))]
    if options.readme:
        load = f"load {os.getloadavg()[0]:.0f} while it was measured"
        write_section("sample_peers", f"{markdown(_HEAD, lines)}\n\n{description()}, {load}.")


if __name__ == "__main__":
    main()
