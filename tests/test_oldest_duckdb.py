"""The oldest DuckDB that is promised opens a study's database and answers as Python does (`scripts/oldest-duckdb`)."""

import json
import os
import subprocess
import venv

import pytest
from test_sql import MACROS, study_of

from streameval.study import Study

OLDEST = "1.2.0"
ASK = """
import duckdb, json, sys
connection = duckdb.connect(sys.argv[1], read_only=True)
found = [connection.execute(query).fetchall()[0][0] for query in json.loads(sys.argv[2])]
print(json.dumps([duckdb.__version__, *found]))
"""


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
    command = [oldest, "-c", ASK, str(study / "study.duckdb"), json.dumps(queries)]
    version, *found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert version == OLDEST
    for (name, arguments), row in zip(asked, found, strict=False):
        assert tuple(row.values()) == tuple(getattr(curve, name)(*arguments)), (name, arguments)
    assert found[-2] == Study(study).plan().table.num_rows
    assert "Bounds" in found[-1]
