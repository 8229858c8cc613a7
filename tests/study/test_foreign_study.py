"""A study from somebody else is data: nothing in it runs, and nothing outside the folder is read for it."""

import json
import os
import shutil
from contextlib import closing
from datetime import UTC, datetime

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attack import layout
from attack.thrift import I64
from refusals import refused
from suite_cases import cases

from streameval.cli import run
from streameval.errors import StudyError
from streameval.parquet import own_tables
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic
from streameval.stores.own_files import read_json
from streameval.study import Study
from streameval.study.answer_journal import Journal, PageAnswer


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


def test_row_groups_that_claim_the_same_bytes_are_refused(tmp_path):
    """Otherwise each would be copied: a small file could take any memory."""
    path = tmp_path / "labels.parquet"
    pq.write_table(pa.table({"rank": np.random.default_rng(0).integers(0, 2**62, 1000)}), path, use_dictionary=False)
    file = layout.read(path.read_bytes())
    footer = file.footer.copy()
    groups = footer.get(layout.GROUPS).values
    groups[0].remove(7)  # its number among them
    groups.append(groups[0])
    footer.put(layout.ROWS, I64, 2000)
    path.write_bytes(layout.with_footer(file.raw, file.footer_at, footer))
    with pytest.raises(StudyError, match="its column chunks overlap"):
        read_table(path, "")


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


def brought(study, other, name, before):
    """Put a file of votes from another study beside those that are there, or in their place."""
    for path in (study / "votes").iterdir():
        if before == "replaced":
            path.unlink()
    shutil.copy(other / "votes" / name, study / "votes" / name)


@pytest.mark.parametrize("before", ["replaced", "added"])
@pytest.mark.parametrize("verb", [["evaluate"], ["labels"], ["show", "precision@5"], ["grow", "--budget", "40"]])
def test_votes_of_another_study_are_refused(study, tmp_path, catalogue, capsys, verb, before):
    """The same ranks are other items there: before, its answers counted for these."""
    other = catalogue.copy("curve-evaluated", tmp_path / "other")
    (name,) = (path.name for path in (other / "votes").glob("*.parquet"))
    brought(study, other, name, before)
    if verb[0] == "grow":
        assert refused(capsys, verb[0], study, *verb[1:])
    else:
        assert f"votes/{name}: these answers were given to another plan" in refused(capsys, verb[0], study, *verb[1:])


def test_answers_of_the_page_of_another_study_are_refused(study, capsys):
    answer = PageAnswer("1", "0123456789abcdef", 5, 1, "1", "ann", datetime(2026, 11, 28, tzinfo=UTC))
    with closing(Journal(study / "votes", 1)) as journal:
        journal.add([answer])
    for verb in (["evaluate"], ["labels"], ["label"]):
        assert "votes/page.jsonl: these answers were given to another plan" in refused(capsys, *verb, study)


def test_votes_that_were_stored_by_former_versions_do_not_say_whose_they_are(study, capsys):
    (path,) = (study / "votes").glob("*.parquet")
    own = read_table(path, "")
    assert own.facts["study"] == read_json(study / "plan.json", "")["plan_id"]
    facts = {key: value for key, value in own.facts.items() if key != "study"}
    atomic.write_all({path: atomic.parquet(own.table, facts)})
    assert run(["evaluate", str(study)]) == 0


def test_votes_outlive_the_growth_of_their_plan(catalogue, tmp_path):
    study = catalogue.copy("grown-evaluated", tmp_path / "study")
    stored = {read_table(path, "").facts["study"] for path in (study / "votes").glob("*.parquet")}
    assert len(stored) == 2
    assert stored == set(Study(study).plan().study_ids)
    assert run(["evaluate", str(study)]) == 0
