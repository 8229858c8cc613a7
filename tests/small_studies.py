"""Studies that tests of several rooms evaluate, and curves without a study."""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
from measured import with_tables

import streameval
from streameval.methods import create
from streameval.rows.options import RankingOptions
from streameval.types import Labels

START = date(2026, 1, 1)  # of the first of the nights, of which the last two are bad
SHARES = (0.95, 0.95, 0.95, 0.2, 0.2)  # of positives, by night
NIGHT = 600  # items of a night's list
SMALL = {  # options that ask for few labels, by method
    "paula": {"method": "paula(epsilon=0.1, window=20)"},
    "stratified": {"method": "stratified(epsilon=0.3)", "alpha": 0.5},
}
MACROS = (  # of SQL, for a study of one ranking
    "precision_at", "recall_at", "yield_at", "f_measure", "rank_at_precision", "rank_at_recall", "threshold_at",
    "rank_at_score", "precision_at_score",
)  # fmt: skip


def study_of(ranking, folder, method="loguniform", evaluate=streameval.evaluate, **options):
    """A study of `ranking` (its list, its labels, its truth), evaluated."""
    source, labels, _ = ranking
    options = {"options": streameval.RankingOptions(score="conf"), "seed": 0} | options
    streameval.plan(str(source), folder, **SMALL.get(method, {"method": method, "budget": 900}), **options)
    streameval.select(folder)
    evaluate(folder, labels=labels)
    return folder


def curve_of(truth, misses, method="loguniform", seed=0, **parameters):
    """The curve of one plan for a list whose truth is known."""
    made = create(method, parameters)
    plan = made.plan(truth.size, seed)
    return made.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).with_misses(misses)


def night_list(day):
    """The list of a night, and the label of each of its items."""
    rng = np.random.default_rng(day)
    conf, truth = np.round(rng.random(NIGHT), 2), (rng.random(NIGHT) < SHARES[day]).astype(np.int8)
    return pa.table({"id": np.arange(NIGHT), "conf": conf}), truth


def night_folder(root, day):
    return root / str(START + timedelta(days=day))


def make_night(root, day, path):
    """A study of the list of a night, which is stored at `path`, by score; its tables alone."""
    folder, (_, truth) = night_folder(root, day), night_list(day)
    streameval.plan(str(path), folder, budget=200, seed=day, options=RankingOptions(score="conf"))
    chosen = streameval.select(folder).table
    with_tables(folder, pa.table({"rank": chosen.column("rank"), "label": truth[chosen.column("id").to_numpy()]}))
