"""Bits that flip in the files of a study, and files that change places: never another answer, never a traceback.

The suite tries a few; scripts/long tries 11,900, and with `-s` says what became of them.
"""

import json
import random
import shutil
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from suite_cases import examples

import streameval
from streameval.errors import StreamevalError
from streameval.kinds import results_of
from streameval.rankings import open_planned
from streameval.study import Study

STUDIES = (
    "curve-evaluated",
    "grown-evaluated",
    "slices-evaluated",
    "gate-half-labelled",
    "comparison-evaluated",
    "copied",
    "against-copied",
)
UNREAD = ("report.html", "study.duckdb", ".lock")  # made anew from the others, by DuckDB too, which has sums of its own


def copied(home):
    """A study of a list that is a text, and so has a copy of it."""
    home.mkdir()
    score = np.random.default_rng(1).permutation(600) / 600
    right = (score > 0.4).astype(int)
    csv.write_csv(pa.table({"id": np.arange(600), "score": score, "right": right}), home / "list.csv")
    streameval.plan(home / "list.csv", home / "study", score="score", key="id", budget=80, seed=1)
    tasks = streameval.select(home / "study").table
    labels = pa.table({"se_task": tasks["se_task"], "label": tasks["right"]})
    streameval.evaluate(home / "study", labels=labels)
    return home / "study"


def both_copied(home):
    """A comparison of two lists that are texts, so that it has a copy of each."""
    home.mkdir()
    rng = np.random.default_rng(2)
    right = (rng.random(400) > 0.5).astype(int)
    for name in ("new", "old"):
        order = rng.permutation(400)
        items = {"id": order, "score": rng.permutation(400) / 400, "right": right[order]}
        csv.write_csv(pa.table(items), home / f"{name}.csv")
    options = {"score": "score", "key": "id", "questions": "gain@20, 100", "seed": 1}
    streameval.plan(home / "new.csv", home / "study", against=home / "old.csv", **options)
    tasks = streameval.select(home / "study").table
    labels = pa.table({"se_task": tasks["se_task"], "label": tasks["right"]})
    streameval.evaluate(home / "study", labels=labels)
    return home / "study"


def told(path):
    """All that verbs read of a study: its plan, its items, its labels, and what they come to."""
    study = Study(path)
    plan = study.plan()
    found = [plan.table.to_pylist(), plan.plan_id]
    if (path / "ranking").exists():
        found.append(open_planned(plan).fetch(plan.ranks, ["id", "right"]).table.to_pylist())
    found.append(streameval.labels(path).account)
    results = results_of(study)
    found += [results.evaluation_id, json.dumps(dict(results.summary), sort_keys=True, default=str)]
    found += [(name, table.to_pylist()) for name, table in results.tables.items()]
    if (path / "selection.parquet").exists():
        found.append(streameval.select(path).table.to_pylist())
    return repr(found)


def damaged(rng, files):
    """One of the files, with a bit or two flipped, or the content of another in its place."""
    path = rng.choice(files)
    raw = path.read_bytes()
    other = rng.choice(files)
    if rng.random() < 0.2 and other != path:
        return path, raw, other.read_bytes(), f"{other.name} in the place of {path.name}"
    flipped = bytearray(raw)
    for at in rng.sample(range(8 * len(raw)), rng.choice([1, 2])):
        flipped[at // 8] ^= 1 << at % 8
    return path, raw, bytes(flipped), f"bits of {path.name}"


def attack(study, count, rng):
    """Outcomes of so many damages; those that are failures come with what was done."""
    files = sorted(one for one in study.rglob("*") if one.is_file() and one.name not in UNREAD and one.stat().st_size)
    expected, outcomes, failures = told(study), Counter(), []
    for _ in range(count):
        path, raw, changed, what = damaged(rng, files)
        path.write_bytes(changed)
        try:
            outcome = "same" if told(study) == expected else "silent"
        except StreamevalError as error:
            outcome = "refused" if len(str(error).splitlines()) == 1 else "untidy"
        except Exception:
            outcome, what = "traceback", f"{what}: {traceback.format_exc()}"
        path.write_bytes(raw)
        outcomes[outcome] += 1
        if outcome not in ("same", "refused"):
            failures.append(f"{outcome}: {study.name}: {what}")
    assert told(study) == expected
    return outcomes, failures


@pytest.fixture(scope="module", params=STUDIES)
def source(request, catalogue, tmp_path_factory):
    """A study of the catalogue, or one of lists that are texts, with its name."""
    texts, name = {"copied": copied, "against-copied": both_copied}, request.param
    return name, texts[name](tmp_path_factory.mktemp("texts") / name) if name in texts else catalogue.path(name)


def test_what_flips_or_changes_places_in_a_study_is_refused_or_changes_nothing(source, tmp_path):
    name, study = source[0], Path(shutil.copytree(source[1], tmp_path / "study"))
    outcomes, failures = attack(study, examples(4, 1_700), random.Random(f"flips {name}"))
    print(name, dict(outcomes))
    assert failures == []
