"""Make the data, run the cases, print their tables; all is compiled before, and what that costs is a column."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Context, cases
from benchmarks.check import check
from benchmarks.data import Dataset
from benchmarks.machine import description, disk_speed
from benchmarks.readme import write_section
from benchmarks.tables import table
from streameval.verbs.compile import compile

_ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    context = Context(options.data.resolve(), int(options.items), options.seed, options.threads)
    if options.clean:
        shutil.rmtree(context.root, ignore_errors=True)
        print(f"{context.root} removed")
        return
    if options.check:
        raise SystemExit(check(context.n_items, options.publish))
    compile()
    known = cases()
    chosen = options.cases.split(",") if options.cases else list(known)
    if unknown := [name for name in chosen if name not in known]:
        raise SystemExit(f"there is no case {unknown[0]}; there are: {', '.join(known)}")
    print(description())
    for name in chosen:
        text, rows = run_case(name, known[name], context, options.timeout)
        print(f"\n{text}", flush=True)
        if options.json:
            with options.json.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"case": name, "items": context.n_items, "rows": rows}) + "\n")
        if options.readme:
            write_section(name, f"{text}\n\n{description()}.")


def run_case(name: str, case: Case, context: Context, timeout: float) -> tuple[str, dict[str, Any]]:
    """Run every runner of a case in a process of its own; the table, and what it was made of."""
    datasets = case.datasets(context)
    for dataset in datasets:
        _make(dataset)
    files = [path for dataset in datasets for path in dataset.files]
    speed = disk_speed(files, context.threads) if files else 1.0
    rows = {runner: _run(name, runner, context, timeout) for runner in case.runners}
    for runner, row in rows.items():
        if runner.startswith("streameval") and "failed" not in row and not case.once:
            row["first"] = _first(name, runner, context, timeout)
    text = table(case, context, rows, speed)
    if rows and not any(row.get("disk_bytes") for row in rows.values()) and files:
        text += "\n\nThe page cache could not be dropped here: cold is warm."
    return text + (f"\n\nDisk: {speed / 1e6:,.0f} MB/s read in sequence." if files else ""), rows


def _make(dataset: Dataset) -> None:
    if not dataset.complete:
        free = shutil.disk_usage(_existing(dataset.root)).free
        print(f"making {dataset.folder}: about {dataset.disk_bytes / 1e9:.1f} GB on disk, {free / 1e9:.0f} GB free")
        if dataset.disk_bytes > free:
            raise SystemExit(f"{dataset.root}: too little room; choose another folder with --data")
        dataset.make()


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _first(name: str, runner: str, context: Context, timeout: float) -> float | None:
    """CPU seconds of a process that does it once, and has to compile what it needs."""
    with tempfile.TemporaryDirectory() as cache:
        return _run(name, runner, context, timeout, {"NUMBA_CACHE_DIR": cache}, "first").get("first")


def _run(
    name: str, runner: str, context: Context, timeout: float, more: dict[str, str] | None = None, *how: str
) -> dict[str, Any]:
    given = json.dumps({**asdict(context), "root": str(context.root)})
    command = [sys.executable, "-m", "benchmarks.worker", name, runner, given, *how]
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": timeout, "cwd": _ROOT}
    try:
        done = subprocess.run(command, env={**os.environ, **(more or {})}, check=False, **settings)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done in {timeout:g} s"}
    if done.returncode:
        return {"failed": f"failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:120]}"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--items", type=float, default=1e7, help="items of the ranked list (default 1e7)")
    parser.add_argument("--cases", help="names, separated by commas (default: all)")
    parser.add_argument("--data", type=Path, default=_ROOT / "bench-data", help="folder of the data (kept)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds that a runner may take")
    parser.add_argument("--json", type=Path, help="append the figures to this file, one line per case")
    parser.add_argument("--readme", action="store_true", help="write the tables into benchmarks/README.md")
    parser.add_argument("--check", action="store_true", help="fail where a step is twice as slow as was published")
    parser.add_argument("--publish", action="store_true", help="with --check: these ratios are those to be held")
    parser.add_argument("--clean", action="store_true", help="remove the data and stop")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
