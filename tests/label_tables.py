"""A small study to label, what evaluation finds of it, and tables of votes as they are stored."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streameval
from streameval.cli import app
from streameval.cli.picture import result_lines
from streameval.kinds import kind_of
from streameval.kinds.curve.evaluate import evaluate_curve
from streameval.kinds.curve.says import lines
from streameval.labelling.fates import STORED
from streameval.study import Study
from streameval.study.take_in import sources_of, take_in

N_ITEMS = 60


def small_study(folder, n_items=N_ITEMS):
    """A study that plans every rank: `id` is an integer key, `name` a text key."""
    made = Path(_small_study(n_items).name)
    shutil.copyfile(made / "items.parquet", folder / "items.parquet")
    return shutil.copytree(made / "study", folder / "study")


@cache
def _small_study(n_items):
    """A folder with the list and the study, which lasts as long as the process: copies read the list there."""
    folder = TemporaryDirectory(prefix="streameval-small-")
    ranking, study = f"{folder.name}/items.parquet", f"{folder.name}/study"
    table = {"id": np.arange(n_items) * 7 + 3, "name": [f"n{i}" for i in range(n_items)], "text": ["t"] * n_items}
    pq.write_table(pa.table(table), ranking)
    streameval.plan(ranking, study, method=f"paula(epsilon=1.0, window={n_items})", seed=0)
    streameval.select(study)
    return folder


def judged(study, labels=(), **options):
    """What `evaluate` finds: labels are stored, results are not."""
    return evaluate_curve(Study(study), sources_of(labels), kind_of(study).parse_options("evaluate", options))[1]


def flags_of(words):
    """Study, labels and options of a command `evaluate`, read as the command line reads them."""
    _, bound, *_ = app.parse_args(list(words), exit_on_error=False, print_error=False)
    given = {name: value for name, value in bound.arguments.items() if name not in ("output", "batch")}
    return given.pop("study"), given.pop("labels", None) or (), given


def judged_by(words):
    """What a command `evaluate` finds; its results are not written."""
    study, labels, options = flags_of(words)
    return judged(study, labels, **options)


def taken_in_by(words):
    """What a command `evaluate` says of its labels, as `taken_in`."""
    study, labels, options = flags_of(words)
    return taken_in(study, *labels, **options)


def told_of(study, found):
    """What the command `evaluate` prints of what was found."""
    return "\n".join(result_lines(lines(Path(study), found))) + "\n"


def taken_in(study, *labels, **options):
    """What `evaluate` says of its labels: they are stored and counted, and nothing is computed of them."""
    folder, (columns, judging, *_) = Study(study), kind_of(study).parse_options("evaluate", options)
    return take_in(folder, folder.plan(), labels, columns, judging)


def account_of(study, *labels, **options):
    """What became of every vote, the labels that are given now among them."""
    return taken_in(study, *labels, **options).tallied.labels.account


def stored(rows):
    """Rows of dicts as a stored table; what is not said is null, `state` follows from `value`."""
    whole = []
    for i, row in enumerate(rows):
        state = "answer" if row.get("value") is not None else "skip"
        whole.append({"state": state, "row": i + 1, "ours": False, "given": 1, "origin": "t", **row})
    return pa.table({f.name: pa.array([r.get(f.name) for r in whole], f.type) for f in STORED}, schema=STORED)
