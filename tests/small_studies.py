"""Studies that tests of several rooms evaluate, and curves without a study."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measured import with_tables

import streameval
from streameval.methods import create
from streameval.rows.options import RankingOptions
from streameval.types import Labels

START = date(2026, 1, 1)  # of the first of the nights
NIGHT = 600  # items of a night's list
SMALL = {  # parameters that ask for few labels, by method
    "paula": {"epsilon": 0.1, "window": 20},
    "loguniform": {"budget": 900},
    "uniform": {"budget": 900},
    "stratified": {"epsilon": 0.3, "alpha": 0.5},
}
MACROS = (  # of SQL, for a study of one ranking
    "precision_at", "recall_at", "yield_at", "f_measure", "rank_at_precision", "rank_at_recall", "threshold_at",
    "rank_at_score", "precision_at_score",
)  # fmt: skip


def study_of(ranking, folder, method="loguniform", **options):
    """A study of `ranking` (its list, its labels, its truth), evaluated."""
    source, labels, _ = ranking
    options = {"options": streameval.RankingOptions(score="conf"), "seed": 0} | options
    streameval.plan(str(source), folder, method=method, **SMALL.get(method, {"budget": 900}), **options)
    streameval.select(folder)
    streameval.evaluate(folder, labels=labels)
    return folder


def curve_of(truth, misses, method="loguniform", seed=0, **parameters):
    """The curve of one plan for a list whose truth is known."""
    made = create(method, parameters)
    plan = made.plan(truth.size, seed)
    return made.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).with_misses(misses)


def make_day(root, day, share, **judged):
    """A study of a list of its own, by score, every item of which is labelled as `share` says; its tables alone."""
    rng = np.random.default_rng(day)
    folder = root / str(START + timedelta(days=day))
    conf, truth = np.round(rng.random(NIGHT), 2), (rng.random(NIGHT) < share).astype(np.int8)
    pq.write_table(pa.table({"id": np.arange(NIGHT), "conf": conf}), root / f"list-{day}.parquet")
    streameval.plan(
        str(root / f"list-{day}.parquet"), folder, budget=200, seed=day, options=RankingOptions(score="conf")
    )
    chosen = streameval.select(folder).table
    labels = pa.table({"rank": chosen.column("rank"), "label": truth[chosen.column("id").to_numpy()]})
    with_tables(folder, labels, **judged)
    return folder, int(np.sum(conf >= 0.5)), float(truth[conf >= 0.5].mean())
