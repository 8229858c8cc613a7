"""How tests of this folder plan comparisons and read their bounds."""

from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
from gain_questions import gain_questions

import streameval
from streameval.order.scan import key_hashes
from streameval.paired_draws.one_table import draw_one_table
from streameval.paired_draws.pair import CutoffRates
from streameval.paired_draws.tops import draws_of
from streameval.study import Study

N = 6_000
AT = [100, 500, 1_500]
ONE = {"score": "new", "against": "both.parquet", "against_score": "old", "key": "id"}
TWO = {"score": "score", "against": "old.parquet", "key": "id"}


def planned(study, source="both.parquet", how=ONE, **more):
    """The plan of a comparison at the cutoffs AT, with a seed of its own (as of `gain_questions`)."""
    options = {"seed": 5, **how, **more}
    asked = {name: options.pop(name, usual) for name, usual in (("at", AT), ("within", 0.05), ("look", "both"))}
    return streameval.plan(source, study, **{"questions": gain_questions(**asked), **options})


def right(tasks):
    """Labels of people who are always right, by task."""
    return tasks.select(["se_task"]).append_column("label", tasks.column("right"))


def evaluated(study, part=None, **more):
    """The results of a study, of which the first part of the tasks is labelled."""
    tasks = streameval.select(study).table.sort_by("se_task")
    return streameval.evaluate(study, labels=right(tasks if part is None else tasks.slice(0, part)), **more)


def bounds(rows):
    """Both bounds of each cutoff, from results or from what `at_cutoffs` finds."""
    if hasattr(rows, "tables"):
        return {int(row["cutoff"]): (row["lower"], row["upper"]) for row in rows.tables["differences"].to_pylist()}
    return {int(one.cutoff.value): one.bounds[::2] for one in rows}


def ranks_of(both):
    """The place of each item in the new order and in the old one, from 0."""
    return tuple(np.argsort(np.argsort(-both.column(name).to_numpy())) for name in ("new", "old"))


class DrawnAgain:
    """Draws from one scan: every item that changed is kept, and each seed takes those whose hash is small enough."""

    def __init__(self):
        self.scanned = {}

    def __call__(self, pair, draw, scans, progress):
        at = str(draw.cutoffs)
        if at not in self.scanned:
            self.scanned[at] = draw_one_table(pair, replace(draw, rates=np.ones(len(draw.rates)), known=draw.known[:0]))
        whole = self.scanned[at]
        u = draws_of(key_hashes(pa.table({pair.key[0]: whole.table.column("key")})), draw.seed)
        first = (whole.table.column(name).to_numpy() for name in ("first_a", "first_b"))
        table = pl.from_arrow(whole.table).with_columns(u=pl.Series(u))
        drawn = table.filter(pl.Series(CutoffRates(draw.rates, draw.known).drawn(u, *first))).sort("u").to_arrow()
        return replace(whole, table=drawn.cast(whole.table.schema))


def task_ids(study):
    """Identifiers of the items that a study asks about."""
    return streameval.select(study).table.column("id").to_pylist()


def plan_of(study):
    """The plan of a study."""
    return Study(study).plan()
