"""The whole journey on the command line, in the time of each command: imports, files and report included."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.case import Case, Context
from benchmarks.data import labels


def _study(context: Context) -> Path:
    return context.scratch / "study"


def command(*arguments: Any) -> None:
    """Run the program, as a user does."""
    subprocess.run([sys.executable, "-m", "streameval", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def _plan(context: Context) -> Callable[[], None]:
    shutil.rmtree(_study(context), ignore_errors=True)
    options = ["--seed", context.seed, "--threads", context.threads]
    return partial(command, "plan", context.dataset().folder, "--study", _study(context), *options)


def _select(context: Context) -> Callable[[], None]:
    return partial(command, "select", _study(context), "--export", _study(context) / "tasks.csv")


def _evaluate(context: Context) -> Callable[[], None]:
    path = context.scratch / "answers.parquet"
    ranks = pq.read_table(_study(context) / "plan.parquet", columns=["rank"]).column("rank").to_numpy()
    pq.write_table(pa.table({"rank": ranks, "label": labels(ranks, context.n_items, context.seed)}), path)
    return partial(command, "evaluate", _study(context), "--labels", path)


def _report(context: Context) -> Callable[[], None]:
    return partial(command, "report", _study(context))


def _check(context: Context, result: None) -> dict[str, Any]:
    """Hold the selected items, once they are there, against the generator."""
    path = _study(context) / "selection.parquet"
    if path.exists():
        table = pq.read_table(path)
        ranks = table.column("rank").to_numpy()
        truth = context.dataset().items(ranks)
        for name in truth.column_names:
            assert np.array_equal(table.column(name).to_numpy(), truth.column(name).to_numpy()), name
    return {}


CASE = Case(
    title="The journey at {n}, one command after another",
    runners={"plan": _plan, "select": _select, "evaluate": _evaluate, "report": _report},
    datasets=lambda context: [context.dataset()],
    check=_check,
    once=True,
)
