"""The oldest DuckDB that is promised opens studies' databases and answers as Python does (`scripts/oldest-duckdb`)."""

import json
import os
import subprocess
import venv

import pytest
from small_studies import MACROS, study_of
from test_several_studies import QUESTIONS, SLICED, N, night

from streameval.study import Study
from streameval.verbs.register import registering

OLDEST = "1.2.0"
ASK = """
import duckdb, json, sys
connection = duckdb.connect(*json.loads(sys.argv[1]))
def answer(query):
    try:
        rows = connection.execute(query).fetchall()
        return rows[0][0] if rows else None
    except duckdb.Error as error:
        return str(error)
print(json.dumps([duckdb.__version__, *map(answer, json.load(sys.stdin))]))
"""


def ask(oldest, queries, *database):
    """First value of each query, or the error; without a path, of a database in memory."""
    command = [oldest, "-c", ASK, json.dumps(database)]
    done = subprocess.run(command, input=json.dumps(queries), capture_output=True, text=True, check=True)
    version, *found = json.loads(done.stdout)
    assert version == OLDEST
    return found


@pytest.fixture(scope="module")
def oldest(tmp_path_factory):
    """A Python that has it: STREAMEVAL_OLDEST_DUCKDB, or one made here."""
    if given := os.environ.get("STREAMEVAL_OLDEST_DUCKDB"):
        return given
    folder = tmp_path_factory.mktemp("oldest")
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    made = subprocess.run([python, "-m", "pip", "install", "-q", f"duckdb=={OLDEST}"], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"duckdb {OLDEST} cannot be installed: {made.stderr[-200:]}")
    return python


@pytest.mark.slow
@pytest.mark.parametrize("method", ["loguniform", "uniform"])
def test_the_oldest_duckdb_answers(method, oldest, ranking, tmp_path):
    study = study_of(ranking, tmp_path / "study", method)
    curve = Study(study).evaluation().curve
    asked = [(name, (0.5,)) for name in MACROS if name.startswith("rank_at")]
    asked += [(name, (k,)) for k in (1, 500, 9_999) for name in MACROS if name.endswith("_at")]
    asked += [("f_measure", (k, 0.5)) for k in (1, 500, 9_999)]
    queries = [f"SELECT {name}({', '.join(map(str, arguments))})" for name, arguments in asked]
    queries += ["SELECT count(*) FROM selection", "SELECT comment FROM duckdb_tables() WHERE table_name = 'curve'"]
    found = ask(oldest, queries, str(study / "study.duckdb"), True)
    for (name, arguments), row in zip(asked, found, strict=False):
        answer = (row["lower"], row["upper"]) if name == "rank_at_score" else tuple(row.values())
        assert answer == tuple(getattr(curve, name)(*arguments)), (name, arguments)
    assert found[-2] == Study(study).plan().table.num_rows
    assert "Bounds" in found[-1]


@pytest.mark.slow
def test_the_oldest_duckdb_keeps_studies_apart(oldest, tmp_path):
    nights = {name: night(tmp_path / name, share, seed) for name, share, seed in (("n6", 1.0, 6), ("n7", 0.5, 7))}
    attached = [f"ATTACH '{study}/study.duckdb' AS {name} (READ_ONLY)" for name, study in nights.items()]
    asked = [f"SELECT n6.{name}({values})" for name, values in QUESTIONS + SLICED]
    own, other = (ask(oldest, [*attached, f"USE {name}", *asked])[len(attached) + 1 :] for name in nights)
    assert all(isinstance(one, dict) for one in own)
    assert all(one.startswith("Invalid Input Error: this macro is of evaluation") for one in other)
    printed = [one for name, study in nights.items() for one in registering(study, name)]
    named = [f"SELECT n6_{name}({values})" for name, values in QUESTIONS + SLICED]
    found = ask(oldest, [*printed, *named, "SELECT n7_precision_at(0)", "SELECT n7_precision_at(NULL)"])[len(printed) :]
    assert found == [*own, f"Invalid Input Error: k is 0: a rank is a whole number from 1 to {N:,}", None]
