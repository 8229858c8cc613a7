"""A gate on the command line, by score, in the time of each command: imports and files included.

Rounds have 50 tasks. The items of three are drawn at once, so that the second and the third need no scan of the list.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.case import Case, Context, Runner
from benchmarks.data import Dataset, labels
from benchmarks.journey import command

_SHUFFLED = 100_000_000  # items at most


def _narrow(context: Context) -> Dataset:
    return context.dataset()


def _shuffled(context: Context) -> Dataset:
    return context.dataset("shuffled", min(_SHUFFLED, context.n_items))


def _study(dataset: Dataset, context: Context) -> Path:
    return context.scratch / f"question-{dataset.kind}"


def _plan(dataset_of: Callable[[Context], Dataset], context: Context) -> Callable[[], None]:
    dataset = dataset_of(context)
    shutil.rmtree(study := _study(dataset, context), ignore_errors=True)
    question = f"precision@{max(1, dataset.n_items // 100)} >= 0.9 round 50"
    options = ["--seed", context.seed, "--threads", context.threads]
    return partial(command, "plan", dataset.folder, "--study", study, "--score", "score", "--for", question, *options)


def _select(dataset_of: Callable[[Context], Dataset], context: Context) -> Callable[[], None]:
    study = _study(dataset_of(context), context)
    number = len(list(study.glob("round*.csv"))) + 1
    return partial(command, "select", study, "--export", study / f"round{number}.csv")


def _evaluate(dataset_of: Callable[[Context], Dataset], context: Context) -> Callable[[], None]:
    dataset = dataset_of(context)
    study, path = _study(dataset, context), context.scratch / f"answers-{dataset.kind}.parquet"
    ranks = pq.read_table(study / "plan.parquet", columns=["rank"]).column("rank").to_numpy()
    pq.write_table(pa.table({"rank": ranks, "label": labels(ranks, dataset.n_items, dataset.seed)}), path)
    return partial(command, "evaluate", study, "--labels", path)


def _steps(name: str, dataset_of: Callable[[Context], Dataset]) -> dict[str, Runner]:
    steps: dict[str, Runner] = {"plan": _plan, "select": _select, "evaluate": _evaluate}
    steps |= {"select, second round, drawn ahead": _select, "evaluate both": _evaluate}
    return {f"{step}{name}": partial(runner, dataset_of) for step, runner in steps.items()}


CASE = Case(
    title="A question of {n} items by score, one command after another; shuffled: 10⁸ items at most",
    runners=_steps("", _narrow) | _steps(", shuffled", _shuffled),
    datasets=lambda context: [_narrow(context), _shuffled(context)],
    once=True,
)
