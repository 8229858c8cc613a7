"""Commands on short lists load neither the compiler nor libraries that only others ask for."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval

# what is loaded when a command ends
LOADED = """
import atexit, sys
slow = "numba", "pandas", "scipy"
assert not set(slow) & set(sys.modules)
atexit.register(lambda: print("loaded:", *(name for name in slow if name in sys.modules)))
"""


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """A list, a study that plans 2,000 labels of it, and all of these."""
    path = tmp_path_factory.mktemp("items") / "items.parquet"
    rng = np.random.default_rng(3)
    score = np.sort(rng.random(20_000))[::-1]
    table = pa.table({"item": np.arange(20_000), "score": score, "text": [f"text {i}" for i in range(20_000)],
                      "good": (rng.random(20_000) < score).astype(np.int8)})  # fmt: skip
    pq.write_table(table, path, write_page_index=True, data_page_size=4_000)
    ranks = streameval.plan(str(path), path.with_name("study"), budget=2_000, seed=7).ranks
    pq.write_table(
        pa.table({"rank": ranks, "label": (ranks % 3 > 0).astype(np.int8)}), path.with_name("labels.parquet")
    )
    return path


@pytest.fixture
def loaded(forks, tmp_path):
    def run(*arguments):
        (done,) = forks.python(LOADED, cwd=tmp_path, arguments=[*map(str, arguments)], first=True)
        assert done.status == 0, done.err
        return done.out.rpartition("loaded:")[2].split()

    return run


@pytest.mark.parametrize(
    "command",
    ["cost --items 1000000000 --alpha 0.08", "plan items.parquet --study new --budget 2000 --seed 7",
     "select study --export tasks.csv", "exact items.parquet --label good", "evaluate study --labels labels.parquet"],
    ids=lambda command: command.split()[0],
)  # fmt: skip
def test_commands_on_a_short_list_load_neither_numba_nor_pandas_nor_scipy(command, items, loaded, tmp_path):
    shutil.copytree(items.parent, tmp_path, dirs_exist_ok=True)
    assert loaded(*command.split()) == []


@pytest.mark.parametrize(("verb", "asked"), [("show", "precision@9"), ("sql", "FROM metrics")])
def test_small_tables_are_read_without_a_compiler(verb, asked, loaded, catalogue):
    assert loaded(verb, catalogue.path("stored-evaluated"), asked) == []


def test_a_plan_of_few_pages_loads_no_compiler(loaded, tmp_path):
    """What checks that a list is in the order of its scores reads a dozen pages, for which Arrow does."""
    score = np.arange(600_000, 0, -1) / 600_000
    pq.write_table(pa.table({"score": score}), tmp_path / "list.parquet", use_dictionary=False, write_page_index=True)
    assert loaded("plan", "list.parquet", "--study", "study", "--seed", "1") == []
