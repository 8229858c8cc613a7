"""The studies that the guides ask, for the tests of guides and of recipes."""

import shutil
from contextlib import chdir

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import streameval

N = 100_000  # items of the list that the guides rank


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """The study that the guides ask: 100,000 items, two thirds positive at the top and fewer below."""
    home = tmp_path_factory.mktemp("guide")
    rank = np.arange(1, N + 1)
    truth = (rank * 0.6180339887 % 1 < 1 / (1 + rank / 20_000)).astype(np.int8)
    pq.write_table(pa.table({"id": rank * 7, "team": rank % 3}), home / "ranking.parquet")
    pq.write_table(pa.table({"good": truth, "score": -rank}), home / "labelled.parquet")
    drawn = np.sort(np.random.default_rng(0).choice(N, 2_000, replace=False))
    pa.csv.write_csv(pa.table({"id": (drawn + 1) * 7, "label": truth[drawn]}), home / "sample.csv")
    plan(home, "my-study")
    evaluate(home, "my-study")
    return home


def plan(home, study, **options):
    """Plan a study of the list of the guides."""
    with chdir(home):
        streameval.plan("ranking.parquet", study, method="loguniform", seed=0, **options)
        streameval.select(study)


def evaluate(home, study):
    """Label it."""
    truth = pq.read_table(home / "labelled.parquet").column("good").to_numpy()
    with chdir(home):
        ranks = streameval.Study(study).plan().ranks
        streameval.evaluate(study, labels=pa.table({"rank": ranks, "label": truth[ranks - 1]}))


@pytest.fixture(scope="session")
def planned_by_team(prepared):
    """The study of teams, beside the other."""
    plan(prepared, "by-team", by="team")


@pytest.fixture(scope="session")
def prepared_by_team(prepared, planned_by_team):
    """The same with its labels."""
    evaluate(prepared, "by-team")


@pytest.fixture
def workplace(prepared, tmp_path, monkeypatch):
    """A copy of the prepared folder, which is the current one."""
    home = shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(home)
    return home
