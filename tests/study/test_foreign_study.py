"""A study from somebody else is data: nothing in it runs, and nothing outside the folder is read for it."""

import json
import os

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import cases

from streameval.cli import run
from streameval.parquet import own_tables
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic
from streameval.stores.own_files import read_json


@pytest.fixture
def study(catalogue, tmp_path):
    return catalogue.copy("uniform-evaluated", tmp_path / "study")


def readers(study, evaluating):
    own = str(study)
    return [
        ["report", own],
        ["sql", own, "SELECT count(*) FROM curve"],
        ["labels", own],
        *([["evaluate", own]] if evaluating else []),
        ["show", own, "precision@5"],
        ["cut", own, "5"],
    ]


def outcomes(study, capsys, evaluating=True):
    """What each reader says of what it refuses, in one line; a traceback fails the test."""
    found = []
    for command in readers(study, evaluating):
        capsys.readouterr()
        status = run(command)
        error = capsys.readouterr().err
        assert status in (0, 2, 3), (command, error)
        assert error.count("\n") == (status != 0), (command, error)
        found.append(error)
    return found


def test_views_and_macros_of_a_foreign_database_never_run(study, tmp_path, capsys):
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nsesame\n")
    path = study / "study.duckdb"
    path.unlink()
    with duckdb.connect(str(path)) as connection:
        for name in ("curve", "provenance", "plan"):
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_csv('{secret}')")
        connection.execute(f"CREATE MACRO precision_at(k) AS (SELECT word FROM read_csv('{secret}'))")
    assert run(["sql", str(study), "SELECT precision_at(5).lower AS low FROM curve LIMIT 1", "--json"]) == 0
    found = capsys.readouterr().out
    assert "sesame" not in found
    assert isinstance(json.loads(found)["rows"][0]["low"], float)


@pytest.mark.parametrize("name", ["plan.json", "curve.parquet", "evaluation.json", "selection.parquet", "votes"])
def test_links_out_of_the_study_are_not_followed(study, tmp_path, capsys, name):
    outside = tmp_path / "outside"
    (study / name).rename(outside)
    (study / name).symlink_to(outside)
    said = outcomes(study, capsys)
    assert any("a link leads out of the study" in one for one in said)
    within = [one for one in said if one]
    assert all("out of the study" in one for one in within)


def test_a_file_that_never_ends_is_refused(study, capsys):
    (study / "curve.parquet").unlink()
    os.mkfifo(study / "curve.parquet")
    assert run(["show", str(study), "precision@5"]) == 2
    assert "curve.parquet: cannot be read (it is not a file)" in capsys.readouterr().err


def rewritten(folder, name, changes):
    """Change a JSON file as somebody would who means harm: with a checksum that fits."""
    facts = read_json(folder / name, "")
    atomic.write_all({folder / name: atomic.json_object({**facts, **changes})})


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("plan.json", {"n_items": 10**40}),
        ("plan.json", {"n_items": "many"}),
        ("plan.json", {"notes": None}),
        ("plan.json", {"method": "../../evil"}),
        ("plan.json", {"location": {"source": ["/etc/passwd"], "memory": "much"}}),
        ("evaluation.json", {"n_items": -1}),
        ("evaluation.json", {"claim": {"coverage": {}}}),
        ("evaluation.json", {"study": [1], "label_error": "x"}),
        ("evaluation.json", {"slices": [{"name": 5}]}),
    ],
)
def test_absurd_values_end_in_one_line(study, capsys, name, changes):
    rewritten(study, name, changes)
    evaluating = name == "plan.json" or changes == {"n_items": -1}  # evaluate reads no results: one case shows it
    assert any(outcomes(study, capsys, evaluating))


def test_json_that_is_deeper_than_any_of_ours_is_one_line(study, capsys):
    (study / "evaluation.json").write_text("[" * 200_000)
    assert all("evaluation.json" in one for one in outcomes(study, capsys) if one)


def test_a_small_file_that_claims_a_giant_is_refused_before_it_is_read(study, capsys):
    own = read_table(study / "labels.parquet", "")
    giant = pa.table({"rank": pa.nulls(34_000_000)})  # 8 bytes for each are more than the 2^28 that are allowed
    atomic.write_all({study / "labels.parquet": atomic.parquet(giant, own.facts)})
    assert (study / "labels.parquet").stat().st_size < 1 << 18
    assert run(["show", str(study), "precision@5"]) == 2
    assert "claim to hold 34,000,000 rows" in capsys.readouterr().err


@pytest.mark.parametrize("limit", cases([1 << 20, 1 << 28], 1 << 20))
def test_a_dictionary_that_is_written_out_for_every_row_is_refused(limit, study, capsys, monkeypatch):
    """What all values may take is 2^28 bytes, which `scripts/long` takes."""
    monkeypatch.setattr(own_tables, "_MOST_BYTES", limit)
    path = study / "labels.parquet"
    own = read_table(path, "")
    rows = own.table.num_rows
    once = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["a" * (2 * max(limit, 1 << 23) // rows)])
    giant = own.table.append_column("text", once).replace_schema_metadata({"streameval": json.dumps(own.facts)})
    pq.write_table(giant, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 1 << 17
    assert run(["show", str(study), "precision@5"]) == 2
    assert "its values take more than" in capsys.readouterr().err
