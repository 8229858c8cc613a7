"""Lists fetched by Spark and by the local engine, in a process of their own: prints what came of each case as JSON.

`python spark_cases.py classic|connect|sail FOLDER CASE...`.
"""

import contextlib
import io
import json
import os
import signal
import sys
import warnings
from decimal import Decimal
from pathlib import Path
from threading import enumerate as enumerate_threads

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from spark_cluster import Slow

import streameval
from streameval.cli import run
from streameval.counting import scans
from streameval.engines import create
from streameval.errors import OutsideError, StreamevalError
from streameval.order.by_score import ByScore
from streameval.order.locate import least_memory
from streameval.per_query import scattered
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.scans import workers
from streameval.scans.checkpoints import Scans
from streameval.scans.spark import open_session

N, FILES, GROUP = 24_000, 8, 500
QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a JVM of short jobs compiles longer than it runs
RANKS = np.arange(1, N + 1, 97)
rng = np.random.default_rng(3)

SCORES = {
    "ties": rng.integers(0, 700, N) / 1000,
    "half tied": np.where(rng.random(N) < 0.5, 0.25, rng.random(N)),
    "decimal": [Decimal(int(one)).scaleb(-3) for one in rng.integers(-9_000, 9_000, N)],
    "missing": np.where(rng.random(N) < 0.1, np.nan, rng.integers(0, 700, N) / 1000),
}
# scores of fully labelled lists, and how they are read
LABELLED = {
    "sorted": (np.sort(rng.integers(0, 5_000, N) / 8)[::-1], "one pass, as it is stored in score order"),
    "whole numbers": (rng.integers(0, 5_000, N), "a counter for every score"),
    "64 bits": (rng.random(N), "ordered in memory"),
    "label missing": (rng.integers(0, 700, N), None),
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
SAMPLES = ("sorted", "64 bits")  # read with intervals, which need the bins of rows
FEW = ("ties by key", "exact, 64 bits", "interrupted")  # what every kind of task needs


def session(engine):
    """Settings of the engine; a server lives as long as this process."""
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", SPARK_SUBMIT_OPTS=QUICK_TO_START)
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
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
    open_session(remote).range(1).toArrow()  # whether it speaks to this client at all
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
    workers._LEAST_ROWS = N // 5  # several shares
    ByScore.budget = budget
    ranking = open_ranking(str(folder), RankingOptions(score="s", **options))
    there = ranking.fetch(RANKS, ["id", "day"], scans=Scans(engine=engine))
    here = ranking.fetch(RANKS, ["id", "day"])
    facts = [(one.tied_ranks, one.equal_keys, one.missing_scores) for one in (there, here)]
    return {"same": there.table.equals(here.table) and facts[0] == facts[1], "scans": there.scans}


def engine_of(settings):
    """The engine, as the command line is told of it."""
    return f"spark:{settings['remote']}" if settings["remote"] else "spark"


def study(root, settings):
    """The journey of the command line: half of it scanned by Spark, the selection by Spark as well."""
    folder, selections = root / "of study", []
    write(folder, SCORES["ties"])
    for name in ("here", "there"):
        kept = root / name
        streameval.plan(str(folder), kept, method="loguniform", budget=400, options=RankingOptions(score="s"), seed=0)
        flags = [] if name == "here" else ["--engine", engine_of(settings)]
        codes = [run([verb, str(kept), "--json", *flags]) for verb in ("scan", "select")]
        assert codes == [0, 0], codes
        selections.append(pq.read_table(kept / "selection.parquet"))
    return {"same": selections[0].equals(selections[1])}


def exact(name, folder, settings):
    """What the command line says by both engines: every metric, and a hash of the whole curve."""
    scores, _ = LABELLED[name]
    labels = pa.array(rng.random(N) < 0.3, mask=np.arange(N) == 20_000 if "missing" in name else None)
    for i, rows in enumerate(np.array_split(np.arange(N), FILES)):
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.table({"label": labels.take(pa.array(rows)), "s": scores[rows]})
        pq.write_table(table, folder / f"p{i}.parquet", row_group_size=GROUP)
    command = ["exact", str(folder), "--label", "label", "--score", "s", "--json"]
    command += ["--threads", "2", *(["--sample-of", "rows"] if name in SAMPLES else ["--misses", "3"])]
    found = []
    for flags in ([], ["--engine", engine_of(settings)]):
        with contextlib.redirect_stderr(io.StringIO()) as error, contextlib.redirect_stdout(io.StringIO()) as said:
            code = run([*command, *flags])
        found.append([code, said.getvalue(), error.getvalue()])
    return found


def many(folder, settings):
    """What the command line says of many rankings by both engines, but for how they were read."""
    command = ["exact", str(folder), "--per", "query", "--label", "label", "--score", "s", "--at", "1,10", "--json"]
    for i, rows in enumerate(np.array_split(np.arange(N), FILES)):
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.table({"query": rng.integers(0, 700, rows.size), "label": rng.integers(0, 3, rows.size),
                          "s": rng.integers(0, 99, rows.size) / 8})  # fmt: skip
        pq.write_table(table, folder / f"p{i}.parquet", row_group_size=GROUP)
    scattered._WORKER_ROWS = N // 5  # several parts
    found = []
    for flags in ([], ["--engine", engine_of(settings)]):
        out = folder.parent / f"many-{len(found)}"
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert run([*command, *flags, "--out", str(out)]) == 0
        summary = json.loads(said.getvalue())
        rows = pq.read_table(out / "rankings.parquet").replace_schema_metadata(None).sort_by("query")
        found.append((summary["how"], summary["metrics"], rows))
    return {"same": found[0][1:] == found[1][1:], "how": [one[0] for one in found]}


def interrupted(settings):
    """What comes of a job that is interrupted, and whether it is still being waited for."""
    over = OutsideError("the time is over")

    def stop(number, frame):
        raise over

    signal.signal(signal.SIGALRM, stop)
    request = workers.JobRequest(workers.serialize(Slow(os.getpid()), [0]), 1, ("at",), "binary")
    try:
        create("spark", settings).run_job(request)
    except OutsideError as error:
        return {"same": error is over, "waiting": [one.name for one in enumerate_threads() if one.name == "streameval"]}


def tight(order, n_wanted):
    return float(least_memory(n_wanted))


def main(name, root, asked):
    settings = session(name)
    engine = create("spark", settings)
    found, plenty = {}, ByScore.budget
    for case, (scores, options) in CASES.items():
        if case not in asked:
            continue
        write(root / case, SCORES[scores])
        if case == "damaged":
            damage(root / case)
        try:
            found[case] = compare(root / case, options, engine, tight if "split" in case else plenty)
        except StreamevalError as error:
            found[case] = {"error": type(error).__name__, "text": str(error)}
    scans.BLOCK = 1 << 12  # many blocks
    for case in LABELLED:
        if f"exact, {case}" in asked:
            found[f"exact, {case}"] = exact(case, root / f"exact, {case}", settings)
    if "many" in asked:
        found["many"] = many(root / "runs", settings)
    if "interrupted" in asked:
        found["interrupted"] = interrupted(settings)
    if "study" in asked:
        found["study"] = study(root, settings)
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
