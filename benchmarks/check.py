"""`scripts/bench --check`: is a step more than twice as slow, beside a peer, as was published?

Steps over 10^7 rows and their peers take turns, in CPU seconds of user and system, the least of several rounds: what
else runs on the machine falls on both. `ratios.json` holds the published ratios and names their commit; `--check
--publish` writes it.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import many
from benchmarks.case import Context, cases
from benchmarks.machine import description
from benchmarks.readme import markdown

RATIOS = Path(__file__).with_name("ratios.json")
_MOST = 2.0  # times the published ratio
_ROUNDS, _N_FILES = 5, 1_000
# step: its case, our runner, those who together do what it is held against
_STEPS = {
    "windows": ("windows", "streameval, pages", ["Polars, row groups"]),
    "windows by score": ("windows_by_score", "streameval, counting scans",
                         ["read the score column once", "read the id column once"]),
    "exact, labels": ("exact_stored", "streameval exact, stored order is the ranking", ["decode label, Polars"]),
    "exact, labels and scores": ("exact_stored", "streameval exact, ties by score",
                                 ["decode score and label, Polars"]),
    "exact by score": ("exact_scored", "streameval exact, a counter per score", ["decode score and label"]),
    "label join": ("label_join", "streameval (checks every rank, hashes the file)", ["DuckDB, semi-join"]),
}  # fmt: skip


def measured(place: Path, n_items: int) -> dict[str, tuple[float, float]]:
    """CPU seconds of each step, and of its peers."""
    context = Context(place, n_items, 7, 2)
    seconds = {}
    for name, (case_name, ours, peers) in _STEPS.items():
        case = cases()[case_name]
        for dataset in case.datasets(context):
            dataset.make()
        runs = [case.runners[runner](context) for runner in (ours, *peers)]
        least = _least(*(_cpu_seconds(run) for run in runs))
        seconds[name] = least[0], sum(least[1:])
    seconds["opening 1,000 files"] = _opening(place / "many files", n_items)
    folder = place / "rankings"
    many.make(folder, n_items // 100, "together")
    tools = ("streameval", "Polars, ranks of positives")
    seconds["many rankings"] = tuple(_least(*(lambda tool=tool: _of_process(tool, folder) for tool in tools)))
    return seconds


def _least(*measures: Callable[[], float]) -> list[float]:
    """The least of each, after a round that is not counted."""
    return [
        min(times) for times in zip(*[[measure() for measure in measures] for _ in range(_ROUNDS + 1)][1:], strict=True)
    ]


def _cpu_seconds(run: Callable[[], Any]) -> Callable[[], float]:
    def measure() -> float:
        began = time.process_time()
        run()
        return time.process_time() - began

    return measure


def _of_process(tool: str, folder: Path) -> float:
    figures = many.measured(tool, folder)
    if isinstance(figures, str):
        raise SystemExit(f"{tool}: {figures}")
    return figures[1]


def _opening(folder: Path, n_items: int) -> tuple[float, float]:
    """Opening a list of many files, beside pyarrow's reading of the same footers."""
    from streameval import open_ranking

    folder.mkdir()
    rows = n_items // _N_FILES
    for i in range(_N_FILES):
        table = pa.table({"id": pa.array(range(i * rows, (i + 1) * rows)), "score": [0.5] * rows, "label": [1] * rows})
        pq.write_table(table, folder / f"part-{i:04d}.parquet", row_group_size=max(1, rows // 20))
    files = sorted(folder.iterdir())
    runs = (lambda: open_ranking(str(folder)), lambda: [pq.read_metadata(path) for path in files])
    ours, theirs = _least(*map(_cpu_seconds, runs))
    return ours, theirs


def judged(seconds: dict[str, tuple[float, float]], published: dict[str, float]) -> tuple[str, list[str]]:
    """A table of all steps, and those that are too slow, or of which nothing was published."""
    rows, slow = [], []
    for name, (ours, theirs) in seconds.items():
        ratio, before = ours / theirs, published.get(name)
        good = before is not None and ratio <= _MOST * before
        slow += [] if good else [name]
        cells = [f"{ours:.3f}", f"{theirs:.3f}", f"{ratio:.2f}", "–" if before is None else f"{before:.2f}"]
        rows.append([name, *cells, "" if good else "too slow"])
    return markdown(["", "CPU s", "peer", "ratio", "published", ""], rows), slow


def check(n_items: int, publish: bool) -> int:
    """Measure, print, and say by the exit status whether all is well; nothing stays on the disk."""
    from streameval.verbs.compile import compile

    if not (publish or RATIOS.exists()):
        raise SystemExit(f"{RATIOS.name} is missing: nothing was published to hold this against. Hint: add --publish")
    compile()
    with tempfile.TemporaryDirectory() as place:
        seconds = measured(Path(place), n_items)
    if publish:
        ratios = {name: round(ours / theirs, 3) for name, (ours, theirs) in seconds.items()}
        published = {"measured": f"{n_items:,} rows; {description()}", "ratios": ratios}
        RATIOS.write_text(json.dumps(published, indent=1) + "\n", encoding="utf-8")
    published = json.loads(RATIOS.read_text(encoding="utf-8"))
    text, slow = judged(seconds, published["ratios"])
    print(f"{text}\n\nPublished: {published['measured']}.")
    for name in slow:
        print(f"{name}: more than {_MOST:g} times what was published, or nothing was")
    return 1 if slow else 0
