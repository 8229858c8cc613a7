"""Memory of whole commands: within --memory and what the program itself takes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attack.worker import memory
from suite_cases import slow

import streameval
from streameval.cli import run

PROGRAM = 700_000  # kB, as the help says
CHILD = """
import sys
from streameval.cli import run
status = run(sys.argv[1:])
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A list of two million items out of order, planned by score with little memory, and evaluated."""
    home, n = tmp_path_factory.mktemp("memory"), 2_000_000
    chance = np.random.default_rng(5)
    label = (chance.random(n) < 0.3).astype(np.int8)
    table = pa.table({"id": np.arange(n), "conf": chance.random(n), "label": label})
    pq.write_table(table, home / "list.parquet", row_group_size=250_000)
    pq.write_table(table, home / "whole.parquet", row_group_size=n)
    options = streameval.RankingOptions(score="conf", memory=0.1)
    streameval.plan(str(home / "list.parquet"), home / "study", method="uniform", budget=20, options=options)
    streameval.select(home / "study")
    streameval.evaluate(home / "study", labels=pa.table({"rank": [1, 2], "label": [1, 0]}))
    return home


ASKED = [
    ["exact", "list.parquet", "--label", "label", "--score", "conf", "--memory", "0.1"],
    ["cut", "study", "1500000", "--out", "best", "--order", "rank"],
    ["exact", "list.parquet", "--label", "label", "--memory", "0.1"],
]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a process took")
@pytest.mark.parametrize("arguments", ASKED, ids=lambda arguments: " ".join(arguments[:1] + arguments[4:5]))
def test_a_small_limit_of_memory_is_kept_but_for_the_program_itself(study, arguments):
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], cwd=study, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split("VmHWM:")[1].split()[0]) < PROGRAM + 100_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a process took")
@pytest.mark.parametrize("order", [["--score", "conf"], []], ids=["by score", "stored order"])
def test_a_command_takes_few_bytes_a_row(order, tmp_path):
    """A third of a kilobyte a row at most, as in a process of its own, which holds the program as well."""
    chance, n = np.random.default_rng(5), 300_000
    table = pa.table({"conf": chance.random(n), "label": chance.integers(0, 2, n)})
    pq.write_table(table, tmp_path / "list.parquet", row_group_size=n // 4)
    pq.write_table(table.slice(0, 1_000), tmp_path / "short.parquet")
    for name in ("short", "list"):  # the first loads what the second needs
        Path("/proc/self/clear_refs").write_text("5")
        before = memory("VmRSS")
        assert run(["exact", str(tmp_path / f"{name}.parquet"), "--label", "label", *order, "--memory", "0.1"]) == 0
    assert memory("VmHWM") - before < n // 3


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a process took")
@pytest.mark.parametrize(("order", "least"), slow((["--score", "conf"], "0.185"), ([], "0.062")))
def test_a_row_group_that_memory_cannot_hold_is_refused_with_the_least_that_works(study, order, least):
    exact = ["exact", "whole.parquet", "--label", "label", *order, "--memory"]
    told = subprocess.run([sys.executable, "-c", CHILD, *exact, "0.05"], cwd=study, capture_output=True, text=True)
    assert told.returncode == 2
    first = "streameval: 0.05 GB of memory cannot hold a row group of 2,000,000 rows and the counters. Hint: the least"
    assert told.stderr.splitlines()[0] == f"{first} that works is --memory {least}"
    done = subprocess.run([sys.executable, "-c", CHILD, *exact, least], cwd=study, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split("VmHWM:")[1].split()[0]) < PROGRAM + 1e6 * float(least)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT len(list(range)) FROM range(3000000)", "the query takes more memory than it may"),
        ("FROM range(4000000)", "the answer takes more than the 0.02 GB that it may"),
    ],
)
def test_a_query_keeps_to_its_memory(catalogue, capsys, query, said):
    assert run(["sql", str(catalogue.path("stored-evaluated")), query, "--memory", "0.02"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
