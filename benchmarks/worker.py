"""Run one runner in this process, cold then warm, and print what it took as JSON."""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Context
from benchmarks.machine import counters, cpu_seconds, drop_cache, peak_bytes

# runs repeat until one of these is reached; medians are reported
_MOST_SECONDS = 5.0
_MOST_RUNS = 5


def measure(case: Case, runner: str, context: Context) -> dict[str, Any]:
    """Time a runner: with its files dropped from the page cache before each run, then with them in it."""
    run = case.runners[runner](context)
    files = [path for dataset in case.datasets(context) for path in dataset.files]
    files += context.scratch.rglob("*.parquet")
    most = 1 if case.once else _MOST_RUNS
    before, begin = counters(), cpu_seconds()
    cold, result = _repeat(run, most, lambda: drop_cache(files))
    after, peak = counters(), peak_bytes()
    found = {
        "cold": statistics.median(cold),
        "cpu": (cpu_seconds() - begin) / len(cold),
        "disk_bytes": (after["read_bytes"] - before["read_bytes"]) // len(cold),
        "call_bytes": (after["rchar"] - before["rchar"]) // len(cold),
        "peak": peak,
        **case.check(context, result),
    }
    del result
    warm = [] if case.once else _repeat(run, most, lambda: None)[0]
    return found | {"warm": statistics.median(warm) if warm else None}


def first(case: Case, runner: str, context: Context) -> dict[str, Any]:
    """CPU seconds of preparing a runner and running it once, imports of the libraries that it needs included."""
    case.runners[runner](context)()
    return {"first": time.process_time()}


def _repeat(run: Callable[[], Any], most: int, ready: Callable[[], None]) -> tuple[list[float], Any]:
    times: list[float] = []
    result = None
    while len(times) < most and sum(times) < _MOST_SECONDS:
        result = None
        ready()
        begin = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - begin)
    return times, result


if __name__ == "__main__":
    module, name, given, *how = sys.argv[1:]
    facts = json.loads(given)
    context = Context(Path(facts["root"]), facts["n_items"], facts["seed"], facts["threads"])
    case: Case = importlib.import_module(f"benchmarks.{module}").CASE
    found = first(case, name, context) if how == ["first"] else measure(case, name, context)
    print("\n" + json.dumps(found))
