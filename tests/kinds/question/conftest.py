"""A list with truth, people who answer what they are asked, and studies that they have begun."""

import functools
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cpu_budget import METER

import streameval

N = 4_000


def write_list(path):
    rng = np.random.default_rng(8)
    right = (rng.random(N) < 0.9 / (1 + np.arange(N) / (N / 2))).astype(np.int8)
    score = np.sort(rng.random(N))[::-1]
    stored = rng.permutation(N)
    table = pa.table({"id": stored, "text": [f"item {one}" for one in stored], "score": score[stored],
                      "right": right[stored]})  # fmt: skip
    pq.write_table(table, path, row_group_size=1_500)


def answers_of(tasks):
    """Labels of tasks by people who are always right, by rank."""
    return tasks.select(["rank"]).append_column("label", tasks.column("right"))


def _signed(answers):
    """The same answers with the name of who gave them, and when."""
    named = answers.append_column("annotator", pa.array(["ann"] * answers.num_rows))
    return named.append_column("time", pa.array(["2026-01-01T10:00:00"] * answers.num_rows))


def _ask(*questions, **options):
    def step(folder):
        streameval.plan("list.parquet", folder, score="score", questions=questions, **{"seed": 3, **options})
        streameval.select(folder)

    return step


def _answer(folder):
    """Answer what is asked next."""
    streameval.evaluate(folder, labels=_signed(answers_of(streameval.select(folder).table)))


def _curve(folder):
    streameval.plan("list.parquet", folder, score="score", seed=5, budget=200)
    _answer(folder)


def _ask_within(question):
    """Ask the study a question, and answer its first round."""

    def step(folder):
        within = streameval.plan(None, folder, questions=question, seed=6).location["beside"]
        streameval.evaluate(within, labels=answers_of(streameval.select(within).table))

    return step


def _say_yes(folder):
    """Call all positive that is asked next."""
    tasks = streameval.select(folder).table.select(["rank"])
    streameval.evaluate(folder, labels=tasks.append_column("label", pa.array([1] * tasks.num_rows)))


STATES = {  # of a study that is made: the state that it starts from, and the step from there
    "curve": (None, _curve),
    "gate": (None, _ask("precision@1000 >= 0.65")),
    "gate open": ("gate", _answer),
    "easy": (None, _ask("precision@1000 >= 0.5 round 80")),
    "easy decided": ("easy", _answer),
    "gates": (None, _ask("precision@100 >= 0.7", "precision@1000 >= 0.5")),
    "gates decided": ("gates", _answer),
    "cut": (None, _ask("cut precision 0.7 round 100", seed=5, budget=330)),
    "cut 1": ("cut", _answer),
    "cut 2": ("cut 1", _answer),
    "cut 3": ("cut 2", _answer),
    "width": (None, _ask("precision@1000 within 0.2 round 120")),
    "width open": ("width", _answer),
    "width decided": ("width open", _answer),
    "gate within": ("gate open", _ask_within("precision@1000 >= 0.8")),
    "yes to all": (None, _ask("precision@100 >= 0.9")),
    "yes to half": ("yes to all", _say_yes),
    "yes within": ("yes to half", _ask_within("precision@100 >= 0.92")),
}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Studies in the states of STATES beside their list, each made when it is first asked for."""
    root = tmp_path_factory.mktemp("asked")
    write_list(root / "list.parquet")

    @functools.cache
    def make(state):
        start, step = STATES[state]
        folder = root / state / "q"
        folder.parent.mkdir()
        if start is not None:
            shutil.copytree(make(start), folder)
        with pytest.MonkeyPatch.context() as patch, METER.apart(f"tests/kinds/question::{state}"):
            patch.chdir(root)
            step(folder)
        return folder

    make.root = root
    return make


@pytest.fixture
def home(made, tmp_path, monkeypatch):
    """The folder of `list.parquet`: 4,000 items by a score, nine of ten positive at the top and fewer below."""
    shutil.copy(made.root / "list.parquet", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def begun(made, home):
    """Copy a study of STATES to folder `q`, or another, of the test's own."""
    return lambda state, name="q": shutil.copytree(made(state), Path(name))


@pytest.fixture
def truth(home):
    """Labels of the list in its order, int8."""
    return pq.read_table("list.parquet").sort_by([("score", "descending")]).column("right").to_numpy()


@pytest.fixture
def people(home):
    """People who are always right: labels of tasks, by rank."""
    return answers_of


@pytest.fixture
def signed():
    """Sign answers as ann does, of whom those of STATES are."""
    return _signed


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
