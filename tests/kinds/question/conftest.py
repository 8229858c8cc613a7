"""A list with truth, and people who answer what they are asked."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval

N = 20_000


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The list of `home`."""
    path = tmp_path_factory.mktemp("asked") / "list.parquet"
    rng = np.random.default_rng(8)
    right = (rng.random(N) < 0.9 / (1 + np.arange(N) / 10_000)).astype(np.int8)
    score = np.sort(rng.random(N))[::-1]
    stored = rng.permutation(N)
    table = pa.table({"id": stored, "text": [f"item {one}" for one in stored], "score": score[stored],
                      "right": right[stored]})  # fmt: skip
    pq.write_table(table, path, row_group_size=3_000)
    return path


@pytest.fixture
def home(written, tmp_path, monkeypatch):
    """The folder of `list.parquet`: 20,000 items by a score, nine of ten positive at the top and fewer below."""
    shutil.copy(written, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def truth(home):
    """Labels of the list in its order, int8."""
    return pq.read_table("list.parquet").sort_by([("score", "descending")]).column("right").to_numpy()


@pytest.fixture
def people(home):
    """People who are always right: labels of tasks, by rank."""
    return lambda tasks: tasks.select(["rank"]).append_column("label", tasks.column("right"))


@pytest.fixture
def labelled(people):
    """Labels round after round until nothing is left to ask; gives the last evaluation, and how many rounds it took."""

    def label(study, most=60):
        found = None
        for rounds in range(most):
            tasks = streameval.select(study).table
            if not tasks.num_rows:
                return found, rounds
            found = streameval.evaluate(study, labels=people(tasks))
        return found, most

    return label
