"""Run one runner in this process, cold then warm, and print what it took as JSON."""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Context
from benchmarks.machine import counters, drop_cache, peak_bytes

_WARM_SECONDS = 5.0
_WARM_RUNS = 5


def measure(case: Case, runner: str, context: Context) -> dict[str, Any]:
    """Time a runner: once with files dropped from the page cache, then a few times with them in it."""
    run = case.runners[runner](context)
    files = [path for dataset in case.datasets(context) for path in dataset.files]
    files += context.scratch.rglob("*.parquet")
    drop_cache(files)
    before, begin = counters(), time.perf_counter()
    result = run()
    cold = time.perf_counter() - begin
    after, peak = counters(), peak_bytes()
    found = {
        "cold": cold,
        "disk_bytes": after["read_bytes"] - before["read_bytes"],
        "call_bytes": after["rchar"] - before["rchar"],
        **case.check(context, result),
    }
    warm: list[float] = []
    while not case.once and len(warm) < _WARM_RUNS and sum(warm) < _WARM_SECONDS:
        del result
        begin = time.perf_counter()
        result = run()
        warm.append(time.perf_counter() - begin)
    return found | {"warm": statistics.median(warm) if warm else None, "peak": max(peak, peak_bytes() if warm else 0)}


if __name__ == "__main__":
    module, name, given = sys.argv[1:]
    facts = json.loads(given)
    context = Context(Path(facts["root"]), facts["n_items"], facts["seed"], facts["threads"])
    found = measure(importlib.import_module(f"benchmarks.{module}").CASE, name, context)
    print("\n" + json.dumps(found))
