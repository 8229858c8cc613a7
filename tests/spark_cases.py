"""Lists fetched by Spark and by the local engine, in a process of their own: prints what came of each case as JSON.

`python spark_cases.py classic|connect|sail FOLDER`.
"""

import json
import os
import sys
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streameval
from streameval.cli import run
from streameval.errors import StreamevalError
from streameval.rankings import RankingOptions, open_ranking
from streameval.rankings.engines import create
from streameval.rankings.ordering import shipping
from streameval.rankings.ordering.locate import least_memory
from streameval.rankings.scored import ScoredRanking

N, FILES, GROUP = 24_000, 8, 500
RANKS = np.arange(1, N + 1, 97)
rng = np.random.default_rng(3)

SCORES = {
    "ties": rng.integers(0, 700, N) / 1000,
    "half tied": np.where(rng.random(N) < 0.5, 0.25, rng.random(N)),
    "decimal": [Decimal(int(one)).scaleb(-3) for one in rng.integers(-9_000, 9_000, N)],
    "missing": np.where(rng.random(N) < 0.1, np.nan, rng.integers(0, 700, N) / 1000),
}
CASES = {
    "ties": ("ties", {}),
    "ties by key": ("ties", {"key": ("id",)}),
    "half tied by key, bins split": ("half tied", {"key": ("id",)}),
    "decimal": ("decimal", {}),
    "NaN last": ("missing", {"nan": "last"}),
    "NaN refused": ("missing", {}),
    "damaged": ("ties", {}),
}


def session(engine):
    """Settings of the engine; a server lives as long as this process."""
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYTHONPATH=os.pathsep.join(sys.path))
    if engine == "connect":
        return {"remote": "local[2]"}
    if engine == "classic":  # the session that is there: few partitions of a shuffle, to keep the suite quick
        os.environ["PYSPARK_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession

        few = {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false", "spark.log.level": "OFF"}
        SparkSession.builder.master("local[2]").config(map=few).getOrCreate()
        return {"remote": None}
    from pysail.spark import SparkConnectServer

    session.server = SparkConnectServer("127.0.0.1", 0)
    session.server.start(background=True)
    remote = "sc://{}:{}".format(*session.server.listening_address)
    create("spark", {"remote": remote})._open().range(1).toArrow()  # whether it speaks to this client at all
    return {"remote": remote}


def write(folder, scores):
    """Hive partitions by day, files of several row groups."""
    ids = rng.permutation(N)
    for i, rows in enumerate(np.array_split(np.arange(N), FILES)):
        day = folder / f"day=2026-11-{i // 2 + 1:02}"
        day.mkdir(parents=True, exist_ok=True)
        columns = {"id": ids[rows], "text": [f"item {one % 97}" for one in ids[rows]]}
        columns["s"] = [scores[row] for row in rows] if isinstance(scores, list) else scores[rows]
        pq.write_table(pa.table(columns), day / f"p{i}.parquet", row_group_size=GROUP)


def damage(folder):
    """Overwrite the scores of a row group that the sample leaves out."""
    path = sorted(folder.rglob("*.parquet"))[2]
    column = pq.ParquetFile(path).metadata.row_group(1).column(2)
    data = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)


def compare(folder, options, engine, budget):
    """Ranks and facts of both engines, with so many bytes for bins and candidates."""
    shipping._LEAST_ROWS = N // 5  # several shares
    ScoredRanking.budget = budget
    ranking = open_ranking(str(folder), RankingOptions(score="s", **options))
    there = ranking.scanned_by(engine).fetch(RANKS, ["id", "day"])
    here = ranking.fetch(RANKS, ["id", "day"])
    facts = [(one.tied_ranks, one.equal_keys, one.missing_scores) for one in (there, here)]
    return {"same": there.table.equals(here.table) and facts[0] == facts[1], "scans": there.scans}


def study(folder, root, settings):
    """The journey of the command line: half of it scanned by Spark, the selection by Spark as well."""
    selections = []
    for name in ("here", "there"):
        kept = root / name
        streameval.plan(str(folder), kept, method="loguniform", budget=400, options=RankingOptions(score="s"))
        flags = [] if name == "here" else ["--engine", "spark"]
        flags += ["--spark-remote", settings["remote"]] if flags and settings["remote"] else []
        codes = [run([verb, str(kept), "--json", *flags]) for verb in ("scan", "select")]
        assert codes == [0, 0], codes
        selections.append(pq.read_table(kept / "selection.parquet"))
    return {"same": selections[0].equals(selections[1])}


def tight(ranking, n_wanted):
    return float(least_memory(n_wanted))


def main(name, root):
    settings = session(name)
    engine = create("spark", settings)
    found, plenty = {}, ScoredRanking.budget
    for case, (scores, options) in CASES.items():
        folder = root / case
        write(folder, SCORES[scores])
        if case == "damaged":
            damage(folder)
        try:
            found[case] = compare(folder, options, engine, tight if "split" in case else plenty)
        except StreamevalError as error:
            found[case] = {"error": type(error).__name__, "text": str(error)}
    found["study"] = study(root / "ties", root, settings)
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], Path(sys.argv[2]))
