"""Lists read on Spark: what the local engine finds, bit for bit, and what both take beside Spark's own way.

Ranks of a plan are held against a sort of the scores, exact evaluation against a sort and a running sum in a window.

Not a case of `python -m benchmarks`, for it needs the extra `[spark]`, Java, and a minute to start:
`python -m benchmarks.spark --items 1e7 --on classic --data /big/disk`. The list lies in hive partitions, in no order; a
thousand items share a score, and one in a hundred has none.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import description
from benchmarks.windows import planned
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Fetched
from streameval.rows.options import RankingOptions
from streameval.scans.checkpoints import Scans
from streameval.scans.jobs import Engine
from streameval.scans.spark import Spark
from streameval.verbs.exact import exact

_DAYS, _FILES_A_DAY, _RUNS = 5, 4, 3
_OPTIONS = {
    "ties by position": {},
    "ties by --key id": {"key": ("id",)},
    "as tight as memory may be": {"key": ("id",), "memory": 0.05},
}


def make(folder: Path, n_items: int) -> None:
    """Write the list: float64 scores that many items share, null and NaN among them."""
    rng = np.random.default_rng(7)
    ids = rng.permutation(n_items)
    distinct = max(1, n_items // 1000)
    for i, rows in enumerate(np.array_split(np.arange(n_items), _DAYS * _FILES_A_DAY)):
        day = folder / f"day=2026-11-{i // _FILES_A_DAY + 1:02}"
        day.mkdir(parents=True, exist_ok=True)
        score = np.floor(rng.beta(8, 1, rows.size) * distinct) / distinct
        score[rng.random(rows.size) < 0.005] = np.nan
        column = pa.array(score, mask=rng.random(rows.size) < 0.005)
        table = pa.table({"id": ids[rows], "score": column})
        pq.write_table(table, day / f"part-{i:02}.parquet", row_group_size=1 << 18, write_page_index=True)


def session(on: str, threads: int) -> Any:
    """A session of real Spark, of its Connect server, of Sail, or of a server that is there."""
    import os
    import sys

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    from pyspark.sql import SparkSession

    quiet = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}
    builder = SparkSession.builder
    if on == "classic":
        return builder.master(f"local[{threads}]").config(map=quiet).getOrCreate()
    if on == "connect":
        return builder.remote(f"local[{threads}]").config(map=quiet).getOrCreate()
    if on == "sail":
        from pysail.spark import SparkConnectServer

        session.server = SparkConnectServer("127.0.0.1", 0)  # type: ignore[attr-defined]
        session.server.start(background=True)  # type: ignore[attr-defined]
        return builder.remote("sc://{}:{}".format(*session.server.listening_address)).getOrCreate()  # type: ignore[attr-defined]
    return builder.remote(on).getOrCreate()


def timed(call: Callable[[], Any]) -> tuple[list[float], Any]:
    """Seconds of the first run, which starts workers, and of some more; the last result."""
    seconds = []
    for _ in range(1 + _RUNS):
        begin = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begin)
    return seconds, result


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--items", type=float, default=1e7)
    options.add_argument("--on", default="classic", help="classic, connect, sail or sc://HOST:PORT")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--data", type=Path, default=Path("bench-data"))
    options.add_argument("--of", choices=("ranks", "exact", "both"), default="both", help="what to measure")
    options.add_argument("--clean", action="store_true", help="remove the list afterwards")
    given = options.parse_args()
    n_items = int(given.items)
    begin = time.perf_counter()
    spark = session(given.on, given.threads)
    print(f"{description()}. {given.on} {spark.version}: a session in {time.perf_counter() - begin:.1f} s")
    print(f"{n_items:,} items, {len(planned(n_items)):,} wanted\n\n| | first | then | ratio |\n|---|---|---|---|")
    for name, write, measure in (("ranks", make, compare), ("exact", make_labelled, evaluate)):
        if given.of not in (name, "both"):
            continue
        folder = given.data.resolve() / f"spark-{name}-{n_items}"
        if not folder.exists():
            write(folder, n_items)
        measure(folder, n_items, Spark(session=spark), given.threads)
        if given.clean:
            shutil.rmtree(folder)


def compare(folder: Path, n_items: int, engine: Engine, threads: int) -> None:
    """Fetch by both engines and hold one against the other; then let Spark sort."""
    ranks = planned(n_items)
    for name, options in _OPTIONS.items():
        opened = open_ranking(str(folder), RankingOptions(score="score", nan="last", threads=threads, **options))
        here, local = timed(lambda: opened.fetch(ranks, ["id", "day"]))  # noqa: B023
        there, remote = timed(lambda: opened.fetch(ranks, ["id", "day"], scans=Scans(engine=engine)))  # noqa: B023
        same(local, remote)
        told(f"local, {name} ({local.scans} scans)", here, here)
        told(f"Spark, {name} ({remote.scans} scans)", there, here)
    frame = engine.session.read.parquet(str(folder)).select("score", "id").orderBy("score", ascending=False)
    sort, table = timed(frame.toArrow)  # a sort whose order nobody sees is left out by Sail
    scores = table.column("score").drop_null().to_numpy()
    assert np.all(np.diff(scores[~np.isnan(scores)]) <= 0)
    told("Spark, sort by score, brought home", sort, here)


def make_labelled(folder: Path, n_items: int) -> None:
    """Write a list with a label for every item, in no order: 32-bit, 64-bit and tied scores, and their stored order."""
    rng = np.random.default_rng(8)
    folder.mkdir(parents=True)
    for i, rows in enumerate(np.array_split(np.arange(n_items), _DAYS * _FILES_A_DAY)):
        score = rng.beta(8, 1, rows.size)
        columns = {"label": (rng.random(rows.size) < score).astype(np.int8), "wide": score}
        columns |= {"narrow": score.astype(np.float32), "tied": np.floor(score * 1e5) / 1e5}
        pq.write_table(pa.table(columns), folder / f"part-{i:02}.parquet", row_group_size=1 << 18)


def evaluate(folder: Path, n_items: int, engine: Spark, threads: int) -> None:
    """Evaluate by both engines; then let Spark group, sort and add up for average precision alone."""
    for score in (None, "narrow", "wide", "tied"):
        options = RankingOptions(score=score, threads=threads)
        here, local = timed(lambda: exact(str(folder), label="label", options=options))  # noqa: B023
        there, remote = timed(lambda: exact(str(folder), label="label", options=options, engine=engine))  # noqa: B023
        assert remote.metrics.equals(local.metrics)
        assert remote.summary == local.summary
        name = f"exact, {score or 'stored order'} ({local.summary['how']})"
        told(f"local, {name}", here, here)
        told(f"Spark, {name}", there, here)
        if score is not None:
            table = engine.session.read.parquet(str(folder)).withColumnRenamed(score, "s")
            table.createOrReplaceTempView("labelled")
            window, result = timed(engine.session.sql(_WINDOW).toArrow)
            found = [one for one in local.metrics.to_pylist() if one["metric"] == "average_precision"]
            own = next(one for one in found if one["argument"] == "positives")
            assert own["lower"] - 1e-9 < result.column(0)[0].as_py() < own["upper"] + 1e-9
            told(f"Spark, window over {score}: average precision alone", window, here)


_WINDOW = """
    SELECT sum(positives * found / last) / sum(positives) FROM (
        SELECT positives, sum(positives) OVER earlier AS found, sum(size) OVER earlier AS last
        FROM (SELECT s, sum(CAST(label AS BIGINT)) AS positives, count(*) AS size FROM labelled GROUP BY s)
        WINDOW earlier AS (ORDER BY s DESC ROWS UNBOUNDED PRECEDING))
"""


def same(local: Fetched, remote: Fetched) -> None:
    assert remote.table.equals(local.table)
    for name in ("tied_ranks", "equal_keys", "missing_scores"):
        assert getattr(remote, name) == getattr(local, name)


def told(name: str, seconds: list[float], ours: list[float]) -> None:
    then = statistics.median(seconds[1:])
    print(f"| {name} | {seconds[0]:.2f} s | {then:.2f} s | {then / statistics.median(ours[1:]):.1f} |", flush=True)


if __name__ == "__main__":
    main()
