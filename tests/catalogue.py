"""Studies of every kind and method, in every state, made once a run; tests read them, or take a copy of their own.

A row is made when it is first asked for, from the row before it and one step more, with a fixed seed. Most tests ask a
study something: they take it from here. Tests of plan, select, evaluate, grow, adopt and exact make theirs.
"""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from small_studies import SHARES, make_night, night_folder, night_list

import streameval

N = 3_000  # items of each list
COUNTRIES = ["de", "fr", "at"]


def _lists(folder):
    """Write the lists that studies are of.

    `list.parquet` is by score, `stored` best first; `both`, `runs` and `rest`; `list-0` and so on are of nights.
    """
    rng = np.random.default_rng(8)
    worth = rng.normal(size=N)
    right = (rng.random(N) < 1 / (1 + np.exp(-1 - 2 * worth))).astype(np.int8)
    said = np.where(rng.random(N) < 0.9, right, 1 - right).astype(float)
    items = {"id": rng.permutation(10 * N)[:N], "text": [f"item {one}" for one in range(N)],
             "country": rng.choice(COUNTRIES, N, p=[0.6, 0.3, 0.1]), "llm": said, "right": right}  # fmt: skip
    table = pa.table({**items, "score": worth})
    pq.write_table(table, folder / "list.parquet", row_group_size=1_500)
    pq.write_table(table.sort_by([("score", "descending")]), folder / "stored.parquet", row_group_size=1_500)
    old, new = worth + rng.normal(size=N), worth + 0.3 * rng.normal(size=N)
    pq.write_table(pa.table({**items, "old": old, "new": new}), folder / "both.parquet", row_group_size=1_500)
    query = np.repeat(np.arange(60), 20)
    found = (rng.random(query.size) < 0.3).astype(np.int8)
    score = np.round(rng.random(query.size) + found, 2)
    runs = {"query": query, "doc": np.arange(query.size), "score": score, "label": found, "llm": 0.8 * found + 0.1}
    pq.write_table(pa.table(runs), folder / "runs.parquet")
    rest = (rng.random(N) < 0.02).astype(np.int8)
    pq.write_table(pa.table({"id": np.arange(N), "right": rest}), folder / "rest.parquet")
    for day in range(len(SHARES)):
        pq.write_table(night_list(day)[0], folder / f"list-{day}.parquet")


class Row(NamedTuple):
    """One study: the row that it starts from, and the step from there, called with its folder and that of the lists."""

    start: str | None
    step: Callable[[Path, Path], object]


def _plan(source, **options):
    return lambda folder, lists: streameval.plan(str(lists / source), folder, **{"seed": 7, **options})


def _ask(question, **options):
    return _plan("list.parquet", score="score", questions=question, **options)


def _adopt(folder, lists):
    items = pq.read_table(lists / "list.parquet")
    drawn = items.take(np.random.default_rng(7).choice(N, 300, replace=False))
    sample = drawn.select(["id"]).append_column("label", drawn.column("right"))
    how = {"on": "id", "drawn": "uniform(size=300)", "score": "score", "seed": 7}
    streameval.adopt(str(lists / "list.parquet"), folder, labels=sample, **how)


def _label(share=1.0, name="right", **options):
    """Answer the first part of the open tasks, all of them rightly."""

    def step(folder, lists):
        tasks = streameval.select(folder).table.sort_by("se_task")
        answered = tasks.slice(0, round(share * tasks.num_rows))
        labels = answered.select(["se_task"]).append_column("label", answered.column(name))
        streameval.evaluate(folder, labels=labels, **options)

    return step


def _rounds(folder, lists):
    """Answer round after round, until nothing is asked any more."""
    while streameval.select(folder).table.num_rows:
        _label()(folder, lists)


def _select(folder, lists):
    streameval.select(folder)


def _compare(folder, lists):
    both = str(lists / "both.parquet")
    pair = {
        "against": both,
        "score": "new",
        "against_score": "old",
        "key": "id",
        "questions": ["gain@100, 1000 within 3%", "gain@100, 1000 > 0"],
    }
    streameval.plan(both, folder, seed=7, **pair)


def _nights(first, last):
    """Studies of nights, each in a folder below that of the row."""

    def step(folder, lists):
        for day in range(first, last):
            make_night(folder, day, lists / f"list-{day}.parquet")

    return step


def _watch(folder, lists):
    """A watch over all nights, in `watch.parquet`."""
    made = [night_folder(folder, day) for day in range(len(SHARES))]
    streameval.monitor(made, "precision@score:0.5 >= 0.7", out=folder / "watch.parquet")


def _exact(source, **options):
    return lambda folder, lists: streameval.exact(str(lists / source), out=folder, **options)


CURVE = {"score": "score", "budget": 300}
ROWS = {
    "curve-planned": Row(None, _plan("list.parquet", **CURVE)),
    "curve-selected": Row("curve-planned", _select),
    "curve-half-labelled": Row("curve-planned", _label(0.5)),
    "curve-evaluated": Row("curve-planned", _label()),
    "curve-misses": Row("curve-planned", _label(misses=50)),
    "stored-planned": Row(None, _plan("stored.parquet", budget=300)),
    "stored-evaluated": Row("stored-planned", _label()),
    "paula-planned": Row(None, _plan("list.parquet", method="paula(epsilon=0.1, window=20)", score="score")),
    "paula-evaluated": Row("paula-planned", _label()),
    "stratified-planned": Row(None, _plan("list.parquet", method="stratified(epsilon=0.3)", alpha=0.5, score="score")),
    "stratified-evaluated": Row("stratified-planned", _label()),
    "uniform-planned": Row(None, _plan("list.parquet", method="uniform", **CURVE)),
    "uniform-evaluated": Row("uniform-planned", _label()),
    "slices-planned": Row(None, _plan("list.parquet", by="country", **CURVE)),
    "slices-evaluated": Row("slices-planned", _label()),
    "judge-planned": Row(None, _plan("list.parquet", judge="llm", **CURVE)),
    "judge-evaluated": Row("judge-planned", _label()),
    "stages-planned": Row(None, _plan("list.parquet", stages="3:later", **CURVE)),
    "stages-half-labelled": Row("stages-planned", _label(0.5)),
    "stages-evaluated": Row("stages-planned", _label()),
    "grown-planned": Row("stages-evaluated", lambda folder, lists: streameval.grow(folder, budget=120)),
    "grown-evaluated": Row("grown-planned", _label()),
    "adopted": Row(None, _adopt),
    "adopted-evaluated": Row("adopted", lambda folder, lists: streameval.evaluate(folder)),
    "night": Row(None, _nights(0, 1)),
    "three-nights": Row("night", _nights(1, 3)),
    "nights": Row("three-nights", _nights(3, 5)),
    "nights-watched": Row("nights", _watch),
    "gate-planned": Row(None, _ask("precision@500 >= 0.8")),
    "gate-decided": Row("gate-planned", _rounds),
    "gate-open": Row(None, _ask("precision@1000 >= 0.9")),
    "gate-half-labelled": Row("gate-open", _label(0.5)),
    "cut-planned": Row(None, _ask("cut precision 0.8", budget=150)),
    "cut-first-round": Row("cut-planned", _label()),
    "cut-second-round": Row("cut-first-round", _label()),
    "cut-third-round": Row("cut-second-round", _label()),
    "cut-decided": Row("cut-third-round", _rounds),
    "width-planned": Row(None, _ask("precision@500 within 0.1")),
    "width-decided": Row("width-planned", _rounds),
    "comparison-planned": Row(None, _compare),
    "comparison-half-labelled": Row("comparison-planned", _label(0.5)),
    "comparison-evaluated": Row("comparison-planned", _label()),
    "drawn-rankings-planned": Row(
        None, _plan("runs.parquet", per="query", budget=100, questions="precision@5", score="score")
    ),
    "drawn-rankings-evaluated": Row("drawn-rankings-planned", _label(name="label")),
    "labelled-list": Row(None, _exact("stored.parquet", label="right")),
    "labelled-rankings": Row(None, _exact("runs.parquet", label="label", per="query", at=[1, 5], score="score")),
}


class Catalogue:
    """The studies of a run, below one folder that its workers share."""

    def __init__(self, root):
        self.root, self.seen = Path(root), {}

    @property
    def lists(self):
        """The folder of the lists."""
        return self._made("lists", _lists)

    def path(self, name):
        """The study of a row, for tests that only read it."""
        row, lists = ROWS[name], self.lists

        def make(folder):
            if row.start is not None:
                shutil.copytree(self.path(row.start), folder, dirs_exist_ok=True)
            row.step(folder, lists)

        return self._made(name, make)

    def copy(self, name, folder):
        """A copy of a row, for a test that changes it."""
        return shutil.copytree(self.path(name), folder)

    def refuse_changes(self):
        """Fail where a test changed what all read."""
        changed = [name for name, files in self.seen.items() if _files(self.root / name) != files]
        assert not changed, f"tests changed {changed}: take a copy"

    def _made(self, name, make):
        place = self.root / name
        if not place.exists():
            unfinished = Path(tempfile.mkdtemp(dir=self.root)) / name  # some files name the folder that they are in
            unfinished.mkdir()
            from cpu_budget import METER  # a plugin, which pytest has to import first

            with METER.apart(f"catalogue::{name}"):
                make(unfinished)
            with suppress(OSError):  # another worker was first
                unfinished.rename(place)
        self.seen.setdefault(name, _files(place))
        return place


def _files(folder):
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
