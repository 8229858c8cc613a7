"""Programs that evaluate many rankings with other libraries: six means in one order of tied items.

Each is given a folder of Parquet files (`folder`), and room on the disk (`scratch`). DuckDB and Spark run one query of
window functions; Polars sorts lists by group, or takes the ranks of the positives alone; ranx is given numba's lists of
arrays, which Polars sorts for it: its own readers make a dictionary of texts for each ranking.
"""

from __future__ import annotations

_SQL = """
    WITH placed AS (SELECT query, label, row_number() OVER (PARTITION BY query ORDER BY score DESC) AS k FROM {items}),
    found AS (SELECT query, k, label, sum(label) OVER (PARTITION BY query ORDER BY k) AS found FROM placed),
    each AS (SELECT query, sum(label) AS p, sum(CASE WHEN label = 1 THEN found / k END) AS s,
                    min(CASE WHEN label = 1 THEN k END) AS first, sum(CASE WHEN k <= 10 THEN label END) AS top,
                    sum(CASE WHEN k <= 10 AND label = 1 THEN 1 / log2(k + 1) ELSE 0 END) AS dcg
             FROM found GROUP BY query)
    SELECT avg(coalesce(s / p, 0)), avg(coalesce(1 / first, 0)), avg(top / 10), avg(coalesce(top / nullif(p, 0), 0)),
           avg(least(top, 1)), avg(dcg) FROM each"""
_DUCKDB = f"""
import duckdb
connection = duckdb.connect()
connection.execute("SET memory_limit = '2GB'; SET threads = 2; SET temp_directory = {{scratch!r}}")
print(connection.sql('''{_SQL.format(items="read_parquet('{folder}/*.parquet')")}''').fetchall())
"""
_SPARK = f"""
import os, sys
os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
from pyspark.sql import SparkSession
settings = {{{{"spark.log.level": "ERROR", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "8g", "spark.sql.shuffle.partitions": "32", "spark.local.dir": {{scratch!r}}}}}}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
spark.read.parquet({{folder!r}}).createOrReplaceTempView("items")
print(spark.sql('''{_SQL.format(items="items")}''').collect())
gateway = spark.sparkContext._gateway
spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait()
"""
_MEANS = """
has = pl.col("p") > 0
print(each.select(
    pl.when(has).then(pl.col("s") / pl.col("p")).otherwise(0).mean(),
    rr=pl.when(has).then(1 / pl.col("first")).otherwise(0).mean(), precision=(pl.col("top") / 10).mean(),
    recall=pl.when(has).then(pl.col("top") / pl.col("p")).otherwise(0).mean(), success=(pl.col("top") > 0).mean(),
    dcg=pl.col("dcg").mean()).collect(engine="streaming"))
"""
_POLARS_LISTS = f"""
import polars as pl
k, label = pl.int_range(1, pl.len() + 1, dtype=pl.Int32), pl.col("label").sort_by("score", descending=True)
found = label.cast(pl.Int32).cum_sum()
each = pl.scan_parquet("{{folder}}/*.parquet").group_by("query").agg(
    p=pl.col("label").cast(pl.Int32).sum(), s=(found / k * label).sum(), first=label.arg_max() + 1,
    top=label.head(10).cast(pl.Int32).sum(), dcg=(label / (k + 1).log(2)).head(10).sum())
{_MEANS}
"""
_POLARS_RANKS = f"""
import polars as pl
rank = pl.col("score").rank("ordinal", descending=True).filter(pl.col("label") == 1).sort()
each = pl.scan_parquet("{{folder}}/*.parquet").group_by("query").agg(p=pl.col("label").cast(pl.Int32).sum(), r=rank)
r = pl.col("r").list.eval(pl.element().cast(pl.Float64))
each = each.select("p", s=r.list.eval(pl.int_range(1, pl.len() + 1) / pl.element()).list.sum(), first=r.list.first(),
                   top=r.list.eval(pl.element() <= 10).list.sum(),
                   dcg=r.list.eval((pl.element() <= 10) / (pl.element() + 1).log(2)).list.sum())
{_MEANS}
"""
_RANX = """
import resource
resource.setrlimit(resource.RLIMIT_AS, ({limit} << 30, {limit} << 30))
import numba
import numpy as np
import polars as pl
from numba.typed import List
from ranx import evaluate

@numba.njit
def lists(documents, values, edges):
    found = List()
    for first, last in zip(edges[:-1], edges[1:]):
        own = np.empty((last - first, 2))
        own[:, 0], own[:, 1] = documents[first:last], values[first:last]
        found.append(own)
    return found

items = pl.read_parquet("{folder}/*.parquet").sort("query", "score", descending=[False, True]).with_row_index()
queries = np.arange(items["query"][-1] + 2)
given = []
for part, values in ((items.filter(pl.col("label") == 1), "label"), (items, "score")):
    edges = np.searchsorted(part["query"].to_numpy(), queries)
    given.append(lists(part["index"].to_numpy(), part[values].to_numpy(), edges))
print(evaluate(*given, ["map", "mrr", "precision@10", "recall@10", "hit_rate@10", "dcg@10"]))
"""
PEERS = {"DuckDB, windows": _DUCKDB, "Polars, lists": _POLARS_LISTS, "Polars, ranks of positives": _POLARS_RANKS,
         "Spark, windows": _SPARK, "ranx": _RANX}  # fmt: skip
